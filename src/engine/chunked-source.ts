import type { PlacedAggregate, Reduction } from '../aggregate/reduction.ts'
import type {
  BlockOptions,
  BlockSource,
  BoxRead,
  BulkAccess,
  ChunkFacts,
  ChunkScan,
  NamedValues,
  ReduceBoxOptions,
} from '../array/source.ts'
import { type DType, fillElement, type ScalarOf } from '../core/dtype.ts'
import { HyperslabError, within } from '../core/errors.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import { Pace } from '../core/pace.ts'
import { sizeOf } from '../core/shape.ts'
import { fillTensor, type Tensor, viewTensor } from '../core/tensor.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import type { Transfer } from '../grid/plan.ts'
import { type AxisProjection, countChunks, projectBox, touches } from '../grid/projection.ts'
import type { Box } from '../grid/range.ts'
import { withArena } from '../kernels/arena.ts'
import type { Stored } from './batches.ts'
import type { BlockRef, ChunkAddress } from './block.ts'
import {
  type ChunkIndex,
  type ChunkSnapshot,
  type ChunkWriter,
  type Elements,
  FEW_CHUNKS,
  type StoredChunk,
} from './chunk-index.ts'
import { checkChunkBytes } from './chunk-values.ts'
import type { Find } from './gather.ts'
import { type PlacedChunk, type Placement, placeChunk, placing } from './scatter.ts'

/** Chunks that a plan looks up to count requests. */
const MOST_LOOKUPS = 2 ** 20

/**
 * An array of any chunked format as a source: projects boxes on its chunks, finds them by the format's index,
 * fetches and decodes their blocks, and copies or reduces their elements.
 */
export class ChunkedSource<D extends DType> implements BlockSource<D> {
  readonly dtype: D
  readonly dimensionNames: readonly string[] | undefined
  readonly fillValue: ScalarOf<D> | undefined
  readonly capabilities = { steps: true }
  readonly maxElements: number | undefined
  readonly budget: MemoryBudget | undefined
  readonly attrs: NamedValues | undefined
  readonly label: { readonly file: string; readonly array: string }
  /** Left out where the format's index has no writer. */
  readonly writeBlock?: NonNullable<BlockSource<D>['writeBlock']>
  readonly bulk: BulkAccess<D> = {
    read: (reads, options) => this.#readBoxes(reads, options),
    gather: (transfers, out, options) => this.#gather(transfers, out, options),
    requests: (boxes) => this.#countRequests(boxes),
    statistics: (options) => this.#statistics(options),
    reduce: (box, reduction, take, options) => this.#reduceBox(box, reduction, take, options),
    written: (grid, options) => this.#written(grid, options),
    scan: (scan, options) => this.#scan(scan, options),
  }
  readonly #index: ChunkIndex<D>

  constructor(index: ChunkIndex<D>) {
    this.#index = index
    this.dtype = index.dtype
    this.dimensionNames = index.dimensionNames
    this.fillValue = index.fillValue
    this.attrs = index.attrs
    this.label = index.label
    this.maxElements = index.maxElements
    this.budget = index.budget
    const { writer } = index
    if (writer !== undefined) this.writeBlock = (box, source, options = {}) => this.#write(writer, box, source, options)
  }

  get shape(): readonly number[] {
    return this.chunks.shape
  }

  get chunks(): ChunkGrid {
    return this.#index.grid
  }

