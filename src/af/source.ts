import type { PlacedPart, Reduction } from '../array/reductions/parts.js'
import type { BlockOptions, BlockSource, BoxRead, ChunkScan, ReduceBoxOptions } from '../array/source.js'
import { type DType, fillElement, type ScalarOf } from '../core/dtype.js'
import { HyperslabError, within } from '../core/errors.js'
import { Pace } from '../core/pace.js'
import { sizeOf } from '../core/shape.js'
import type { Signal } from '../core/signal.js'
import { cloneTensor, copyTensor, fillTensor, type Tensor, tensorOf, viewTensor } from '../core/tensor.js'
import type { ChunkGrid } from '../grid/chunks.js'
import type { Transfer } from '../grid/plan.js'
import { type AxisProjection, countChunks, projectBox } from '../grid/projection.js'
import { type Box, boxShape, cutBox, viewOf } from '../grid/range.js'
import { TouchedChunks } from '../grid/touched.js'
import { withArena } from '../kernels/arena.js'
import type { ArrayState } from './array-state.js'
import type { Stored } from './batches.js'
import type { BlockRef, ChunkAddress } from './block.js'
import type { BlockReader } from './block-reader.js'
import { dtypeOf, fillOf } from './definition.js'
import { type PlacedChunk, type Placement, placeChunk, placing } from './place.js'
import { type ChunkVisit, FEW_CHUNKS, visitChunks } from './stored-chunks.js'
import { checkChunkBytes, encodeChunk } from './values.js'

/** What an array needs of the container it lies in. */
export interface Container {
  readonly label: string
  readonly blocks: BlockReader
  /** As of `Limits.elements`. */
  readonly maxElements: number
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

/** Elements that nobody wrote which are set at once. */
const FILL_SIZE = 2 ** 20

/** An array of a container as a source: projects boxes on its chunks, finds them, fetches and decodes their blocks, places them. */
export class ContainerSource<D extends DType> implements BlockSource<D> {
  readonly dtype: D
  readonly dimensionNames: readonly string[]
  readonly fillValue: ScalarOf<D> | undefined
  readonly capabilities = { steps: true }
  readonly maxElements: number
  readonly label: { readonly file: string; readonly array: string }
  readonly #state: ArrayState
  readonly #container: Container

  /** @throws UnsupportedError for nested types */
  constructor(container: Container, state: ArrayState) {
    const { definition } = state
    this.maxElements = container.maxElements
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
        if (countChunks(box, this.chunks) > FEW_CHUNKS) await this.#locateMany(box, out, blocks, options.signal)
        else this.#locate(box, out, blocks)
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
        const touched = new TouchedChunks(box, this.chunks)
        for (const number of this.#state.numbers()) if (touched.find(number) !== undefined) add(number)
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
      await this.#container.exclusive(() => this.#write(box, source, options.signal))
    })
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

  /** The same for a box that touches very many. */
  async #locateMany(
    box: Box,
    out: Tensor<D>,
    blocks: Map<BlockRef, PlacedChunk<D>[]>,
    signal: Signal | undefined,
  ): Promise<void> {
    const { chunks: grid, dtype } = this
    const fill = fillElement(dtype, this.fillValue)
    const touched = new TouchedChunks(box, grid)
    const pace = new Pace(signal)
    const placementAt = (at: number): Placement & { readonly out: Tensor<D> } => {
      const projections = touched.projections(at)
      const chunk = projections.map((axis) => axis.chunk)
      return { ...placementOf(grid, chunk, projections), out }
    }
    const visit: ChunkVisit = {
      stored: (at, found) => {
        const placement = placementAt(at)
        if (found instanceof Uint8Array) withArena((arena) => placeChunk(arena, dtype, found, placement, out))
        else this.#add(found, placement, blocks)
      },
      missing: async (from, to) => {
        for (const part of touched.boxes(from, to)) {
          for (const piece of cutBox(part, FILL_SIZE)) {
            if (pace.due()) await pace.turn()
            fillTensor(viewTensor(out, piece.map(viewOf)), fill)
          }
        }
      },
    }
    await visitChunks(this.#state, touched, visit, (at) => touched.number(at), signal)
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

  async #write(box: Box, source: Tensor<D>, signal?: Signal): Promise<void> {
    this.#checkAlive(box)
    const pieces: { number: number; index: number[]; placement: Placement }[] = []
    projectBox(box, this.chunks, (chunk, projections) => {
      pieces.push({
        number: this.chunks.number(chunk),
        index: [...chunk],
        placement: placementOf(this.chunks, chunk, projections),
      })
    })
    for (const { number, index, placement } of pieces) {
      signal?.throwIfAborted()
      const { chunkShape, inner, outer } = placement
      const part = viewTensor(source, outer)
      const whole = inner.every(({ length }, axis) => length === chunkShape[axis])
      let chunk: Tensor<D>
      if (whole) chunk = cloneTensor(this.dtype, part)
      else {
        const chunkBox = this.chunks.box(index)
        chunk = tensorOf(this.dtype, boxShape(chunkBox))
        await this.readBlock(chunkBox, chunk, { signal })
        copyTensor(part, viewTensor(chunk, inner))
      }
      await this.#container.writeChunk(this.#state, number, encodeChunk(this.dtype, chunk.data), { whole })
    }
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
