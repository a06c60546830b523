import { HyperslabError } from '../../core/errors.ts'

const rotate = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits))

/** Computes the checksum of HDF5's metadata: Bob Jenkins' lookup3, `hashlittle` with the initial value 0. */
function lookup3(bytes: Uint8Array): number {
  const { length } = bytes
  let a = (0xdeadbeef + length) | 0
  let b = a
  let c = a
  const word = (at: number): number => {
    let value = 0
    for (let i = 0; i < 4 && at + i < length; i++) value |= bytes[at + i]! << (8 * i)
    return value
  }
  let at = 0
  for (; length - at > 12; at += 12) {
    a = (a + word(at)) | 0
    b = (b + word(at + 4)) | 0
    c = (c + word(at + 8)) | 0
    a = ((a - c) | 0) ^ rotate(c, 4)
    c = (c + b) | 0
    b = ((b - a) | 0) ^ rotate(a, 6)
    a = (a + c) | 0
    c = ((c - b) | 0) ^ rotate(b, 8)
    b = (b + a) | 0
    a = ((a - c) | 0) ^ rotate(c, 16)
    c = (c + b) | 0
    b = ((b - a) | 0) ^ rotate(a, 19)
    a = (a + c) | 0
    c = ((c - b) | 0) ^ rotate(b, 4)
    b = (b + a) | 0
  }
  if (length === at) return c >>> 0
  a = (a + word(at)) | 0
  b = (b + word(at + 4)) | 0
  c = (c + word(at + 8)) | 0
  c = ((c ^ b) - rotate(b, 14)) | 0
  a = ((a ^ c) - rotate(c, 11)) | 0
  b = ((b ^ a) - rotate(a, 25)) | 0
  c = ((c ^ b) - rotate(b, 16)) | 0
  a = ((a ^ c) - rotate(c, 4)) | 0
  b = ((b ^ a) - rotate(a, 14)) | 0
  c = ((c ^ b) - rotate(b, 24)) | 0
  return c >>> 0
}

/**
 * Checks a structure whose last four bytes are its checksum.
 * @param position of the structure in the file
 * @throws IntegrityError if they differ
 */
export function checkSum(bytes: Uint8Array, position: number, what: string): void {
  const end = bytes.length - 4
  const expected = new DataView(bytes.buffer, bytes.byteOffset + end, 4).getUint32(0, true)
  const actual = lookup3(bytes.subarray(0, end))
  if (actual === expected) return
  const text = `${what} at byte ${position} has the checksum ${actual.toString(16)} instead of ${expected.toString(16)}`
  throw new HyperslabError('IntegrityError', text, { actual, expected })
}
