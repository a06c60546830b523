import type { Segment } from '../../codec/lz4-segments.ts'
import { joinBytes } from '../../core/bytes.ts'
import type { CheckedSegment } from '../../engine/segment-checksums.ts'
import { crc32cOf } from '../../kernels/crc32c.ts'
import { type ChunkStatsTable, encodeChunkStats } from '../format/chunk-stats-table.ts'
import { encodeChecksums, encodeFooter, encodeFooterFile } from '../format/encode.ts'
import {
  CHECKSUM_CODEC,
  checksumBytes,
  SEGMENT_CHECKSUMS_CODEC,
  SEGMENTS_CODEC,
  STATS_CODEC,
} from '../format/extension-blocks.ts'
import type { BlockMeta, Footer } from '../format/footer.ts'
import { TRAILER_BYTES } from '../format/footer-trailer.ts'
import { encodeSegmentChecksums, encodeSegmentTable } from '../format/segment-tables.ts'

export interface BuiltFooter {
  readonly footer: Footer
  /** Bytes after the blocks of chunks. */
  readonly tail: Uint8Array
  readonly footerBytes: number
  /** CRC-32C of its blocks, in order, as far as the file stores them. */
  readonly crcs: readonly number[]
}

/** Data of a layer beside its blocks, for readers of this package. */
export interface ExtensionContents {
  /** Statistics of chunks. */
  readonly tables: ReadonlyMap<number, ChunkStatsTable>
  /** Segments by the id of their block. */
  readonly segments: ReadonlyMap<number, readonly Segment[]>
  /** Segments of uncompressed blocks, by id. */
  readonly checkedSegments: ReadonlyMap<number, readonly CheckedSegment[]>
  /** Checksums of the blocks, in order. */
  readonly crcs: readonly number[]
}

/** Writer of one version of the footer. */
export interface SealedVersion {
  /** Writes the payload. */
  readonly encode: (footer: Footer) => Uint8Array
  /** Size of a block that exists only for its name, in bytes. */
  readonly markBytes: number
}

/** Version 5, in which blocks may be empty. */
const VERSION_5: SealedVersion = { encode: encodeFooter, markBytes: 0 }

/**
 * @param marks codec names of blocks without data, which describe the file as a whole
 * @param version of the footer. Default: 5
 */
export function buildFooter(
  footer: Footer,
  extensions: ExtensionContents | undefined,
  marks: readonly string[],
  { encode, markBytes }: SealedVersion = VERSION_5,
): BuiltFooter {
  const crcs = [...(extensions?.crcs ?? [])]
  const blocks = [...footer.blocks]
  const last = blocks.at(-1)
  let end = last === undefined ? 0 : last.fileOffset + last.compressedBytes
  const add = (codec: string, bytes: number): void => {
    const block: BlockMeta = { id: blocks.length, fileOffset: end, compressedBytes: bytes, uncompressedBytes: bytes, codec }
    blocks.push(block)
    end += bytes
  }
  const parts: Uint8Array[] = []
  const put = (codec: string, bytes: Uint8Array): void => {
    add(codec, bytes.length)
    crcs.push(crc32cOf(bytes))
    parts.push(bytes)
  }
  for (const mark of marks) put(mark, new Uint8Array(markBytes))
  if (extensions === undefined) {
    const marked = { ...footer, blocks }
    const encoded = encodeFooterFile(marked, encode)
    return { footer: marked, tail: joinBytes([...parts, encoded]), footerBytes: encoded.length - TRAILER_BYTES, crcs: [] }
  }
  if (extensions.tables.size > 0) put(STATS_CODEC, encodeChunkStats(extensions.tables))
  if (extensions.segments.size > 0) put(SEGMENTS_CODEC, encodeSegmentTable(extensions.segments))
  if (extensions.checkedSegments.size > 0) put(SEGMENT_CHECKSUMS_CODEC, encodeSegmentChecksums(extensions.checkedSegments))
  add(CHECKSUM_CODEC, checksumBytes(crcs.length))
  const whole = { ...footer, blocks }
  const encoded = encodeFooterFile(whole, encode)
  const footerBytes = encoded.length - TRAILER_BYTES
  const footerCrc = crc32cOf(encoded.subarray(0, footerBytes))
  const checksums = encodeChecksums({ footer: footerCrc, blocks: Uint32Array.from(crcs) })
  return { footer: whole, tail: joinBytes([...parts, checksums, encoded]), footerBytes, crcs }
}
