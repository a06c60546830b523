import { crc32cOf } from '../../kernels/crc32c.ts'
import { isIdentity } from './identity.ts'

/*
 * Data that only this package reads. They lie in blocks with codecs of its own. No chunk refers to these
 * blocks, so other programs ignore them:
 *
 *     blocks with chunks | statistics of the chunks | table of segments | checksums of segments | checksums | footer | trailer
 */

export const STATS_CODEC = 'hyperslab.chunk-stats.1'
export const SEGMENTS_CODEC = 'hyperslab.segments.1'
export const SEGMENT_CHECKSUMS_CODEC = 'hyperslab.segment-checksums.1'
export const CHECKSUM_CODEC = 'hyperslab.crc32c.1'

/**
 * Codec of an empty block that marks a layer that changes the shape of an array, and a base compacted from
 * such layers. Other programs change a shape only by defining the array anew.
 */
export const RESIZED_CODEC = 'hyperslab.resized.1'

export const isExtensionBlock = ({ codec }: { readonly codec: string | null }): boolean =>
  codec?.startsWith('hyperslab.') ?? false

const KNOWN: readonly (string | null)[] = [STATS_CODEC, SEGMENTS_CODEC, SEGMENT_CHECKSUMS_CODEC, CHECKSUM_CODEC, RESIZED_CODEC]

/** Whether the block is an extension block of an unknown name: written by a later version, or damaged. */
export const isUnknownExtension = (block: { readonly codec: string | null }): boolean =>
  isExtensionBlock(block) && !KNOWN.includes(block.codec) && !isIdentity(block.codec)

/** End of the warning about an unknown extension block; its name precedes it. */
export const UNKNOWN_EXTENSION = 'is unknown here, so its information about the data is ignored'

/** CRC-32C of the parts of a file. */
export interface Checksums {
  /** Checksum of the footer's payload. */
  readonly footer: number
  /** Checksums of the blocks as stored, in the order of the footer. */
  readonly blocks: Uint32Array
}

/*
 * The block, little-endian: u32 checksum of what follows | u32 checksum of the footer | one u32 for each
 * block in front of this one. Its size is known before the footer is encoded, which tells it; so the footer's
 * checksum can be in it.
 */

export const checksumBytes = (blocks: number): number => 4 * (2 + blocks)

/**
 * Returns the checksums of `blocks` blocks at the end of `bytes`; undefined if there are none or if they are
 * damaged. Other bytes pass for checksums with a probability of 1 to 2^32.
 */
export function checksumsAtEnd(bytes: Uint8Array, blocks: number): Checksums | undefined {
  const at = bytes.length - checksumBytes(blocks)
  if (blocks < 0 || at < 0) return undefined
  // The constructor copies, unlike `slice` of Node's buffers.
  const words = new Uint32Array(new Uint8Array(bytes.subarray(at)).buffer)
  return crc32cOf(bytes.subarray(at + 4)) === words[0] ? { footer: words[1]!, blocks: words.slice(2) } : undefined
}
