import { unwrittenStats } from '../array/part-stats.ts'
import { bytesOf, type PartStats, type PartVisitor } from '../array/source.ts'
import { batched } from '../core/batched.ts'
import { allocate, type DataOf, type DType } from '../core/dtype.ts'
import { ahead } from '../core/in-order.ts'
import { Pace } from '../core/pace.ts'
import { sizeOf } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import { type Tensor, tensorOf, viewTensor } from '../core/tensor.ts'
import { type AxisProjection, toChunkCopy } from '../grid/projection.ts'
import { type Box, boxShape, rangeOf } from '../grid/range.ts'
import { outerBox, TouchedChunks } from '../grid/touched.ts'
import { decodedBytes } from './batches.ts'
import {
  type BlockRef,
  type BlockUse,
  type ChunkAddress,
  chunkPart,
  chunkView,
  type StoredChunk,
  type StridedChunk,
} from './block.ts'
import type { ChunkIndex, ChunkSnapshot, Elements } from './chunk-index.ts'
import type { ChunkStats } from './chunk-stats.ts'
import { decodeChunk } from './chunk-values.ts'
import type { Portion, StridedPart } from './strided-reader.ts'
import { visitChunks } from './visit-chunks.ts'

/** A chunk to be read, by its number among those the box touches. */
interface Chosen {
  readonly at: number
  readonly address: ChunkAddress
}

/**
 * The chunks of a block, an uncompressed chunk in a file, or a chunk without I/O: in memory, or missing if
 * `found` is undefined.
 */
type Item =
  | { readonly block: BlockRef; readonly chunks: Chosen[]; readonly bytes: number }
  | {
      readonly block?: undefined
      readonly at: number
      readonly found: Uint8Array | StridedChunk | undefined
      readonly bytes: number
    }

/** Readers of chunks in blocks and of uncompressed chunks. */
type Readers = Pick<ChunkIndex, 'blocks' | 'strided'>

/** Run `[from, to)` of missing chunks, without those in the refused boxes. */
interface Run {
  readonly from: number
  readonly to: number
  readonly refused: readonly Box[]
}

/** Least size assumed for a missing chunk, so that a portion contains at most a few thousand of them. */
const LEAST_BYTES = 4096

/** Size of a portion, whose chunks are requested together. Two portions are under way at once. */
const PORTION_BYTES = 8 * 1024 * 1024

/**
 * Visits a box of an array chunk by chunk. Each block is read once, in the order of its first chunk.
 * @throws ConflictError if the array was resized before the visit
 */
export async function* visitBox<D extends DType, R>(
  snapshot: ChunkSnapshot,
  box: Box,
  elements: Elements<D>,
  readers: Readers,
  visitor: PartVisitor<D, R>,
  signal: Signal | undefined,
): AsyncGenerator<R, void, undefined> {
  await snapshot.statistics?.load(signal)
  snapshot.checkGrid('searched')
  yield* new BoxVisit(snapshot, box, elements, visitor).run(readers, signal)
}

class BoxVisit<D extends DType, R> {
  readonly #snapshot: ChunkSnapshot
  readonly #elements: Elements<D>
  readonly #visitor: PartVisitor<D, R>
  readonly #touched: TouchedChunks

  constructor(snapshot: ChunkSnapshot, box: Box, elements: Elements<D>, visitor: PartVisitor<D, R>) {
    this.#snapshot = snapshot
    this.#elements = elements
    this.#visitor = visitor
    this.#touched = new TouchedChunks(box, snapshot.grid)
  }

