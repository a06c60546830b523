import type { PlacedPart, Reduction } from '../array/reductions/parts.js'
import type { BlockOptions, BlockSource, BoxRead, ChunkScan, ReduceBoxOptions } from '../array/source.js'
import { type DType, fillElement, type ScalarOf } from '../core/dtype.js'
import { HyperslabError, within } from '../core/errors.js'
import type { MemoryBudget } from '../core/memory-budget.js'
import { Pace } from '../core/pace.js'
import { sizeOf } from '../core/shape.js'
import { fillTensor, type Tensor, viewTensor } from '../core/tensor.js'
import type { ChunkGrid } from '../grid/chunks.js'
import type { Transfer } from '../grid/plan.js'
import { type AxisProjection, countChunks, projectBox, touches } from '../grid/projection.js'
import type { Box } from '../grid/range.js'
import { withArena } from '../kernels/arena.js'
import type { ArrayState } from './array-state.js'
import { type AttributeMap, Attributes } from './attributes.js'
import type { Stored } from './batches.js'
import type { BlockRef, ChunkAddress } from './block.js'
import type { BlockReader } from './block-reader.js'
import { FEW_CHUNKS } from './chunk-index.js'
import { dtypeOf, fillOf } from './definition.js'
import { type PlacedChunk, type Placement, placeChunk, placing } from './place.js'
import { checkChunkBytes } from './values.js'

/** What an array needs of the container it lies in. */
export interface Container {
  readonly label: string
  readonly blocks: BlockReader
  /** As of `Limits.elements`. */
  readonly maxElements: number
  readonly budget: MemoryBudget | undefined
  /** @throws ClosedError after it was closed */
  checkOpen(): void
  /** Why the container takes no writes; undefined when it does. */
  readonly readOnly: string | undefined
  /** Stores a chunk in the layer being written; `whole` when every element of it was given. */
  writeChunk(state: ArrayState, number: number, bytes: Uint8Array, options: { readonly whole: boolean }): Promise<void>
  /** Gives an array the shape that `shapeOf` makes of the one it has then. */
  resize(state: ArrayState, shapeOf: (shape: readonly number[]) => readonly number[]): Promise<void>
  /** Runs writes one after another, so that two of them never build on the same old chunk. */
  exclusive<T>(work: () => Promise<T>): Promise<T>
}

/** An array of a container as a source, of which elements equal to the fill value are missing: projects boxes on its chunks, finds them, fetches and decodes their blocks, places them. */
export class ContainerSource<D extends DType> implements BlockSource<D> {
  readonly dtype: D
  readonly dimensionNames: readonly string[]
  readonly fillValue: ScalarOf<D> | undefined
  readonly capabilities = { steps: true }
  readonly maxElements: number
  readonly budget: MemoryBudget | undefined
  readonly attrs: Attributes
  readonly label: { readonly file: string; readonly array: string }
  readonly #state: ArrayState
  readonly #container: Container

  /** @throws UnsupportedError for nested types */
  constructor(container: Container, state: ArrayState) {
    this.attrs = new Attributes(
      () => state.attributes,
      () => this.changeAttributes(),
    )
    const { definition } = state
    this.maxElements = container.maxElements
    this.budget = container.budget
    this.label = { file: container.label, array: definition.name }
    this.dtype = dtypeOf(definition) as D
    this.dimensionNames = definition.dimensionNames
    this.fillValue = fillOf(definition) as ScalarOf<D> | undefined
    this.#container = container
    this.#state = state
  }

  get shape(): readonly number[] {
    return this.#state.grid.shape
  }

  get chunks(): ChunkGrid {
    return this.#state.grid
  }

  readBlock(box: Box, out: Tensor<D>, options: BlockOptions = {}): Promise<void> {
    return this.readBlocks([{ box, out }], options)
  }

  async readBlocks(reads: readonly BoxRead<D>[], options: BlockOptions = {}): Promise<void> {
    await within(this.label, async () => {
      const blocks = new Map<BlockRef, PlacedChunk<D>[]>()
      const pace = new Pace(options.signal)
      for (const { box, out } of reads) {
        if (pace.due()) await pace.turn()
        this.#checkAlive(box)
        if (countChunks(box, this.chunks) <= FEW_CHUNKS) this.#locate(box, out, blocks)
        else {
          const { locateMany } = await import('./locate-many.js')
          const add = (found: ChunkAddress, chunk: Placement & { readonly out: Tensor<D> }) => this.#add(found, chunk, blocks)
          await locateMany(
            this.#state,
            box,
            { dtype: this.dtype, fill: fillElement(this.dtype, this.fillValue), out, add },
            options.signal,
          )
        }
      }
      await this.#container.blocks.use(blocks, placing(this.dtype), () => undefined, options.signal)
    })
  }

