import { batched } from '../../core/batched.ts'
import { elementBytes, isFixed } from '../../core/dtype.ts'
import { inOrder } from '../../core/in-order.ts'
import { showShape, sizeOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import { storedRange } from '../../engine/batches.ts'
import type { BlockRef } from '../../engine/block.ts'
import { checkCrc } from '../../engine/integrity.ts'
import type { SegmentChecksums } from '../../engine/segment-checksums.ts'
import type { BlockSegments } from '../../engine/segments.ts'
import { type ChunkStatsTable, decodeChunkStats } from '../format/chunk-stats-table.ts'
import { dtypeOf, isNested } from '../format/definition.ts'
import {
  CHECKSUM_CODEC,
  isExtensionBlock,
  SEGMENT_CHECKSUMS_CODEC,
  SEGMENTS_CODEC,
  STATS_CODEC,
} from '../format/extension-blocks.ts'
import { isIdentity } from '../format/identity.ts'
import { decodeSegmentChecksums, decodeSegmentTable } from '../format/segment-tables.ts'
import { ArrayState } from '../layers/array-state.ts'
import type { Layer } from '../layers/layer.ts'
import { BlockCheck, chunkCoords, countBlock, hasGrid, type LayerContext, type Rows, type VerifiedArray } from './block.ts'
import type { Report } from './report.ts'

/** Limits of the blocks that are read at once, by count and bytes. Larger blocks are read alone. */
const CONCURRENT_BLOCKS = 4
const MAX_BYTES = 128 * 1024 * 1024
/** Bytes of adjacent blocks that are read at once, if the store combines them into fewer requests. */
const BATCH_BYTES = 8 * 1024 * 1024

/** Returns the blocks of a layer except its checksums and its identity, which are read with the footer. */
export const blocksToRead = (layer: Layer): BlockRef[] =>
  [...layer.blocks.values()].filter(({ codec }) => codec !== CHECKSUM_CODEC && !isIdentity(codec))

/** Checks one layer: its tables, then all its blocks. Reads each block once. */
export async function verifyLayer(layer: Layer, context: LayerContext): Promise<void> {
  const chunks = chunksByBlock(layer, context.report)
  let tables: ReadonlyMap<number, ChunkStatsTable> = new Map()
  let segments: ReadonlyMap<BlockRef, BlockSegments> = new Map()
  let checksums: ReadonlyMap<BlockRef, SegmentChecksums> = new Map()
  const work = async (batch: readonly BlockRef[]): Promise<void> => {
    context.signal?.throwIfAborted()
    const stored = await readBatch(layer, batch, context.signal)
    for (const [i, block] of batch.entries()) {
      const bytes = stored[i]!
      const extra = <T>(what: string, decode: () => T): T | undefined =>
        readExtra(layer, block, what, bytes, context.report, decode)
      if (block.codec === STATS_CODEC)
        tables = extra('the statistics of chunks', () => decodeChunkStats(bytes, layer.footer.arrays)) ?? new Map()
      else if (block.codec === SEGMENTS_CODEC)
        segments = extra('the table of segments', () => decodeSegmentTable(bytes, layer.blocks)) ?? new Map()
      else if (block.codec === SEGMENT_CHECKSUMS_CODEC)
        checksums = extra('the checksums of segments', () => decodeSegmentChecksums(bytes, layer.blocks)) ?? new Map()
      else {
        const extensions = { tables, segments, checksums }
        await new BlockCheck(layer, block, chunks.get(block) ?? new Map(), extensions, context).run(bytes)
      }
      context.onBlock()
    }
  }
  const readable = blocksToRead(layer).filter((block) => isReadable(layer, block, context))
  readable.sort((a, b) => a.fileOffset - b.fileOffset)
  const storedBytes = ({ compressedBytes }: BlockRef): number => (layer.readMany === undefined ? Infinity : compressedBytes)
  const bytesOf = (batch: readonly BlockRef[]): number => batch.reduce((sum, block) => sum + block.uncompressedBytes, 0)
  // Statistics and segments come first, because the other blocks are compared with them.
  for (const group of [readable.filter(isExtensionBlock), readable.filter((block) => !isExtensionBlock(block))]) {
    const batches = batched(group, BATCH_BYTES, storedBytes)
    await inOrder(batches, { count: CONCURRENT_BLOCKS, bytes: MAX_BYTES, bytesOf }, work, () => undefined)
  }
}

/**
 * Whether the block lies in the file and fits in memory. The check of the footer has reported blocks outside
 * the file.
 */
function isReadable(layer: Layer, block: BlockRef, { settings: { limits }, report, onBlock }: LayerContext): boolean {
  const { id, fileOffset, compressedBytes, uncompressedBytes } = block
  const inFile = fileOffset + compressedBytes <= layer.info.size
  const small = Math.max(compressedBytes, uncompressedBytes) <= limits.blockBytes
  if (inFile && small) return true
  if (!small) {
    const text = `${compressedBytes} bytes that decode to ${uncompressedBytes} are more than \`limits.blockBytes\`, ${limits.blockBytes}`
    report.error({ file: layer.file, block: id }, text)
  }
  onBlock()
  return false
}

async function readBatch(layer: Layer, batch: readonly BlockRef[], signal: Signal | undefined): Promise<Uint8Array[]> {
  const ranges = batch.map(storedRange)
  if (layer.readMany !== undefined) return layer.readMany(ranges, signal)
  const [{ offset, length }] = ranges as [(typeof ranges)[0]]
  return [await layer.read(offset, length, signal)]
}

/**
 * Reports blocks that share an id (only the first is ever read), blocks that overlap, and bytes that belong
 * to no block.
 * @param dataBytes number of bytes in front of the footer
 */
export function checkBlocks({ file, footer, blocks }: Layer, dataBytes: number, report: Report): void {
  if (blocks.size < footer.blocks.length)
    report.error({ file }, `${footer.blocks.length} blocks, but ${blocks.size} different ids: some are never read`)
  let end = 0
  let unused = 0
  const inFile = footer.blocks.filter(({ fileOffset, compressedBytes }) => fileOffset + compressedBytes <= dataBytes)
  for (const { id, fileOffset, compressedBytes } of inFile.sort((a, b) => a.fileOffset - b.fileOffset)) {
    if (fileOffset < end)
      report.error({ file, block: id }, `begins at byte ${fileOffset}, before the block in front of it ends, at ${end}`)
    unused += Math.max(0, fileOffset - end)
    end = Math.max(end, fileOffset + compressedBytes)
  }
  unused += Math.max(0, dataBytes - end)
  if (unused > 0) report.warn({ file }, `${unused} bytes belong to no block`)
}

/** Returns the chunks to check in each block. Reports the chunks whose addresses are invalid. */
function chunksByBlock(layer: Layer, report: Report): Map<BlockRef, Rows> {
  const { file, footer, arrays, blocks } = layer
  const chunks = new Map<BlockRef, Rows>()
  // A tombstone and the array that replaces it share a name.
  if (arrays.size + (layer.identity.redefined?.length ?? 0) < footer.arrays.length)
    report.error({ file }, `${footer.arrays.length} arrays, but ${arrays.size} different names: some are never read`)
  for (const [index, meta] of footer.arrays.entries()) {
    if (meta.deleted || arrays.get(meta.name) !== meta || !hasGrid(meta)) continue
    const array = { meta, state: new ArrayState(meta), index }
    for (const row of rowsIn(array, file, report)) {
      const block = blocks.get(meta.chunks.blockIds[row]!)
      if (block === undefined) continue
      const rows = chunks.get(block) ?? new Map<VerifiedArray, number[]>()
      chunks.set(block, rows)
      const list = rows.get(array)
      if (list === undefined) rows.set(array, [row])
      else list.push(row)
    }
  }
  return chunks
}

/** Yields the rows of a chunk table that lie in the grid and have the size of their elements. */
function* rowsIn({ meta, state }: VerifiedArray, file: string, report: Report): Generator<number> {
  const { chunks, name } = meta
  const { grid, definition } = state
  const dtype = isNested(definition) ? undefined : dtypeOf(definition)
  const place = { file, array: name }
  const seen = new Set<number>()
  let outside = 0
  for (let row = 0; row < chunks.length; row++) {
    const coord = chunkCoords(meta, row)
    if (coord.some((k, axis) => k >= grid.counts[axis]!)) {
      outside++
      continue
    }
    const number = grid.chunkIndex(coord)
    if (seen.has(number)) report.error(place, `chunk ${showShape(coord)} is listed twice; readers take the first`)
    seen.add(number)
    if (dtype !== undefined && isFixed(dtype)) {
      const expected = sizeOf(grid.shapeOf(coord)) * elementBytes(dtype)
      if (chunks.sizes[row] !== expected) {
        report.error(place, `chunk ${showShape(coord)} has ${chunks.sizes[row]} bytes, its elements take ${expected}`)
        continue
      }
    }
    yield row
  }
  if (outside > 0) report.warn(place, `${outside} chunks lie outside its ${showShape(grid.counts)} chunks: nothing reads them`)
}

/** Returns the contents of an extension block. Reports damage. */
function readExtra<T>(
  { file }: Layer,
  block: BlockRef,
  what: string,
  stored: Uint8Array,
  report: Report,
  decode: () => T,
): T | undefined {
  countBlock(block, report)
  try {
    if (block.crc !== undefined) checkCrc(what, stored, block.crc)
    return decode()
  } catch (error) {
    report.take({ file, block: block.id }, error)
    return undefined
  }
}
