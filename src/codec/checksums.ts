/** Numbers of bytes (Adler-32) and words (Fletcher-32) after which the sums have to be reduced. */
const ADLER_PIECE = 5552
const FLETCHER_PIECE = 360

/** Computes the Adler-32 checksum (RFC 1950), from 0 to 2^32 - 1. */
export function adler32(bytes: Uint8Array): number {
  let a = 1
  let b = 0
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(at + ADLER_PIECE, bytes.length)
    for (; at < end; at++) {
      a += bytes[at]!
      b += a
    }
    a %= 65521
    b %= 65521
  }
  return ((b << 16) | a) >>> 0
}

/** Computes the Fletcher-32 checksum of big-endian words, as HDF5 and numcodecs do. */
export function fletcher32(bytes: Uint8Array): number {
  let a = 0
  let b = 0
  const fold = (sum: number): number => (sum & 0xffff) + (sum >>> 16)
  const even = bytes.length & ~1
  for (let at = 0; at < even; ) {
    const end = Math.min(at + 2 * FLETCHER_PIECE, even)
    for (; at < end; at += 2) {
      a += (bytes[at]! << 8) | bytes[at + 1]!
      b += a
    }
    a = fold(a)
    b = fold(b)
  }
  if (even < bytes.length) {
    a = fold(a + (bytes[even]! << 8))
    b = fold(b + a)
  }
  return ((fold(b) << 16) | fold(a)) >>> 0
}

const POLYNOMIAL = 0xedb88320
let table: Int32Array | undefined

/** Computes the CRC-32 of zip and gzip. */
export function crc32(bytes: Uint8Array): number {
  table ??= Int32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? POLYNOMIAL : 0)
    return crc
  })
  let crc = -1
  for (let at = 0; at < bytes.length; at++) crc = (crc >>> 8) ^ table[(crc ^ bytes[at]!) & 255]!
  return ~crc >>> 0
}