  get #elements(): Elements<D> {
    const { dtype, fillValue } = this
    return { dtype, fill: fillElement(dtype, fillValue), hasFill: fillValue !== undefined }
  }

  readBlock(box: Box, out: Tensor<D>, options: BlockOptions = {}): Promise<void> {
    return this.#readBoxes([{ box, out }], options)
  }

  async #readBoxes(reads: readonly BoxRead<D>[], options: BlockOptions = {}): Promise<void> {
    await within(this.label, async () => {
      const blocks = new Map<BlockRef, PlacedChunk<D>[]>()
      const pace = new Pace(options.signal)
      for (const { box, out } of reads) {
        if (pace.due()) await pace.turn()
        const snapshot = this.#snapshot([box])
        if (countChunks(box, snapshot.grid) <= FEW_CHUNKS) this.#locate(snapshot, box, out, blocks)
        else {
          const { locateMany } = await import('./locate-many.ts')
          const add = (found: ChunkAddress, chunk: Placement & { readonly out: Tensor<D> }) => this.#add(found, chunk, blocks)
          await locateMany(snapshot, box, { ...this.#elements, out, add }, options.signal)
        }
      }
      await this.#index.blocks.use(blocks, placing(this.dtype), () => undefined, options.signal)
    })
  }

  async #gather(transfers: readonly Transfer[], out: Tensor<D>, options: BlockOptions = {}): Promise<void> {
    await within(this.label, async () => {
      const { locatePicks, picking } = await import('./gather.ts')
      const snapshot = this.#snapshot(transfers.map(({ box }) => box))
      const find: Find<D> = (...chunk) => this.#find(snapshot, ...chunk)
      const blocks = await locatePicks(transfers, snapshot, { ...this.#elements, out }, find, options.signal)
      await this.#index.blocks.use(blocks, picking(this.dtype), () => undefined, options.signal)
    })
  }

  #countRequests(boxes: readonly Box[]): number {
    const snapshot = this.#snapshot()
    const { grid } = snapshot
    const touched = boxes.map((box) => countChunks(box, grid))
    const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0)
    const { storedCount } = snapshot
    // As many as could be where finding out would take long, since nothing here gives way.
    if (sum(touched.map((count) => (count <= FEW_CHUNKS ? count : storedCount))) > MOST_LOOKUPS)
      return Math.min(sum(touched), storedCount)
    const blocks = new Set<BlockRef>()
    const add = (chunkIndex: number): void => {
      const found = snapshot.locate(chunkIndex)
      if (found !== undefined && !(found instanceof Uint8Array)) blocks.add(found.block)
    }
    for (const [i, box] of boxes.entries()) {
      if (touched[i]! <= FEW_CHUNKS) projectBox(box, grid, (chunk) => add(grid.number(chunk)))
      else {
        // Of a box that touches many chunks it may be that few are stored.
        for (const chunkIndex of snapshot.stored())
          if (grid.index(chunkIndex).every((k, axis) => touches(box[axis]!, grid.axes[axis]!, k))) add(chunkIndex)
      }
    }
    return blocks.size
  }

  async #statistics({ signal }: BlockOptions = {}): Promise<(box: Box) => ChunkFacts | undefined> {
    const { boxStatistics } = await import('./box-statistics.ts')
    const snapshot = this.#snapshot()
    await snapshot.statistics?.load(signal)
    snapshot.checkGrid('searched')
    const elements = this.#elements
    return (box) => {
      snapshot.checkGrid('searched')
      return boxStatistics(snapshot, box, elements)
    }
  }

  async #reduceBox(
    box: Box,
    reduction: Reduction,
    take: (part: PlacedAggregate) => void,
    options: ReduceBoxOptions = {},
  ): Promise<void> {
    await within(this.label, async () => {
      const { reduceChunks } = await import('./reduce-chunks.ts')
      const { fill, hasFill } = this.#elements
      const request = { box, reduction, fill: fill as number | bigint, hasFill }
      await reduceChunks(this.#snapshot([box]), request, this.#index.blocks, take, options)
    })
  }

  async #written(grid: ChunkGrid, { signal }: BlockOptions = {}): Promise<Float64Array | undefined> {
    const snapshot = this.#snapshot()
    return (await import('./written-chunks.ts')).writtenChunks(snapshot, grid, signal)
  }

  async *#scan<R>(scan: ChunkScan<D, R>, options: BlockOptions = {}): AsyncGenerator<R, void, undefined> {
    const snapshot = this.#snapshot()
    const { scanChunks } = await import('./scan-chunks.ts')
    yield* scanChunks(snapshot, this.#elements, this.#index.blocks, scan, options.signal)
  }

  async #write(writer: ChunkWriter, box: Box, source: Tensor<D>, options: BlockOptions): Promise<void> {
    await within(this.label, async () => {
      const { readOnly } = writer
      if (readOnly !== undefined) throw new HyperslabError('ReadOnlyError', readOnly)
      const { writeBox } = await import('./write-box.ts')
      await writer.exclusive(async () => {
        this.#snapshot([box])
        await writeBox(this, box, source, writer, options.signal)
      })
    })
  }

  /**
   * Finds the chunks that a box touches and adds them to `blocks`. Those that need no I/O are placed on the
   * way.
   */
  #locate(snapshot: ChunkSnapshot, box: Box, out: Tensor<D>, blocks: Map<BlockRef, PlacedChunk<D>[]>): void {
    const { grid } = snapshot
    projectBox(box, grid, (chunk, projections) => {
      const placement = { ...placementOf(grid, chunk, projections), out }
      const found = this.#find(snapshot, grid.number(chunk), placement, blocks)
      if (found === undefined) fillTensor(viewTensor(out, placement.outer), this.#elements.fill)
      else if (found instanceof Uint8Array) withArena((arena) => placeChunk(arena, this.dtype, found, placement, out))
    })
  }

  /** Adds a chunk that lies in a block to `blocks`. */
  #find<C extends { readonly chunkShape: readonly number[] }>(
    snapshot: ChunkSnapshot,
    chunkIndex: number,
    chunk: C,
    blocks: Map<BlockRef, (C & Stored)[]>,
  ): StoredChunk | undefined {
    const found = snapshot.locate(chunkIndex)
    if (found !== undefined && !(found instanceof Uint8Array)) this.#add(found, chunk, blocks)
    return found
  }

  #add<C extends { readonly chunkShape: readonly number[] }>(
    found: ChunkAddress,
    chunk: C,
    blocks: Map<BlockRef, (C & Stored)[]>,
  ): void {
    checkChunkBytes(this.dtype, found.size, sizeOf(chunk.chunkShape))
    const stored = { ...chunk, address: found }
    const known = blocks.get(found.block)
    if (known === undefined) blocks.set(found.block, [stored])
    else known.push(stored)
  }

  /**
   * The chunks there are now. Since some boxes were planned, the array may have been made smaller.
   * @throws ConflictError when it was; what the index throws when the array cannot be read
   */
  #snapshot(boxes: readonly Box[] = []): ChunkSnapshot {
    const snapshot = this.#index.snapshot()
    const { shape } = snapshot.grid
    for (const box of boxes) {
      const axis = box.findIndex(({ stop }, axis) => stop > shape[axis]!)
      if (axis < 0) continue
      const text = `axis ${axis} was cut to ${shape[axis]} while elements up to ${box[axis]!.stop} were being asked for`
      throw new HyperslabError('ConflictError', text, { axis, actual: box[axis]!.stop, expected: shape[axis] })
    }
    return snapshot
  }
}

function placementOf(grid: ChunkGrid, chunk: readonly number[], projections: readonly AxisProjection[]): Placement {
  return {
    chunkShape: grid.shapeOf(chunk),
    inner: projections.map(({ inner }) => inner),
    outer: projections.map(({ outer }) => outer),
  }
}