  async readPicked(transfers: readonly Transfer[], out: Tensor<D>, options: BlockOptions = {}): Promise<void> {
    await within(this.label, async () => {
      const { locatePicks, picking } = await import('./picked.js')
      for (const { box } of transfers) this.#checkAlive(box)
      const fill = fillElement(this.dtype, this.fillValue)
      const blocks = locatePicks(transfers, this.chunks, { dtype: this.dtype, fill, out }, (...chunk) => this.#find(...chunk))
      await this.#container.blocks.use(blocks, picking(this.dtype), () => undefined, options.signal)
    })
  }

  countRequests(boxes: readonly Box[]): number {
    const blocks = new Set<BlockRef>()
    const add = (number: number): void => {
      const found = this.#state.newest(number)
      if (found !== undefined && !(found instanceof Uint8Array)) blocks.add(found.block)
    }
    for (const box of boxes) {
      if (countChunks(box, this.chunks) <= FEW_CHUNKS) projectBox(box, this.chunks, (chunk) => add(this.chunks.number(chunk)))
      else {
        // Of a box that touches many chunks it may be that few are stored.
        const { axes } = this.chunks
        for (const number of this.#state.numbers())
          if (this.chunks.index(number).every((k, axis) => touches(box[axis]!, axes[axis]!, k))) add(number)
      }
    }
    return blocks.size
  }

  async reduceBox(
    box: Box,
    reduction: Reduction,
    take: (part: PlacedPart) => void,
    options: ReduceBoxOptions = {},
  ): Promise<void> {
    await within(this.label, async () => {
      const { reduceStored } = await import('./stored-reduction.js')
      this.#checkAlive(box)
      const fill = fillElement(this.dtype, this.fillValue) as number | bigint
      await reduceStored(this.#state, { box, reduction, fill }, this.#container.blocks, take, options)
    })
  }

  async written(grid: ChunkGrid, { signal }: BlockOptions = {}): Promise<Float64Array | undefined> {
    this.#checkAlive()
    return (await import('./written.js')).writtenChunks(this.#state, grid, signal)
  }

  async *scan<R>(scan: ChunkScan<D, R>, options: BlockOptions = {}): AsyncGenerator<R, void, undefined> {
    this.#checkAlive()
    const grid = this.chunks
    const { scanChunks } = await import('./scan.js')
    yield* scanChunks(this.#state, grid, this.#container.blocks, fillElement(this.dtype, this.fillValue), scan, options.signal)
  }

  async writeBlock(box: Box, source: Tensor<D>, options: BlockOptions = {}): Promise<void> {
    await within(this.label, async () => {
      const { readOnly } = this.#container
      if (readOnly !== undefined) throw new HyperslabError('ReadOnlyError', readOnly)
      const { writeBox } = await import('./write-box.js')
      await this.#container.exclusive(async () => {
        this.#checkAlive(box)
        const put = this.#container.writeChunk.bind(this.#container, this.#state)
        await writeBox(this, box, source, put, options.signal)
      })
    })
  }

  /** The attributes, about to be changed. */
  changeAttributes(): AttributeMap {
    const { readOnly } = this.#container
    if (readOnly !== undefined) throw new HyperslabError('ReadOnlyError', readOnly, { ...this.label })
    this.#state.changed = true
    this.#state.attributesChanged = true
    return this.#state.attributes
  }

  /** Finds the chunks that a box touches and adds them to `blocks`. Those that need no I/O are placed on the way. */
  #locate(box: Box, out: Tensor<D>, blocks: Map<BlockRef, PlacedChunk<D>[]>): void {
    projectBox(box, this.chunks, (chunk, projections) => {
      const placement = { ...placementOf(this.chunks, chunk, projections), out }
      const found = this.#find(this.chunks.number(chunk), placement, blocks)
      if (found === undefined) fillTensor(viewTensor(out, placement.outer), fillElement(this.dtype, this.fillValue))
      else if (found instanceof Uint8Array) withArena((arena) => placeChunk(arena, this.dtype, found, placement, out))
    })
  }

  /** Adds a chunk in a committed or packed block to `blocks`; of a loose one gives the bytes, and nothing of a missing one. */
  #find<C extends { readonly chunkShape: readonly number[] }>(
    number: number,
    chunk: C,
    blocks: Map<BlockRef, (C & Stored)[]>,
  ): ChunkAddress | Uint8Array | undefined {
    const found = this.#state.newest(number)
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

  /** Since the box was planned, the array may have been deleted or made smaller. */
  #checkAlive(box: Box = []): void {
    this.#container.checkOpen()
    if (this.#state.deleted) throw new HyperslabError('UnknownArrayError', 'this array was deleted')
    const { shape } = this
    const axis = box.findIndex(({ stop }, axis) => stop > shape[axis]!)
    if (axis < 0) return
    const text = `axis ${axis} was cut to ${shape[axis]} while elements up to ${box[axis]!.stop} were being asked for`
    throw new HyperslabError('ConflictError', text, { axis, actual: box[axis]!.stop, expected: shape[axis] })
  }
}

function placementOf(grid: ChunkGrid, chunk: readonly number[], projections: readonly AxisProjection[]): Placement {
  return {
    chunkShape: grid.shapeOf(chunk),
    inner: projections.map(({ inner }) => inner),
    outer: projections.map(({ outer }) => outer),
  }
}
