import type { Bits } from '../messages/datatype.ts'
import type { ValueConversion } from './conversion.ts'

/** Integers with unused bits, or of another size than types have. */
export interface IntegerBits extends Bits {
  readonly size: number
  readonly isSigned: boolean
}

/** Returns the conversion to integers of `bytes` bytes. */
export function integerConversion(
  { size, isSigned, isBigEndian, offset, precision }: IntegerBits,
  bytes: 1 | 2 | 4 | 8,
): ValueConversion {
  const [shift, width] = [BigInt(offset), precision]
  return (stored, count) => {
    const out = new Uint8Array(count * bytes)
    const view = new DataView(out.buffer)
    for (let i = 0; i < count; i++) {
      const raw = readBits(stored, i * size, size, isBigEndian) >> shift
      const value = isSigned ? BigInt.asIntN(width, raw) : BigInt.asUintN(width, raw)
      put(view, i * bytes, bytes, value)
    }
    return out
  }
}

/** Returns the bits of a number of some bytes. */
export function readBits(stored: Uint8Array, at: number, size: number, isBigEndian: boolean): bigint {
  let value = 0n
  for (let i = 0; i < size; i++) value = (value << 8n) | BigInt(stored[at + (isBigEndian ? i : size - 1 - i)]!)
  return value
}

function put(view: DataView, at: number, bytes: 1 | 2 | 4 | 8, value: bigint): void {
  if (bytes === 8) view.setBigInt64(at, value, true)
  else if (bytes === 4) view.setInt32(at, Number(BigInt.asIntN(32, value)), true)
  else if (bytes === 2) view.setInt16(at, Number(BigInt.asIntN(16, value)), true)
  else view.setInt8(at, Number(BigInt.asIntN(8, value)))
}
