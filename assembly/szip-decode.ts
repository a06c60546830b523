/**
 * Decoding of szip: the lossless coding of CCSDS 121.0-B with unsigned samples.
 *
 * Contract: any input is safe: nothing outside [dst, dst + count * bytes) and the 256 bytes at `work` is
 * written, and nothing outside the input influences the result. Writes `count` little-endian samples of
 * `sampleBits` bits (1 to 32), each in `bytes` bytes (1, 2 or 4). A block has `blockSamples` samples (even, 2
 * to 64), and a line `lineBlocks` blocks. Of each line the first `lineSamples` samples are written; the
 * others are padding. `isPredicted` says that samples are differences to their neighbours, and that each line
 * begins with a sample as it is. Returns 0 or an error below.
 *
 *     line:   a block after the other
 *     block:  its coding (3, 4 or 5 bits), {0: another bit} | first sample of a line | coded samples
 *
 * A coding of all ones has samples as they are. Another one above 0, k + 1, has the upper bits of all samples
 * in unary, then the k lower bits of each. With 0 and a bit 0, blocks are zeros, whose number is unary. With
 * 0 and a bit 1, two samples share a number in unary.
 */
import { bitsAt, LOADED_BITS } from './bits'

const INPUT_TRUNCATED: i32 = -1
const BAD_SAMPLE: i32 = -2
const BAD_RUN: i32 = -3

/** Number of zero blocks that stands for the rest of the segment. */
const REST: u32 = 5
/** Blocks of a segment. */
const SEGMENT: u32 = 64

/** Position of the next bit, and the end of the input. One thread decodes one stream at a time. */
let position: u64 = 0
let end: u64 = 0

export function szipDecode(
  src: usize,
  srcBytes: usize,
  dst: usize,
  count: usize,
  bytes: i32,
  sampleBits: i32,
  blockSamples: i32,
  lineBlocks: i32,
  lineSamples: i32,
  isPredicted: i32,
  work: usize,
): i32 {
  position = 0
  end = <u64>srcBytes << 3
  if (bytes == 1) return lines<u8>(src, dst, count, sampleBits, blockSamples, lineBlocks, lineSamples, isPredicted, work)
  if (bytes == 2) return lines<u16>(src, dst, count, sampleBits, blockSamples, lineBlocks, lineSamples, isPredicted, work)
  return lines<u32>(src, dst, count, sampleBits, blockSamples, lineBlocks, lineSamples, isPredicted, work)
}

function lines<T>(
  src: usize,
  dst: usize,
  count: usize,
  sampleBits: u32,
  blockSamples: u32,
  lineBlocks: u32,
  lineSamples: u32,
  isPredicted: i32,
  work: usize,
): i32 {
  const most: u32 = <u32>(((<u64>1) << sampleBits) - 1)
  const outputEnd = dst + count * sizeof<T>()
  while (dst < outputEnd) {
    let previous: u32 = 0
    let left = lineSamples
    let zeros: u32 = 0
    for (let block: u32 = 0; block < lineBlocks && dst < outputEnd; block++) {
      const first: u32 = isPredicted && block == 0 ? 1 : 0
      if (zeros == 0) {
        const code = decodeBlock(src, sampleBits, most, blockSamples, first, work)
        if (code < 0) return code
        if (code > 0) {
          zeros = <u32>code == REST ? min(lineBlocks - block, SEGMENT - (block & (SEGMENT - 1))) : <u32>code - (<u32>code > REST ? 1 : 0)
          if (zeros > lineBlocks - block) return BAD_RUN
        }
      } else memory.fill(work, 0, blockSamples << 2)
      if (zeros > 0) zeros--

      const written = min(min(<usize>blockSamples, <usize>left), (outputEnd - dst) / sizeof<T>())
      left -= <u32>written
      let from = work
      const stop = work + (written << 2)
      if (!isPredicted) {
        for (; from < stop; from += 4, dst += sizeof<T>()) store<T>(dst, <T>load<u32>(from))
        continue
      }
      if (first) {
        previous = load<u32>(work)
        store<T>(dst, <T>previous)
        from += 4
        dst += sizeof<T>()
      }
      for (; from < stop; from += 4, dst += sizeof<T>()) {
        const mapped = load<u32>(from)
        const above = most - previous
        const reach = min(previous, above)
        // Steps within reach of both ends alternate in sign. Larger ones can only go to the far end.
        if (mapped <= reach << 1) previous += (mapped >> 1) ^ (0 - (mapped & 1))
        else previous = previous < above ? mapped : most - mapped
        store<T>(dst, <T>previous)
      }
    }
  }
  return 0
}

