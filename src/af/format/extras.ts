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
