import type { PlacedAggregate, Reduction } from '../aggregate/reduction.ts'
import type { Missing } from '../array/missing.ts'
import {
  type BlockOptions,
  type BlockReadOptions,
  type BlockSource,
  type BoxRead,
  type BulkAccess,
  type NamedValues,
  type Origins,
  type PartVisitor,
  type ReduceBoxOptions,
  type ScalarReads,
  scalarReadsOf,
} from '../array/source.ts'
import type { AxisIndices } from '../core/axis-indices.ts'
import { type DType, fillElement, isFixed, type ScalarOf } from '../core/dtype.ts'
import { HyperslabError, within } from '../core/errors.ts'
import { lazily } from '../core/lazily.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import { Pace } from '../core/pace.ts'
import type { Signal } from '../core/signal.ts'
import type { Tensor } from '../core/tensor.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import type { ListProjector } from '../grid/list-projection.ts'
import { type AxisProjection, countChunks, eachChunk, projectBox, toChunkCopy } from '../grid/projection.ts'
import type { Box } from '../grid/range.ts'
import { type ChunkIndex, type ChunkSnapshot, type Elements, FEW_CHUNKS } from './chunk-index.ts'
import { Scatter } from './scatter.ts'
import type { RegionBox } from './visit-chunks.ts'

const values = lazily(() => import('./chunk-values.ts'))
const listed = lazily(() => import('./lists.ts'))
const reducing = lazily(() => import('./reduce-chunks.ts'))
const visiting = lazily(() => import('./visit-chunks.ts'))

/** A box that is read to a tensor of its shape, or a transfer with lists or points. */
type Region<D extends DType> = BoxRead<D> & RegionBox