/** Decodes a block to 32-bit numbers at `work`; returns 0, a number of zero blocks, or an error. */
function decodeBlock(src: usize, sampleBits: u32, most: u32, samples: u32, first: u32, work: usize): i32 {
  const codeBits: u64 = sampleBits > 16 ? 5 : sampleBits > 8 ? 4 : 3
  if (position >= end) return INPUT_TRUNCATED
  const code = <u32>(bitsAt(src, position) >> (64 - codeBits))
  position += codeBits
  if (code == (<u32>1 << <u32>codeBits) - 1) return plainSamples(src, sampleBits, samples, work)
  let isPaired = false
  if (code == 0) {
    if (position >= end) return INPUT_TRUNCATED
    isPaired = bitsAt(src, position) >> 63 != 0
    position++
  }
  if (first) {
    const failed = plainSamples(src, sampleBits, 1, work)
    if (failed) return failed
  }
  const stop = work + (samples << 2)
  if (code > 0) return splitSamples(src, code - 1, most, work + (first << 2), stop)
  if (isPaired) return pairedSamples(src, most, samples, first, work)
  memory.fill(work + (first << 2), 0, (samples - first) << 2)
  const run = unary(src)
  return run < 0 ? INPUT_TRUNCATED : run + 1
}

function plainSamples(src: usize, sampleBits: u64, samples: u32, work: usize): i32 {
  if (position + sampleBits * samples > end) return INPUT_TRUNCATED
  for (let i: u32 = 0; i < samples; i++, work += 4, position += sampleBits)
    store<u32>(work, <u32>(bitsAt(src, position) >> (64 - sampleBits)))
  return 0
}

function splitSamples(src: usize, lowBits: u64, most: u32, work: usize, stop: usize): i32 {
  const mostHigh = <i32>(most >> <u32>min(lowBits, 31))
  let at = position
  for (let to = work; to < stop; to += 4) {
    if (at >= end) return INPUT_TRUNCATED
    const bits = bitsAt(src, at)
    let high: i32
    if (bits >> (64 - LOADED_BITS) != 0) {
      high = <i32>clz(bits)
      at += high + 1
    } else {
      position = at
      high = unary(src)
      at = position
      if (high < 0) return INPUT_TRUNCATED
    }
    if (high > mostHigh) return BAD_SAMPLE
    store<u32>(to, <u32>high << <u32>lowBits)
  }
  if (lowBits > 0) {
    const samples = (stop - work) >> 2
    if (at + lowBits * samples > end) return INPUT_TRUNCATED
    for (let to = work; to < stop; to += 4, at += lowBits)
      store<u32>(to, load<u32>(to) | <u32>(bitsAt(src, at) >> (64 - lowBits)))
  }
  if (at > end) return INPUT_TRUNCATED
  position = at
  return 0
}

/** Decodes pairs of samples a and b, whose number is (a + b)(a + b + 1) / 2 + b. */
function pairedSamples(src: usize, most: u32, samples: u32, first: u32, work: usize): i32 {
  for (let i: u32 = 0; i < samples; i += 2, work += 8) {
    const number = unary(src)
    if (number < 0) return INPUT_TRUNCATED
    const sum = <i32>((Math.sqrt(<f64>number * 8 + 1) - 1) / 2)
    const second = number - ((sum * (sum + 1)) >> 1)
    if (<u32>sum > most) return BAD_SAMPLE
    // The first sample of a line has no partner.
    if (i > 0 || !first) store<u32>(work, sum - second)
    store<u32>(work, second, 4)
  }
  return 0
}

/** Longest number in unary. The numbers of samples, pairs and blocks are below it. */
const LONGEST: i32 = 0x1000000

/** Reads zeros until a one; returns their number, or -1 if the input ends before. */
function unary(src: usize): i32 {
  let zeros: i32 = 0
  while (position < end) {
    const bits = bitsAt(src, position)
    if (bits >> (64 - LOADED_BITS) != 0) {
      const more = clz(bits)
      position += more + 1
      return position > end ? -1 : zeros + <i32>more
    }
    position += LOADED_BITS
    zeros += <i32>LOADED_BITS
    if (zeros > LONGEST) return -1
  }
  return -1
}
