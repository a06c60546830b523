import { type DType, isBigInt } from '../core/dtype.ts'

const NANOSECONDS = 1_000_000_000n

/** An element as people read it. */
export function showElement(dtype: DType, value: unknown): string {
  switch (dtype) {
    case 'float32':
      return showFloat32(value as number)
    case 'string':
      return JSON.stringify(value)
    case 'binary':
      return `0x${Buffer.from(value as Uint8Array).toString('hex')}`
    case 'timestamp_ns':
      return showTimestamp(value as bigint)
    case 'float64':
      return showFloat(value as number)
    default:
      return String(value)
  }
}

/**
 * An element as JSON, without loss: 64-bit integers and non-finite floats as strings, binaries as base64.
 * Floats are written exactly, a `float32` with the digits of the `float64` it is.
 */
export function jsonElement(dtype: DType, value: unknown): string {
  if (dtype === 'string') return JSON.stringify(value)
  if (dtype === 'binary') return `"${Buffer.from(value as Uint8Array).toString('base64')}"`
  if (typeof value === 'bigint' || isBigInt(dtype)) return `"${value}"`
  if (typeof value === 'number' && !Number.isFinite(value)) return `"${value}"`
  return Object.is(value, -0) ? '-0' : String(value)
}

/** The fewest digits that give the same float32 again. */
function showFloat32(value: number): string {
  // `toPrecision` knows no -0.
  if (value === 0) return showFloat(value)
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return showFloat(short)
  }
  return showFloat(Number(value.toPrecision(9)))
}

/** With an exponent where the digits of JavaScript's notation would say more than is known. */
function showFloat(value: number): string {
  if (Object.is(value, -0)) return '-0'
  return Number.isFinite(value) && Math.abs(value) >= 1e16 ? value.toExponential() : String(value)
}

/** ISO 8601 in UTC, to the nanosecond; what fits 64 bits has years of four digits. */
function showTimestamp(value: bigint): string {
  let seconds = value / NANOSECONDS
  let rest = value % NANOSECONDS
  if (rest < 0n) {
    seconds--
    rest += NANOSECONDS
  }
  const iso = new Date(Number(seconds) * 1000).toISOString()
  return `${iso.slice(0, -5)}.${String(rest).padStart(9, '0')}Z`
}

/** A number in few digits, for captions. */
export function showShort(value: number, digits = 5): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : String(value)
}
