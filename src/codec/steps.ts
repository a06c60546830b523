import { HyperslabError } from '../core/errors.ts'
import type { Arena } from '../kernels/arena.ts'
import { crc32c } from '../kernels/crc32c.ts'
import { lz4Decode } from '../kernels/lz4.ts'
import { checkSize } from './bounds.ts'
import type { Step } from './chain.ts'
import { adler32, crc32, fletcher32 } from './checksums.ts'
import { PREFIX_BYTES } from './lz4.ts'
import { platformZlib } from './platform-zlib.ts'
import type { DecoderMaker } from './stream-decoder.ts'

/** Largest ratio of decoded to stored bytes of an LZ4 block. */
const LZ4_RATIO = 256

/** Step that decodes an LZ4 block behind its decoded size, as numcodecs writes it. */
export const lz4Step: Step = {
  name: 'lz4',
  decodeIn(arena, pointer, length, decodedBytes, mostBytes) {
    if (length < PREFIX_BYTES) throw malformed('lz4', `${length} bytes have no room for the size`)
    const bytes = new DataView(arena.kernels.memory.buffer).getUint32(pointer, true)
    if (bytes > length * LZ4_RATIO) throw malformed('lz4', `${length} bytes cannot decode to ${bytes}`)
    checkSize('lz4', bytes, decodedBytes, mostBytes)
    const target = arena.alloc(bytes)
    lz4Decode(arena, pointer + PREFIX_BYTES, length - PREFIX_BYTES, target, bytes)
    return { pointer: target, length: bytes }
  },
}

/**
 * Creates a step that decodes Zstandard frames: on threads of the platform if it has them, else on this
 * thread.
 * @param isSized whether the decoded size is known
 */
export function zstdStep(isSized: boolean): Step {
  const load = () => import('./zstd.ts')
  if (!isSized) return { name: 'zstd', decode: async (bytes, _, mostBytes) => (await load()).decodeUnsized(bytes, mostBytes) }
  if (platformZlib()?.zstdDecompressSync !== undefined)
    return { name: 'zstd', decode: async (bytes, decodedBytes) => (await load()).decode(bytes, decodedBytes!) }
  let streams: DecoderMaker | undefined
  return {
    name: 'zstd',
    async ready() {
      streams ??= await (await load()).loadZstdStreams()
    },
    decodeIn(arena, pointer, length, decodedBytes) {
      const target = arena.alloc(decodedBytes!)
      arena.scratch(() => streams!(arena)(pointer, length, target, decodedBytes!))
      return { pointer: target, length: decodedBytes! }
    },
  }
}

/** Position of a 4-byte checksum. */
type ChecksumPlace = 'start' | 'end'

/** Checksum functions over bytes in kernel memory. */
const CHECKSUMS = {
  crc32c,
  crc32: (arena: Arena, pointer: number, bytes: number) => crc32(arena.bytes(pointer, bytes)),
  adler32: (arena: Arena, pointer: number, bytes: number) => adler32(arena.bytes(pointer, bytes)),
  fletcher32: (arena: Arena, pointer: number, bytes: number) => fletcher32(arena.bytes(pointer, bytes)),
}

export type ChecksumName = keyof typeof CHECKSUMS

/** Creates a step that checks and removes a little-endian 4-byte checksum before or behind the bytes. */
export function checksumStep(name: ChecksumName, place: ChecksumPlace): Step {
  return {
    name,
    encodedBytes: (bytes) => bytes + 4,
    decodeIn(arena, pointer, length) {
      if (length < 4) throw malformed(name, `${length} bytes have no room for the checksum`)
      const [data, sum] = place === 'start' ? [pointer + 4, pointer] : [pointer, pointer + length - 4]
      const stored = new DataView(arena.kernels.memory.buffer).getUint32(sum, true)
      const actual = CHECKSUMS[name](arena, data, length - 4)
      if (actual === stored) return { pointer: data, length: length - 4 }
      throw malformed(name, `they have the checksum ${hex(actual)} instead of ${hex(stored)}`, actual, stored)
    },
  }
}

const hex = (sum: number): string => `0x${sum.toString(16).padStart(8, '0')}`

function malformed(name: string, text: string, actual?: number, expected?: number): HyperslabError {
  return new HyperslabError('CodecError', `malformed ${name} bytes: ${text}`, { actual, expected })
}
