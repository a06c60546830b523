import { decodeWith, inKernel } from '../../codec/codec.ts'
import { lz4 } from '../../codec/lz4.ts'
import { isFixed } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { showShape, sizeOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import { type BlockRef, type ChunkBytes, chunkView } from '../../engine/block.ts'
import { decodeChunk } from '../../engine/chunk-values.ts'
import { checkCrc } from '../../engine/integrity.ts'
import type { SegmentChecksums } from '../../engine/segment-checksums.ts'
import type { BlockSegments } from '../../engine/segments.ts'
import { type Arena, withArena } from '../../kernels/arena.ts'
import { crc32c } from '../../kernels/crc32c.ts'
import type { ChunkStatsTable } from '../format/chunk-stats-table.ts'
import { dtypeOf, isNested } from '../format/definition.ts'
import { isExtensionBlock, isUnknownExtension, UNKNOWN_EXTENSION } from '../format/extension-blocks.ts'
import type { ArrayMeta } from '../format/footer.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { measuredStats } from '../layers/chunk-stats.ts'
import type { Layer } from '../layers/layer.ts'
import type { WorkingCopyOptions } from '../write/container-files.ts'
import type { Report } from './report.ts'
import { checkChunkStats, type LiveArrays } from './statistics.ts'

export interface LayerContext {
  /** The arrays that exist, by name. */
  readonly live: LiveArrays
  readonly settings: Pick<WorkingCopyOptions, 'codecs' | 'limits'>
  readonly report: Report
  /** Whether to compare statistics with elements. */
  readonly deep: boolean
  readonly onBlock: () => void
  readonly signal?: Signal | undefined
}

/** An array in one layer. */
export interface VerifiedArray {
  readonly meta: ArrayMeta
  /** Has the grid of this layer. */
  readonly state: ArrayState
  /** Index in the footer. */
  readonly index: number
}

/** Statistics and tables that a layer stores about its chunks and blocks. */
export interface LayerExtensions {
  readonly tables: ReadonlyMap<number, ChunkStatsTable>
  readonly segments: ReadonlyMap<BlockRef, BlockSegments>
  readonly checksums: ReadonlyMap<BlockRef, SegmentChecksums>
}

/** Rows of chunk tables, by array. */
export type Rows = Map<VerifiedArray, number[]>

/** Whether chunks have numbers. If not, the check of the footer has reported the reason. */
export const hasGrid = ({ shape, chunkShape }: Pick<ArrayMeta, 'shape' | 'chunkShape'>): boolean =>
  Number.isSafeInteger(sizeOf(shape)) &&
  shape.length === chunkShape.length &&
  shape.every((length, axis) => length === 0 || chunkShape[axis]! > 0)

export const chunkCoords = ({ chunks: { coords, rank } }: ArrayMeta, row: number): number[] => [
  ...coords.subarray(row * rank, (row + 1) * rank),
]

/** Counts a block as checked. */
export function countBlock({ crc, compressedBytes }: BlockRef, { checked }: Report): void {
  checked.blocks++
  checked.bytes += compressedBytes
  if (crc === undefined) checked.blocksWithoutChecksum++
}

/** Most array names in one line. */
const SHOWN_NAMES = 5

/** Check of one block and of the chunks in it. */
export class BlockCheck {
  readonly #layer: Layer
  readonly #block: BlockRef
  readonly #rows: Rows
  readonly #extensions: LayerExtensions
  readonly #context: LayerContext

  constructor(layer: Layer, block: BlockRef, rows: Rows, extensions: LayerExtensions, context: LayerContext) {
    this.#layer = layer
    this.#block = block
    this.#rows = rows
    this.#extensions = extensions
    this.#context = context
  }

  async run(stored: Uint8Array): Promise<void> {
    const { report } = this.#context
    countBlock(this.#block, report)
    this.#checkOverlaps()
    try {
      if (this.#block.crc !== undefined) checkCrc('the bytes as stored', stored, this.#block.crc)
      if (isUnknownExtension(this.#block)) report.warn(this.#place(), `'${this.#block.codec}' ${UNKNOWN_EXTENSION}`)
      if (!isExtensionBlock(this.#block)) await this.#decode(stored)
    } catch (error) {
      // The chunks of these arrays could not be checked.
      for (const { meta } of this.#rows.keys()) this.#context.live.get(meta.name)?.spoil()
      report.take(this.#place(), error, this.#rows.size < 2 ? '' : `; in it: ${this.#names()}`)
    }
  }

  #names(): string {
    const names = [...this.#rows.keys()].map(({ meta }) => `'${meta.name}'`)
    return names.length > SHOWN_NAMES
      ? `${names.slice(0, SHOWN_NAMES).join(', ')} and ${names.length - SHOWN_NAMES} more`
      : names.join(', ')
  }

  /** Returns the place of a finding. It names an array if the whole block belongs to that array. */
  #place(array?: VerifiedArray): { file: string; block: number; array?: string } {
    const only = array ?? (this.#rows.size === 1 ? [...this.#rows.keys()][0] : undefined)
    return { file: this.#layer.file, block: this.#block.id, ...(only === undefined ? {} : { array: only.meta.name }) }
  }

  async #decode(stored: Uint8Array): Promise<void> {
    const { codecs } = this.#context.settings
    const { codec: name, uncompressedBytes } = this.#block
    const codec = codecs.find(name)
    if (!inKernel(codec)) {
      const decoded = await decodeWith(codec, stored, uncompressedBytes)
      this.#checkChunks((offset, size) => decoded.subarray(offset, offset + size))
      return
    }
    if (name === 'lz4') checkPrefix(stored, uncompressedBytes)
    if (name === 'none') this.#checkSegmentChecksums(stored)
    withArena((arena) => {
      const pointer = codec.decodeIn(arena, arena.put(stored), stored.length, uncompressedBytes)
      if (name === 'lz4') this.#checkSegments(stored, pointer)
      this.#checkChunks((offset, size) => ({ pointer: pointer + offset, size }))
    })
  }

  #checkOverlaps(): void {
    const spans = [...this.#rows].flatMap(([array, rows]) => rows.map((row) => ({ array, row, ...chunkSpan(array, row) })))
    spans.sort((a, b) => a.offset - b.offset)
    let end = 0
    for (const { array, row, offset, size } of spans) {
      if (offset < end && size > 0) {
        const text = `chunk ${showShape(chunkCoords(array.meta, row))} begins at byte ${offset}, where another one has not ended`
        this.#context.report.error(this.#place(array), text)
      }
      end = Math.max(end, offset + size)
    }
  }

  #checkChunks(bytesOf: (offset: number, size: number) => ChunkBytes): void {
    for (const [array, rows] of this.#rows) {
      for (const row of rows) {
        const { offset, size } = chunkSpan(array, row)
        // Reported with the footer.
        if (offset + size > this.#block.uncompressedBytes) continue
        this.#context.report.checked.chunks++
        try {
          withArena((inner) => this.#checkChunk(inner, array, row, bytesOf(offset, size)))
        } catch (error) {
          this.#context.live.get(array.meta.name)?.spoil()
          this.#context.report.take(this.#place(array), prefixed(array, row, error))
        }
      }
    }
  }

  /** Compares the segments of a block with the whole block, which was decoded to `pointer`. */
  #checkSegments(stored: Uint8Array, pointer: number): void {
    for (const ref of this.#extensions.segments.get(this.#block)?.refs ?? []) {
      const { number, start, standalone } = ref.part
      const at = ref.fileOffset - this.#block.fileOffset
      const bytes = stored.subarray(at, at + ref.compressedBytes)
      try {
        checkCrc(`segment ${number} as stored`, bytes, ref.crc)
        if (this.#context.deep) checkAlone(standalone(bytes), pointer + start, ref.uncompressedBytes)
      } catch (error) {
        this.#context.report.take(this.#place(), error)
      }
    }
  }

  #checkSegmentChecksums(stored: Uint8Array): void {
    const checksums = this.#extensions.checksums.get(this.#block)
    for (let number = 0; number < (checksums?.count ?? 0); number++) {
      const { range, crc } = checksums!.at(number)
      const start = range.offset - this.#block.fileOffset
      try {
        checkCrc(`segment ${number} as stored`, stored.subarray(start, start + range.length), crc)
      } catch (error) {
        this.#context.report.take(this.#place(), error)
      }
    }
  }

  #checkChunk(arena: Arena, array: VerifiedArray, row: number, bytes: ChunkBytes): void {
    const { state, meta, index } = array
    if (isNested(state.definition)) return
    const coord = chunkCoords(meta, row)
    const dtype = dtypeOf(state.definition)
    const { deep, report, live } = this.#context
    if (!deep) {
      if (!isFixed(dtype)) decodeChunk(dtype, chunkView(arena, bytes), sizeOf(state.grid.shapeOf(coord)))
      return
    }
    const number = state.grid.chunkIndex(coord)
    const measured = measuredStats(arena, state, number, bytes)
    live.get(meta.name)?.take(coord, { block: this.#block, ...chunkSpan(array, row) }, measured)
    const table = this.#extensions.tables.get(index)
    if (table === undefined) return
    report.checked.chunkStatistics++
    checkChunkStats(table, row, dtype, measured)
  }
}

const chunkSpan = ({ meta: { chunks } }: VerifiedArray, row: number): { offset: number; size: number } => ({
  offset: chunks.offsets[row]!,
  size: chunks.sizes[row]!,
})

/** @throws CodecError, IntegrityError if a segment does not decode to the bytes at `pointer` */
function checkAlone(block: Uint8Array, pointer: number, size: number): void {
  withArena((arena) => {
    const [actual, expected] = [lz4.decodeIn(arena, arena.put(block), block.length, size), pointer].map((at) =>
      crc32c(arena, at, size),
    )
    if (actual === expected) return
    throw new HyperslabError('IntegrityError', 'a segment decodes to other bytes by itself than in its block', {
      actual,
      expected,
    })
  })
}

/** Checks the size in front of an LZ4 block, because other readers rely on it. */
function checkPrefix(stored: Uint8Array, uncompressedBytes: number): void {
  if (stored.length < 4) return
  const prefix = new DataView(stored.buffer, stored.byteOffset).getUint32(0, true)
  if (prefix === uncompressedBytes) return
  const text = `the size in front of the LZ4 block is ${prefix}, the table of blocks has ${uncompressedBytes}: readers differ in which they believe`
  throw new HyperslabError('FormatError', text, { actual: prefix, expected: uncompressedBytes })
}

function prefixed({ meta }: VerifiedArray, row: number, error: unknown): unknown {
  if (!(error instanceof HyperslabError)) return error
  return new HyperslabError(error.tag, `chunk ${showShape(chunkCoords(meta, row))}: ${error.message}`, error.details)
}
