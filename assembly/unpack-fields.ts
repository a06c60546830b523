/**
 * Unpacking of the HDF5 filter n-bit.
 *
 * Contract: writes `count` elements of `elementBytes` bytes at `dst`; bits outside the fields become 0. The
 * input has at least `count` times the precisions of all fields, in bits. `fields` has `fieldCount` entries
 * of five i32: position in the element, bytes (1 to 8), whether the most significant byte comes first,
 * precision (1 to 64 bits), and position of the lowest bit. A field does not leave its bytes or the element.
 *
 *     stored:  bits of the first field of the first element, most significant first | second field | ...
 *
 * Why it is fast: elements of one field of 1, 2, 4 or 8 little-endian bytes have loops of their own, with one
 * load and one store each.
 */
import { bitsAt, LOADED_BITS, numberAt } from './bits'

const FIELD_BYTES: usize = 20

export function unpackFields(src: usize, dst: usize, count: usize, elementBytes: usize, fields: usize, fieldCount: usize): void {
  const bytes: usize = load<i32>(fields, 4)
  const precision: u64 = load<i32>(fields, 12)
  if (fieldCount == 1 && bytes == elementBytes && !load<i32>(fields, 8) && precision <= LOADED_BITS) {
    const shift: u64 = load<i32>(fields, 16)
    if (bytes == 1) return unpack<u8>(src, dst, count, precision, shift)
    if (bytes == 2) return unpack<u16>(src, dst, count, precision, shift)
    if (bytes == 4) return unpack<u32>(src, dst, count, precision, shift)
    if (bytes == 8) return unpack<u64>(src, dst, count, precision, shift)
  }
  memory.fill(dst, 0, count * elementBytes)
  const end = fields + fieldCount * FIELD_BYTES
  let position: u64 = 0
  for (let i: usize = 0; i < count; i++, dst += elementBytes) {
    for (let field = fields; field < end; field += FIELD_BYTES) {
      const bits: u64 = load<i32>(field, 12)
      const value = numberAt(src, position, bits) << <u64>load<i32>(field, 16)
      position += bits
      storeNumber(dst + load<i32>(field), load<i32>(field, 4), load<i32>(field, 8), value)
    }
  }
}

function unpack<T>(src: usize, dst: usize, count: usize, precision: u64, shift: u64): void {
  const end = dst + count * sizeof<T>()
  for (let position: u64 = 0; dst < end; dst += sizeof<T>(), position += precision)
    store<T>(dst, <T>((bitsAt(src, position) >> (64 - precision)) << shift))
}

function storeNumber(dst: usize, bytes: usize, isBigEndian: i32, value: u64): void {
  for (let i: usize = 0; i < bytes; i++, value >>= 8) store<u8>(dst + (isBigEndian ? bytes - 1 - i : i), <u8>value)
}