  async *run({ blocks, strided }: Readers, signal: Signal | undefined): AsyncGenerator<R, void, undefined> {
    const chosen = useEach((chunk: Chosen, bytes) => this.#visit(chunk.at, bytes))
    const portions = useEach((part: Portion<undefined>, bytes) => this.#visitPortion(part, bytes))
    const work = async (portion: readonly Item[]): Promise<R[]> => {
      signal?.throwIfAborted()
      const pace = new Pace(signal)
      const results: R[] = []
      const groups: [BlockRef, readonly Chosen[]][] = []
      const parts: StridedPart<undefined>[] = []
      for (const item of portion) {
        if (pace.due()) await pace.turn()
        if (item.block !== undefined) groups.push([item.block, item.chunks])
        else if (item.found === undefined) results.push(this.#visitMissing(item.at))
        else if (item.found instanceof Uint8Array) results.push(this.#visit(item.at, item.found))
        else parts.push({ ...toChunkCopy(this.#touched.projections(item.at), undefined), found: item.found })
      }
      const take = (more: readonly R[]): void => {
        for (const result of more) results.push(result)
      }
      await blocks?.use(groups, chosen, take, signal)
      await strided?.useEach(parts, portions, take, signal)
      return results
    }
    const items = batched(this.#each(await this.#locate(signal)), PORTION_BYTES, ({ bytes }) => bytes)
    for await (const results of ahead(items, { count: 2 }, work)) yield* results
  }

  #visit(at: number, bytes: Uint8Array): R {
    const projections = this.#touched.projections(at)
    const { dtype } = this.#elements
    const shape = projections.map(({ length }) => length)
    const chunk = tensorOf(dtype, shape, decodeChunk(dtype, bytes, sizeOf(shape)))
    const part = viewTensor(chunk, projections.map(({ from }) => from)) // biome-ignore format: one line
    return this.#visitor.visit(outerBox(projections), part)
  }

  /** Visits a part that was read by itself. */
  #visitPortion({ chunkShape, to }: Portion<undefined>, bytes: Uint8Array): R {
    const { dtype } = this.#elements
    return this.#visitor.visit(to.map(rangeOf), tensorOf(dtype, chunkShape, decodeChunk(dtype, bytes, sizeOf(chunkShape))))
  }

  #visitMissing(at: number): R {
    const part = outerBox(this.#touched.projections(at))
    return this.#visitor.visit(part, filled(this.#elements, boxShape(part)))
  }

  /** Returns the chunks to be read, in order: those of a block together, missing ones as runs. */
  async #locate(signal: Signal | undefined): Promise<(Item | Run)[]> {
    const { statistics } = this.#snapshot
    const items: (Item | Run)[] = []
    const known = new Map<BlockRef, Chosen[]>()
    const stored = (at: number, found: StoredChunk, projections: AxisProjection[], chunkIndex: number): void => {
      const isBuffered = found instanceof Uint8Array
      const stats = isBuffered ? undefined : statistics?.of(chunkIndex)
      if (!this.#visitor.shouldRead(outerBox(projections), stats && statsOf(stats, this.#isWhole(projections)))) return
      if (isBuffered || found.block === undefined) {
        const bytes = isBuffered
          ? found.length
          : bytesOf(this.#elements.dtype) * sizeOf(projections.map(({ from }) => from.length))
        items.push({ at, found, bytes })
        return
      }
      const { block } = found
      const chunks = known.get(block)
      if (chunks !== undefined) chunks.push({ at, address: found })
      else {
        const first = [{ at, address: found }]
        known.set(block, first)
        items.push({ block, chunks: first, bytes: decodedBytes(block) })
      }
    }
    const missing = (from: number, to: number): void => {
      const boxes = [...this.#touched.boxes(from, to)]
      const refused = boxes.filter((box) => !this.#shouldReadMissing(box))
      if (refused.length < boxes.length) items.push({ from, to, refused })
    }
    await visitChunks(this.#snapshot, this.#touched, { stored, missing }, signal)
    return items
  }

  #isWhole(projections: readonly AxisProjection[]): boolean {
    return projections.every(({ from, length }) => from.length === length)
  }

  /** Unwritten elements are all equal, so even the statistics of a part of a chunk are known. */
  #shouldReadMissing(part: Box): boolean {
    return this.#visitor.shouldRead(part, unwrittenStats(this.#elements, sizeOf(boxShape(part))))
  }

  /** Yields the items, with missing chunks one by one. */
  *#each(items: readonly (Item | Run)[]): Generator<Item, void> {
    for (const item of items) {
      if (!('from' in item)) {
        yield item
        continue
      }
      for (let at = item.from; at < item.to; at++) {
        const part = outerBox(this.#touched.projections(at))
        if (
          item.refused.some((box) => box.every(({ start, stop }, axis) => start <= part[axis]!.start && part[axis]!.stop <= stop))
        )
          continue
        // Strings and binaries take at least a reference per element, and results take memory, too.
        const bytes = Math.max(LEAST_BYTES, 8 * sizeOf(boxShape(part)))
        if (this.#shouldReadMissing(part)) yield { at, found: undefined, bytes }
      }
    }
  }
}

/** Visits each decoded chunk on its own. */
function useEach<C extends { readonly address: ChunkAddress }, R>(visit: (chunk: C, bytes: Uint8Array) => R): BlockUse<C, R[]> {
  return {
    onThisThread: (arena, chunks, bytesOf) => chunks.map((chunk) => visit(chunk, chunkView(arena, bytesOf(chunk)))),
    inWorker: (chunks) => ({
      task: { kind: 'decode', keep: false },
      result: ({ bytes }) => chunks.map((chunk) => visit(chunk, chunkPart(bytes, chunk.address))),
    }),
  }
}

function filled<D extends DType>({ dtype, fill }: Elements<D>, shape: readonly number[]): Tensor<D> {
  const data = allocate(dtype, sizeOf(shape)) as unknown as { fill(value: unknown): DataOf<D> }
  return tensorOf(dtype, shape, data.fill(fill))
}

/** Returns the statistics of numbers. Those of strings and binaries are bytes, which visitors do not use. */
function statsOf({ min, max, count, nullCount }: ChunkStats, exact: boolean): PartStats | undefined {
  return min instanceof Uint8Array || max instanceof Uint8Array ? undefined : { min, max, count, fillCount: nullCount, exact }
}
