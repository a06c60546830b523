import { type DType, isBigInt } from '../core/dtype.ts'

const NANOSECONDS = 1_000_000_000n

/** Formats an element for users. */
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
 * Formats an element as JSON without loss. 64-bit integers and non-finite floats become strings, and binaries
 * become base64. Floats are written exactly, with the digits of a `float64`.
 */
export function jsonElement(dtype: DType, value: unknown): string {
  if (dtype === 'string') return JSON.stringify(value)
  if (dtype === 'binary') return `"${Buffer.from(value as Uint8Array).toString('base64')}"`
  if (typeof value === 'bigint' || isBigInt(dtype)) return `"${value}"`
  if (typeof value === 'number' && !Number.isFinite(value)) return `"${value}"`
  return Object.is(value, -0) ? '-0' : String(value)
}

/** Formats a float32 with the fewest digits that restore it. */
function showFloat32(value: number): string {
  // `toPrecision` drops the sign of -0.
  if (value === 0) return showFloat(value)
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return showFloat(short)
  }
  return showFloat(Number(value.toPrecision(9)))
}

/** Formats a float, with an exponent if plain digits would suggest too much precision. */
function showFloat(value: number): string {
  if (Object.is(value, -0)) return '-0'
  return Number.isFinite(value) && Math.abs(value) >= 1e16 ? value.toExponential() : String(value)
}

/** Formats a time as ISO 8601 in UTC, to the nanosecond. Times of 64 bits have years of four digits. */
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

/** Formats a number with few digits, for captions. */
export function showShort(value: number, digits = 5): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : String(value)
}
