import { crc32cOf } from '../../kernels/crc32c.ts'
import { isIdentity } from './identity.ts'

/*
 * What only this package reads lies in blocks of codecs of its own, to which no chunk points, so that others
 * pass over them:
 *
 *     blocks with chunks | statistics of the chunks | table of segments | checksums of segments | checksums | footer | trailer
 */

export const STATS_CODEC = 'hyperslab.chunk-stats.1'
export const SEGMENTS_CODEC = 'hyperslab.segments.1'
export const SEGMENT_CHECKSUMS_CODEC = 'hyperslab.segment-checksums.1'
export const CHECKSUM_CODEC = 'hyperslab.crc32c.1'

/**
 * An empty block, the mark of a layer that changes the shape of an array, or of a base compacted of such
 * layers. Other programs write other shapes only when they define an array anew.
 */
export const RESIZED_CODEC = 'hyperslab.resized.1'

export const isExtra = ({ codec }: { readonly codec: string | null }): boolean => codec?.startsWith('hyperslab.') ?? false

const KNOWN: readonly (string | null)[] = [STATS_CODEC, SEGMENTS_CODEC, SEGMENT_CHECKSUMS_CODEC, CHECKSUM_CODEC, RESIZED_CODEC]

/** Extras that this version knows nothing of: those of a later one, unless the name is damaged. */
export const isUnknownExtra = (block: { readonly codec: string | null }): boolean =>
  isExtra(block) && !KNOWN.includes(block.codec) && !isIdentity(block.codec)

/** What is to be said of those, behind their name. */
export const UNKNOWN_EXTRA = 'is unknown here, so what it tells of the data is not used'

/** CRC-32C of what a file holds. */
export interface Checksums {
  /** Of the footer's payload. */
  readonly footer: number
  /** Of the blocks as stored, in the order of the footer. */
  readonly blocks: Uint32Array
}

/*
 * The block, little-endian: u32 checksum of what follows | u32 checksum of the footer | one u32 for each
 * block in front of this one. Its size is known before the footer is encoded, which tells it; so the footer's
 * checksum can be in it.
 */

export const checksumBytes = (blocks: number): number => 4 * (2 + blocks)

/**
 * The checksums of that many blocks that some bytes end in; undefined when they do not, or are damaged. The
 * odds that other bytes pass for them are 1 to 2^32.
 */
export function checksumsAtEnd(bytes: Uint8Array, blocks: number): Checksums | undefined {
  const at = bytes.length - checksumBytes(blocks)
  if (blocks < 0 || at < 0) return undefined
  // A copy, which `slice` of Node's buffers is not.
  const words = new Uint32Array(new Uint8Array(bytes.subarray(at)).buffer)
  return crc32cOf(bytes.subarray(at + 4)) === words[0] ? { footer: words[1]!, blocks: words.slice(2) } : undefined
}
