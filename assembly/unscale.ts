/**
 * Unpacking of the HDF5 filter scale-offset.
 *
 * Contract: writes `count` little-endian numbers at `dst`: of 1, 2, 4 or 8 bytes if `bytes` is above 0, of
 * float32 or float64 if it is -4 or -8. Each is stored in `bits` bits, 0 to 8 * |bytes|, most significant bit
 * first; the input has that many bits. An integer is `minimum` plus the stored number, modulo its size; a
 * float is the stored number, as a signed integer of its size, divided by `divisor`, plus the float whose
 * bits `minimum` has. If `hasFill`, stored numbers with all bits set become `fill`.
 */
import { numberAt } from './bits'

export function unscale(
  bytes: i32,
  src: usize,
  dst: usize,
  count: usize,
  bits: i32,
  minimum: u64,
  divisor: f64,
  hasFill: i32,
  fill: u64,
): void {
  if (bytes == 1) integers<u8>(src, dst, count, bits, minimum, hasFill, fill)
  else if (bytes == 2) integers<u16>(src, dst, count, bits, minimum, hasFill, fill)
  else if (bytes == 4) integers<u32>(src, dst, count, bits, minimum, hasFill, fill)
  else if (bytes == 8) integers<u64>(src, dst, count, bits, minimum, hasFill, fill)
  else if (bytes == -4) floats32(src, dst, count, bits, reinterpret<f32>(<u32>minimum), <f32>divisor, hasFill, <u32>fill)
  else floats64(src, dst, count, bits, reinterpret<f64>(minimum), divisor, hasFill, fill)
}

function integers<T>(src: usize, dst: usize, count: usize, width: i32, minimum: u64, hasFill: i32, fill: u64): void {
  const bits: u64 = width
  const ones = onesOf(bits)
  const end = dst + count * sizeof<T>()
  for (let position: u64 = 0; dst < end; dst += sizeof<T>(), position += bits) {
    const stored = bits ? numberAt(src, position, bits) : 0
    store<T>(dst, <T>(hasFill && stored == ones ? fill : stored + minimum))
  }
}

function floats32(src: usize, dst: usize, count: usize, width: i32, minimum: f32, divisor: f32, hasFill: i32, fill: u32): void {
  const bits: u64 = width
  const ones = onesOf(bits)
  const end = dst + count * 4
  for (let position: u64 = 0; dst < end; dst += 4, position += bits) {
    const stored = bits ? numberAt(src, position, bits) : 0
    if (hasFill && stored == ones) store<u32>(dst, fill)
    else store<f32>(dst, <f32>(<i32>stored) / divisor + minimum)
  }
}

function floats64(src: usize, dst: usize, count: usize, width: i32, minimum: f64, divisor: f64, hasFill: i32, fill: u64): void {
  const bits: u64 = width
  const ones = onesOf(bits)
  const end = dst + count * 8
  for (let position: u64 = 0; dst < end; dst += 8, position += bits) {
    const stored = bits ? numberAt(src, position, bits) : 0
    if (hasFill && stored == ones) store<u64>(dst, fill)
    else store<f64>(dst, <f64>(<i64>stored) / divisor + minimum)
  }
}

// @ts-ignore: decorator
@inline
function onesOf(bits: u64): u64 {
  return bits < 64 ? (<u64>1 << bits) - 1 : <u64>-1
}
