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

/**
 * Returns the table of CRC-32. Entry `256 * k + byte` is the remainder of a byte that is followed by `k` zero
 * bytes.
 */
function crcTable(): Int32Array {
  const entries = new Int32Array(8 * 256)
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? POLYNOMIAL : 0)
    entries[byte] = crc
  }
  for (let i = 256; i < entries.length; i++) entries[i] = (entries[i - 256]! >>> 8) ^ entries[entries[i - 256]! & 255]!
  return entries
}

/**
 * Computes the CRC-32 of zip and gzip, eight bytes at a time.
 * @param before checksum of the bytes in front
 */
export function crc32(bytes: Uint8Array, before = 0): number {
  table ??= crcTable()
  let crc = ~before
  let at = 0
  for (const end = bytes.length - 7; at < end; at += 8) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
    crc =
      table[1792 + (crc & 255)]! ^
      table[1536 + ((crc >>> 8) & 255)]! ^
      table[1280 + ((crc >>> 16) & 255)]! ^
      table[1024 + (crc >>> 24)]! ^
      table[768 + bytes[at + 4]!]! ^
      table[512 + bytes[at + 5]!]! ^
      table[256 + bytes[at + 6]!]! ^
      table[bytes[at + 7]!]!
  }
  for (; at < bytes.length; at++) crc = (crc >>> 8) ^ table[(crc ^ bytes[at]!) & 255]!
  return ~crc >>> 0
}