/**
 * Array of any chunked format as a source. Projects boxes on its chunks, locates these by the format's index,
 * has their blocks fetched and decoded, and copies or reduces their elements.
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
  readonly origins: Origins | undefined
  readonly scalarReads: ScalarReads | undefined
  /** Optional: read-only formats omit it. */
  readonly writeBlock?: NonNullable<BlockSource<D>['writeBlock']>
  /** Optional: formats that write chunk by chunk omit it. */
  readonly writeMasked?: NonNullable<BlockSource<D>['writeMasked']>
  readonly bulk: BulkAccess<D> = {
    read: (reads, options) => this.#read(reads, options),
    gather: (transfers, out, options) =>
      this.#read(
        transfers.map((transfer) => ({ box: transfer.box, out, transfer })),
        options,
      ),
    requests: (boxes) => this.#countRequests(boxes),
    reduce: (box, reduction, take, options) => this.#reduceBox(box, reduction, take, options),
    written: (grid, options) => this.#written(grid, options),
    visit: (box, visitor, options) => this.#visit(box, visitor, options),
  }
  readonly #index: ChunkIndex<D>

  constructor(index: ChunkIndex<D>) {
    this.#index = index
    this.dtype = index.dtype
    this.dimensionNames = index.dimensionNames
    this.fillValue = index.fillValue
    this.attrs = index.attrs
    this.label = index.label
    this.origins = index.origins
    this.maxElements = index.maxElements
    this.budget = index.budget
    this.scalarReads = scalarReadsOf(index.scalar, index.grid.shape)
    if (index.writer || index.writeBox) this.writeBlock = (box, source, options) => this.#write(box, source, options)
    if (index.writeBox) this.writeMasked = (box, source, mask, options) => this.#write(box, source, options, mask)
  }

  get missing(): Missing<D> | undefined {
    return this.#index.missing
  }

  get shape(): readonly number[] {
    return this.chunks.shape
  }

  get chunks(): ChunkGrid {
    return this.#index.grid
  }

  get writeGrid(): ChunkGrid | undefined {
    return this.#index.writeGrid
  }

  get #elements(): Elements<D> {
    const { dtype, fillValue } = this
    return { dtype, fill: fillElement(dtype, fillValue), hasFill: fillValue !== undefined }
  }

  readBlock(box: Box, out: Tensor<D>, options: BlockReadOptions = {}): Promise<void> {
    return this.#read([{ box, out }], options)
  }

  /**
   * Reads elements; all reads pass through here. Projects regions on chunks, locates these, and has them
   * fetched, decoded and scattered.
   */
  async #read(regions: readonly Region<D>[], { signal, onAbsent }: BlockReadOptions = {}): Promise<void> {
    await this.#run(signal, async () => {
      const lists = regions.some(({ transfer }) => transfer !== undefined) ? await listed() : undefined
      const projector = lists && new lists.ListProjector()
      const variable = isFixed(this.dtype) ? undefined : await values()
      const scatter = new Scatter(this.#elements, lists, variable?.decodeChunk)
      const pace = new Pace(signal)
      const loaded = this.#index.load && (await this.#load(regions, projector, signal))
      for (const { box, out, transfer } of regions) {
        if (pace.due()) await pace.turn()
        const snapshot = loaded ?? this.#snapshot([box])
        const { grid } = snapshot
        const add = (chunkIndex: number, projections: readonly AxisProjection<AxisIndices>[]): void =>
          scatter.add(toChunkCopy(projections, out), snapshot.locate(chunkIndex))
        const listed = transfer && projector!.project(transfer, grid)
        if ((listed?.count ?? countChunks(box, grid)) > FEW_CHUNKS) {
          const { locateMany } = await visiting()
          await locateMany(snapshot, listed ?? { axes: box, counts: grid.counts }, out, scatter, signal)
        } else if (listed === undefined) projectBox(box, grid, add)
        else eachChunk(listed.axes, listed.counts, add)
      }
      const { blocks, strided } = this.#index
      if (scatter.blocks.size > 0) await blocks!.use(scatter.blocks, scatter, () => undefined, signal)
      if (scatter.strided.length > 0) await strided!.copy(scatter.strided, scatter, lists !== undefined, signal)
      onAbsent?.(scatter.countAbsent())
    })
  }

  async #countRequests(boxes: readonly Box[]): Promise<number | undefined> {
    const snapshot = this.#snapshot()
    if (this.#index.load !== undefined) return undefined
    return (await visiting()).countRequests(snapshot, boxes, this.#index.strided)
  }

  async #reduceBox(
    box: Box,
    reduction: Reduction,
    take: (part: PlacedAggregate) => void,
    options: ReduceBoxOptions = {},
  ): Promise<void> {
    await this.#run(options.signal, async () => {
      const { reduceChunks } = await reducing()
      const { fill, hasFill } = this.#elements
      const request = { box, reduction, fill: fill as number | bigint, hasFill }
      await this.#located(box, options.signal, (chunks) => reduceChunks(chunks, request, this.#index, take, options))
    })
  }

  async #written(grid: ChunkGrid, { signal }: BlockOptions = {}): Promise<Float64Array | undefined> {
    return this.#run(signal, async () => (await import('./written-chunks.ts')).writtenChunks(this.#snapshot(), grid, signal))
  }

  async *#visit<R>(box: Box, visitor: PartVisitor<D, R>, { signal }: BlockOptions = {}): AsyncGenerator<R, void, undefined> {
    const settle = this.#index.begin?.()
    const results = await this.#located(box, signal, async (chunks) =>
      (await import('./visit-box.ts')).visitBox(chunks, box, this.#elements, this.#index, visitor, signal),
    )
    if (settle === undefined) yield* results
    else
      for await (const result of results) {
        await settle(signal)
        yield result
      }
    await settle?.(signal)
  }

  /** Runs work on the array, then confirms the absences that it met. */
  #run<T>(signal: Signal | undefined, work: () => Promise<T>): Promise<T> {
    return within(this.label, async () => {
      const settle = this.#index.begin?.()
      const result = await work()
      await settle?.(signal)
      return result
    })
  }

  #write(box: Box, source: Tensor<D>, { signal }: BlockOptions = {}, mask?: Tensor<'bool'>): Promise<void> {
    return within(this.label, async () => {
      const { writeTo } = await import('./write-box.ts')
      await writeTo(this, this.#index, () => this.#snapshot([box]), box, source, signal, mask)
    })
  }

  /**
   * Passes the current chunks to `use`, synchronously if nothing has to be loaded to locate those of a box.
   */
  #located<T>(box: Box, signal: Signal | undefined, use: (chunks: ChunkSnapshot) => Promise<T>): Promise<T> {
    return this.#index.load ? this.#load([{ box }], undefined, signal).then(use) : use(this.#snapshot([box]))
  }

  /** Returns the current chunks, with what is needed to locate those of some regions. */
  async #load(
    regions: readonly RegionBox[],
    projector: ListProjector | undefined,
    signal: Signal | undefined,
  ): Promise<ChunkSnapshot> {
    const { grid } = this.#snapshot(regions.map(({ box }) => box))
    return this.#index.load!((await visiting()).touchedChunks(grid, regions, projector), signal)
  }

  /**
   * Returns the current chunks.
   * @throws ConflictError if the array was cut after the boxes were planned; any error of the index if the
   *   array cannot be read
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
