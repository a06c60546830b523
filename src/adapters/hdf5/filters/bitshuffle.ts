import { checkSize } from '../../../codec/bounds.ts'
import type { Step } from '../../../codec/chain.ts'
import { lz4Streams } from '../../../codec/lz4.ts'
import type { DecoderMaker, StreamDecoder } from '../../../codec/stream-decoder.ts'
import type { Arena } from '../../../kernels/arena.ts'
import { filters } from '../../../kernels/filters.ts'
import { malformedFilter, readBlockHeader } from './basic.ts'

// The filter bitshuffle. Parameters are two numbers of its version, the bytes of an element, the elements of
// a block (0: about 8 kB), and the compressor (0, 2: lz4, 3: zstd). With a compressor, all numbers
// big-endian:
//
//     u64 decoded bytes | u32 decoded bytes of a block | for each block: u32 bytes | the block | the last elements
//
// The last block has fewer elements, a multiple of 8. The elements behind it, fewer than 8, are stored as
// they are. Without a compressor there is neither a header nor a size.

const HEADER_BYTES = 12
const LZ4 = 2
const ZSTD = 3
/** Elements of a block are a multiple of this number. */
const MULTIPLE = 8
const DEFAULT_BLOCK_BYTES = 8192
const LEAST_DEFAULT_ELEMENTS = 128
/** Largest ratio of decoded to stored bytes of each compressor. */
const MOST_RATIO = [1, 1, 256, 2 ** 17]

/** @throws CodecError for invalid parameters */
export function bitshuffleStep([, , size = 0, blockElements = 0, compressor = 0]: readonly number[]): Step {
  if (size === 0 || blockElements % MULTIPLE !== 0 || ![0, LZ4, ZSTD].includes(compressor))
    throw malformedFilter(
      'bitshuffle',
      `elements of ${size} bytes in blocks of ${blockElements}, compressed by number ${compressor}`,
    )
  if (compressor === 0) {
    const blockBytes = size * (blockElements || defaultElements(size))
    return {
      name: 'bitshuffle',
      encodedBytes: (bytes) => bytes,
      decodeIn(arena, pointer, length) {
        const target = arena.alloc(length)
        decodeBlocks(arena, size, pointer, target, length, blockBytes, undefined, length)
        return { pointer: target, length }
      },
    }
  }
  let maker: DecoderMaker = lz4Streams
  return {
    name: 'bitshuffle',
    async ready() {
      if (compressor === ZSTD) maker = await (await import('../../../codec/zstd.ts')).loadZstdStreams()
    },
    decodeIn(arena, pointer, length, expected, mostBytes) {
      const { decodedBytes, blockBytes } = readBlockHeader(arena, 'bitshuffle', pointer, length)
      checkSize('bitshuffle', decodedBytes, expected, mostBytes)
      if (decodedBytes > length * MOST_RATIO[compressor]!)
        throw malformedFilter('bitshuffle', `${length} bytes cannot decode to ${decodedBytes}`)
      if (blockBytes === 0 || blockBytes % (size * MULTIPLE) !== 0)
        throw malformedFilter('bitshuffle', `blocks of ${blockBytes} bytes do not have whole eights of ${size} bytes`)
      const target = arena.alloc(decodedBytes)
      decodeBlocks(arena, size, pointer + HEADER_BYTES, target, decodedBytes, blockBytes, maker, length - HEADER_BYTES)
      return { pointer: target, length: decodedBytes }
    },
  }
}

const defaultElements = (size: number): number =>
  Math.max(Math.floor(DEFAULT_BLOCK_BYTES / size / MULTIPLE) * MULTIPLE, LEAST_DEFAULT_ELEMENTS)

/** Decodes blocks one after another. Without a compressor, blocks have no sizes. */
function decodeBlocks(
  arena: Arena,
  size: number,
  src: number,
  dst: number,
  decodedBytes: number,
  blockBytes: number,
  maker: DecoderMaker | undefined,
  length: number,
): void {
  arena.scratch(() => {
    // All memory is allocated first, because views are valid only until the memory grows.
    const most = Math.min(blockBytes, decodedBytes)
    const decoder: StreamDecoder | undefined = maker?.(arena)
    const block = arena.alloc(most)
    const planes = arena.alloc(most)
    const { bitUnshuffle } = filters(arena)
    const view = new DataView(arena.kernels.memory.buffer, src, length)
    const multiple = size * MULTIPLE
    let at = 0
    let done = 0
    while (decodedBytes - done >= multiple) {
      const left = decodedBytes - done
      const bytes = Math.min(blockBytes, left - (left % multiple))
      if (decoder === undefined) {
        bitUnshuffle(size, src + at, dst + done, bytes, planes)
        at += bytes
      } else {
        if (length - at < 4) throw malformedFilter('bitshuffle', `it ends at byte ${length}, within the blocks`)
        const stored = view.getUint32(at)
        at += 4
        if (stored > length - at) throw malformedFilter('bitshuffle', `a block of ${stored} bytes at byte ${at} of ${length}`)
        decoder(src + at, stored, block, bytes)
        bitUnshuffle(size, block, dst + done, bytes, planes)
        at += stored
      }
      done += bytes
    }
    const rest = decodedBytes - done
    if (rest > length - at) throw malformedFilter('bitshuffle', `the last ${rest} bytes are not there`)
    arena.bytes(dst + done, rest).set(arena.bytes(src + at, rest))
  })
}
