import { joinBytes } from '../core/bytes.js'
import { crc32cOf } from '../kernels/crc32c.js'
import { checksumBytes, encodeChecksums } from './checksums.js'
import { type ChunkStatsTable, encodeChunkStats } from './chunk-stats-table.js'
import { type BlockMeta, encodeFooterFile, type Footer } from './footer.js'
import { TRAILER_BYTES } from './footer-trailer.js'

/*
 * What only this package reads lies in blocks of codecs of its own, to which no chunk points, so that others pass over them:
 *
 *     blocks with chunks | statistics of the chunks | checksums | footer | trailer
 */

export const STATS_CODEC = 'hyperslab.chunk-stats.1'
export const CHECKSUM_CODEC = 'hyperslab.crc32c.1'

export const isExtra = ({ codec }: { readonly codec: string | null }): boolean => codec?.startsWith('hyperslab.') ?? false

export interface Sealed {
  readonly footer: Footer
  /** What follows the blocks with chunks. */
  readonly tail: Uint8Array
}

/** A footer as it is, or with statistics of chunks and checksums in front. */
export function seal(
  footer: Footer,
  extras: { tables: ReadonlyMap<number, ChunkStatsTable>; crcs: readonly number[] } | undefined,
): Sealed {
  if (extras === undefined) return { footer, tail: encodeFooterFile(footer) }
  const crcs = [...extras.crcs]
  const blocks = [...footer.blocks]
  const last = blocks.at(-1)
  let end = last === undefined ? 0 : last.fileOffset + last.compressedBytes
  const add = (codec: string, bytes: number): void => {
    const block: BlockMeta = { id: blocks.length, fileOffset: end, compressedBytes: bytes, uncompressedBytes: bytes, codec }
    blocks.push(block)
    end += bytes
  }
  const stats = extras.tables.size === 0 ? new Uint8Array() : encodeChunkStats(extras.tables)
  if (stats.length > 0) {
    add(STATS_CODEC, stats.length)
    crcs.push(crc32cOf(stats))
  }
  add(CHECKSUM_CODEC, checksumBytes(crcs.length))
  const whole = { ...footer, blocks }
  const encoded = encodeFooterFile(whole)
  const footerCrc = crc32cOf(encoded.subarray(0, encoded.length - TRAILER_BYTES))
  const checksums = encodeChecksums({ footer: footerCrc, blocks: Uint32Array.from(crcs) })
  return { footer: whole, tail: joinBytes([stats, checksums, encoded]) }
}
