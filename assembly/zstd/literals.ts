import { decodeHuffman, decodeHuffman4 } from './huffman'
import { readWeights } from './huffman-table'
import { BAD_HUFFMAN, BAD_LITERALS, INPUT_TRUNCATED, LAST_ERROR, MOST_LITERALS } from './layout'

const RAW: u32 = 0
const RLE: u32 = 1
const TREELESS: u32 = 3

/** Result of the last call of `readLiterals`. At least 64 KiB behind the literals are readable. */
export let literalsStart: usize = 0
export let literalsBytes: usize = 0

/** Whether a block of this frame has defined a table, for blocks without one. */
let hasTable = false

export function forgetHuffman(): void {
  hasTable = false
}

/**
 * Finds the literals of a block, or decodes them into `buffer`, which has room for `MOST_LITERALS`. Returns
 * the start of the sequences, or an error.
 *
 *     literals:  type (2), size format (2), size (5, 12, 20) | bytes, or one
 *                type (2), size format (2), size and compressed size (10, 14, 18 each)
 *                | table, if not treeless | 1 or 4 streams
 */
export function readLiterals(src: usize, end: usize, buffer: usize): usize {
  if (src >= end) return INPUT_TRUNCATED
  const header = load<u64>(src)
  const type = <u32>header & 3
  const format = <u32>(header >> 2) & 3
  if (type <= RLE) return readPlain(src, end, buffer, type, format, <u32>header)

  const bits: u64 = format < 2 ? 10 : format == 2 ? 14 : 18
  const mask = ((<u64>1) << bits) - 1
  const bytes = <usize>((header >> 4) & mask)
  const taken = <usize>((header >> (4 + bits)) & mask)
  src += format < 2 ? 3 : 2 + format
  if (src > end || taken > end - src) return INPUT_TRUNCATED
  if (bytes > MOST_LITERALS) return BAD_LITERALS
  const next = src + taken
  if (type != TREELESS) {
    hasTable = false
    src = readWeights(src, next)
    if (src <= LAST_ERROR) return src
    hasTable = true
  } else if (!hasTable) return BAD_HUFFMAN
  const whole = format == 0 ? decodeHuffman(src, next, buffer, buffer + bytes) : decodeHuffman4(src, next, buffer, bytes)
  if (!whole) return BAD_LITERALS
  literalsStart = buffer
  literalsBytes = bytes
  return next
}

function readPlain(src: usize, end: usize, buffer: usize, type: u32, format: u32, header: u32): usize {
  const headerBytes: usize = (format & 1) == 0 ? 1 : format == 1 ? 2 : 3
  const bytes: usize = headerBytes == 1 ? (header & 0xff) >> 3 : headerBytes == 2 ? (header & 0xffff) >> 4 : (header & 0xffffff) >> 4
  src += headerBytes
  const taken = type == RAW ? bytes : 1
  if (src > end || taken > end - src) return INPUT_TRUNCATED
  if (bytes > MOST_LITERALS) return BAD_LITERALS
  literalsBytes = bytes
  literalsStart = src
  if (type == RLE) {
    memory.fill(buffer, load<u8>(src), bytes)
    literalsStart = buffer
  }
  return src + taken
}
