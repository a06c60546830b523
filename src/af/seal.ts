import { joinBytes } from '../core/bytes.js'
import { crc32cOf } from '../kernels/crc32c.js'
import { checksumBytes, encodeChecksums } from './checksums.js'
import { type ChunkStatsTable, encodeChunkStats } from './chunk-stats-table.js'
import { CHECKSUM_CODEC, RESIZED_CODEC, STATS_CODEC } from './extras.js'
import { type BlockMeta, encodeFooterFile, type Footer } from './footer.js'
import { TRAILER_BYTES } from './footer-trailer.js'

export interface Sealed {
  readonly footer: Footer
  /** What follows the blocks with chunks. */
  readonly tail: Uint8Array
}

/** @param extras what a footer gets in front: the mark, statistics of chunks and checksums */
export function seal(
  footer: Footer,
  extras: { tables: ReadonlyMap<number, ChunkStatsTable>; crcs: readonly number[] } | undefined,
  resized: boolean,
): Sealed {
  const crcs = [...(extras?.crcs ?? [])]
  const blocks = [...footer.blocks]
  const last = blocks.at(-1)
  let end = last === undefined ? 0 : last.fileOffset + last.compressedBytes
  const add = (codec: string, bytes: number): void => {
    const block: BlockMeta = { id: blocks.length, fileOffset: end, compressedBytes: bytes, uncompressedBytes: bytes, codec }
    blocks.push(block)
    end += bytes
  }
  if (resized) {
    add(RESIZED_CODEC, 0)
    crcs.push(crc32cOf(new Uint8Array()))
  }
  if (extras === undefined) {
    const marked = { ...footer, blocks }
    return { footer: marked, tail: encodeFooterFile(marked) }
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
