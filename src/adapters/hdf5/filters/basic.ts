import { checkSize } from '../../../codec/bounds.ts'
import type { Step } from '../../../codec/chain.ts'
import { fletcher32 } from '../../../codec/checksums.ts'
import { lz4Streams } from '../../../codec/lz4.ts'
import { HyperslabError } from '../../../core/errors.ts'
import type { Arena } from '../../../kernels/arena.ts'
import { filters } from '../../../kernels/filters.ts'

/** Stores bytes of elements in planes. Bytes behind the last whole element are stored unchanged. */
export function unshuffleStep(size: number): Step | undefined {
  if (size <= 1) return undefined
  return {
    name: 'shuffle',
    encodedBytes: (bytes) => bytes,
    decodeIn(arena, pointer, length) {
      // Without a whole element, nothing is moved. The kernel does not end for sizes near 2^32.
      if (size > length) return { pointer, length }
      const target = arena.alloc(length)
      filters(arena).unshuffle(size, pointer, target, length)
      return { pointer: target, length }
    },
  }
}

const SUM_BYTES = 4

/**
 * Compares and removes the checksum behind the bytes. Versions of the HDF5 library before 1.6.3 wrote it with
 * the bytes of its halves swapped, which is accepted, too.
 */
export const fletcherStep: Step = {
  name: 'fletcher32',
  encodedBytes: (bytes) => bytes + SUM_BYTES,
  decodeIn(arena, pointer, length) {
    const bytes = length - SUM_BYTES
    if (bytes < 0) throw malformedFilter('fletcher32', `${length} bytes have no room for the checksum`)
    const stored = new DataView(arena.kernels.memory.buffer).getUint32(pointer + bytes, true)
    const actual = fletcher32(arena.bytes(pointer, bytes))
    if (stored === actual || stored === swapHalves(actual)) return { pointer, length: bytes }
    const text = `fletcher32: the checksum of ${bytes} bytes is ${hex(actual)}, but ${hex(stored)} was written: the bytes have changed since`
    throw new HyperslabError('IntegrityError', text, { actual, expected: stored })
  },
}

/** Swaps the bytes of each half of a 32-bit number. */
const swapHalves = (sum: number): number => (((sum & 0x00ff00ff) << 8) | ((sum >>> 8) & 0x00ff00ff)) >>> 0

const hex = (sum: number): string => sum.toString(16).padStart(8, '0')

// The filter lz4, all numbers big-endian:
//
//     u64 decoded bytes | u32 decoded bytes of a block | for each block: u32 bytes | the block
//
// A block as long as its decoded bytes is stored uncompressed. The last block may be shorter.

const LZ4_HEADER_BYTES = 12
/** Largest ratio of decoded to stored bytes of an LZ4 block. */
const LZ4_RATIO = 256

export const lz4FilterStep: Step = {
  name: 'lz4',
  decodeIn(arena, pointer, length, expected, mostBytes) {
    const { decodedBytes, blockBytes } = readBlockHeader(arena, 'lz4', pointer, length)
    checkSize('lz4', decodedBytes, expected, mostBytes)
    if (decodedBytes > length * LZ4_RATIO) throw malformedFilter('lz4', `${length} bytes cannot decode to ${decodedBytes}`)
    if (decodedBytes > 0 && blockBytes === 0) throw malformedFilter('lz4', 'its blocks have 0 bytes')
    const target = arena.alloc(decodedBytes)
    arena.scratch(() => {
      const decode = lz4Streams(arena)
      const view = new DataView(arena.kernels.memory.buffer, pointer, length)
      let at = LZ4_HEADER_BYTES
      for (let done = 0; done < decodedBytes; done += blockBytes) {
        const bytes = Math.min(blockBytes, decodedBytes - done)
        if (length - at < 4) throw malformedFilter('lz4', `it ends at byte ${length}, within the blocks`)
        const size = view.getUint32(at)
        at += 4
        if (size > length - at) throw malformedFilter('lz4', `a block of ${size} bytes at byte ${at} of ${length}`)
        if (size === bytes) arena.bytes(target + done, bytes).set(arena.bytes(pointer + at, bytes))
        else decode(pointer + at, size, target + done, bytes)
        at += size
      }
    })
    return { pointer: target, length: decodedBytes }
  },
}

/** Reads the header that lz4 and bitshuffle have in common. */
export function readBlockHeader(
  arena: Arena,
  name: string,
  pointer: number,
  length: number,
): { decodedBytes: number; blockBytes: number } {
  if (length < LZ4_HEADER_BYTES) throw malformedFilter(name, `${length} bytes have no room for the header`)
  const view = new DataView(arena.kernels.memory.buffer, pointer, length)
  return { decodedBytes: Number(view.getBigUint64(0)), blockBytes: view.getUint32(8) }
}

export const malformedFilter = (name: string, text: string): HyperslabError =>
  new HyperslabError('CodecError', `malformed ${name} bytes: ${text}`)
