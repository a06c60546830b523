import { countBytes, distinct, makeCodes, mostFrequent, writeStream, writeWeights } from './huffman'

const RLE: u32 = 1
const COMPRESSED: u32 = 2
/** Length below which the table of a code is longer than its savings. */
const LEAST_CODED: usize = 64
const LEAST_FOUR_STREAMS: usize = 256

/**
 * Writes the literals of a block: unchanged, as one repeated byte, or by a Huffman code; see `readLiterals`
 * of the decoder. Returns their end. The output exceeds the literals by at most 3 bytes, and 8 bytes behind
 * it may be written.
 */
export function writeLiterals(to: usize, from: usize, bytes: usize): usize {
  if (bytes >= LEAST_CODED) {
    countBytes(from, from + bytes)
    if (distinct == 1) {
      to = writePlainHeader(to, RLE, bytes)
      store<u8>(to, load<u8>(from))
      return to + 1
    }
    // If all bytes are about equally frequent, coding saves nothing.
    if (<usize>mostFrequent > (bytes >> 7) + 4) {
      const end = writeCoded(to, from, bytes, makeCodes())
      if (end != 0) return end
    }
  }
  to = writePlainHeader(to, 0, bytes)
  memory.copy(to, from, bytes)
  return to + bytes
}

function writePlainHeader(to: usize, type: u32, bytes: usize): usize {
  const size = <u32>bytes
  if (size < 32) {
    store<u8>(to, <u8>(type | (size << 3)))
    return to + 1
  }
  if (size < 4096) {
    store<u16>(to, <u16>(type | 4 | (size << 4)))
    return to + 2
  }
  store<u32>(to, type | 12 | (size << 4))
  return to + 3
}

/** Returns the end, or 0 if the output is hardly shorter than the input. */
function writeCoded(to: usize, from: usize, bytes: usize, bits: u32): usize {
  const most = bytes - (bytes >> 6) - 2
  if (<usize>(bits >> 3) >= most) return 0
  const headerBytes: usize = bytes < 1024 ? 3 : bytes < 16384 ? 4 : 5
  const start = to + headerBytes
  let at = writeWeights(start)
  // A stream ends with up to 8 bits that fill its last byte.
  if (at == 0 || at - start + 6 + 4 + <usize>(bits >> 3) >= most) return 0
  const format: u64 = bytes < LEAST_FOUR_STREAMS ? 0 : <u64>(headerBytes - 2)
  const end = format == 0 ? writeStream(at, from, from + bytes) : writeFourStreams(at, from, bytes)
  const width: u64 = headerBytes == 3 ? 10 : headerBytes == 4 ? 14 : 18
  const header = <u64>COMPRESSED | (format << 2) | (<u64>bytes << 4) | (<u64>(end - start) << (4 + width))
  store<u16>(to, <u16>header)
  store<u8>(to, <u8>(header >> 16), 2)
  if (headerBytes > 3) store<u8>(to, <u8>(header >> 24), 3)
  if (headerBytes > 4) store<u8>(to, <u8>(header >> 32), 4)
  return end
}

/** Writes the sizes of the first three streams, u16 each, then four streams of a quarter each. */
function writeFourStreams(to: usize, from: usize, bytes: usize): usize {
  const end = from + bytes
  const part = (bytes + 3) >> 2
  let at = to + 6
  for (let i: usize = 0; i < 3; i++) {
    const next = writeStream(at, from, from + part)
    store<u16>(to + (i << 1), <u16>(next - at))
    at = next
    from += part
  }
  return writeStream(at, from, end)
}
