import type { ChunkFacts, ChunkScan } from '../array/source.ts'
import { allocate, type DataOf, type DType } from '../core/dtype.ts'
import { ahead, batched } from '../core/in-order.ts'
import { Pace } from '../core/pace.ts'
import { sizeOf } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import { type ChunkGrid, chunkSize } from '../grid/chunks.ts'
import { boxShape, wholeBox } from '../grid/range.ts'
import { TouchedChunks } from '../grid/touched.ts'
import { type BlockRef, type ChunkAddress, chunkPart, chunkView } from './block.ts'
import type { BlockReader, BlockUse } from './block-reader.ts'
import type { ChunkSnapshot, Elements, StoredChunk } from './chunk-index.ts'
import type { ChunkStats } from './chunk-stats.ts'
import { decodeChunk } from './chunk-values.ts'
import { visitChunks } from './visit-chunks.ts'

interface Chosen {
  readonly number: number
  readonly address: ChunkAddress
}

/** Chunks of a block, or one that needs no I/O: loose, or, without bytes, missing. */
type Item =
  | { readonly block: BlockRef; readonly chunks: Chosen[]; readonly bytes: number }
  | { readonly block?: undefined; readonly number: number; readonly loose: Uint8Array | undefined; readonly bytes: number }

/** Missing chunks from one up to another. */
interface Run {
  readonly from: number
  readonly to: number
}

/** What a missing chunk counts for at least, so that small ones are made in portions of some thousand. */
const LEAST_BYTES = 4096

/** What is read at once, so that neighbours are asked for together. Two of these are under way. */
const PORTION_BYTES = 8 * 1024 * 1024

/**
 * Goes through chunks of an array as it is now: each block is read once, in the order of its first chunk.
 * @throws ConflictError when the array has got another grid meanwhile
 */
export async function* scanChunks<D extends DType, R>(
  snapshot: ChunkSnapshot,
  elements: Elements<D>,
  blocks: BlockReader,
  scan: ChunkScan<D, R>,
  signal: Signal | undefined,
): AsyncGenerator<R, void, undefined> {
  const { grid } = snapshot
  const { dtype, fill } = elements
  await snapshot.statistics?.load(signal)
  snapshot.checkGrid('searched')
  const use = (number: number, bytes: Uint8Array): R => scan.use(number, decodeChunk(dtype, bytes, chunkSize(grid, number)))
  const blockUse: BlockUse<Chosen, R[]> = {
    here: (arena, chunks, bytesOf) => chunks.map((chunk) => use(chunk.number, chunkView(arena, bytesOf(chunk)))),
    there: (chunks) => ({
      task: { kind: 'decode', keep: false },
      result: ({ bytes }) => chunks.map(({ number, address }) => use(number, chunkPart(bytes, address))),
    }),
  }
  const work = async (portion: readonly Item[]): Promise<R[]> => {
    signal?.throwIfAborted()
    const pace = new Pace(signal)
    const results: R[] = []
    const groups: [BlockRef, readonly Chosen[]][] = []
    for (const item of portion) {
      if (pace.due()) await pace.turn()
      if (item.block !== undefined) groups.push([item.block, item.chunks])
      else if (item.loose !== undefined) results.push(use(item.number, item.loose))
      else results.push(scan.use(item.number, filled(dtype, chunkSize(grid, item.number), fill)))
    }
    const take = (more: readonly R[]): void => {
      for (const result of more) results.push(result)
    }
    await blocks.use(groups, blockUse, take, signal)
    return results
  }
  const items = await locate(snapshot, elements, scan, signal)
  const portions = batched(each(items, grid, elements, scan), PORTION_BYTES, ({ bytes }) => bytes)
  for await (const results of ahead(portions, { count: 2 }, work)) yield* results
}

function filled<D extends DType>(dtype: D, length: number, fill: DataOf<D>[number]): DataOf<D> {
  return (allocate(dtype, length) as unknown as { fill(value: unknown): DataOf<D> }).fill(fill)
}

/** Where chosen chunks are, in order: those of a block together, runs of missing ones as such. */
async function locate<D extends DType>(
  snapshot: ChunkSnapshot,
  { fill, hasFill }: Elements<D>,
  { choose, chooseMissing }: ChunkScan<D, unknown>,
  signal: Signal | undefined,
): Promise<(Item | Run)[]> {
  const { grid, statistics } = snapshot
  const items: (Item | Run)[] = []
  const known = new Map<BlockRef, Chosen[]>()
  const all = new TouchedChunks(wholeBox(grid.shape), grid)
  const stored = (number: number, found: StoredChunk): void => {
    if (found instanceof Uint8Array) {
      if (choose(number, undefined)) items.push({ number, loose: found, bytes: found.length })
      return
    }
    const stats = statistics?.of(number)
    if (!choose(number, stats && factsOf(stats))) return
    const { block } = found
    const chunks = known.get(block)
    if (chunks !== undefined) chunks.push({ number, address: found })
    else {
      const first = [{ number, address: found }]
      known.set(block, first)
      items.push({ block, chunks: first, bytes: block.uncompressedBytes })
    }
  }
  const missing = (from: number, to: number): void => {
    let size = 0
    for (const box of all.boxes(from, to)) size += sizeOf(boxShape(box))
    if (chooseMissing(factsOfMissing(size, fill, hasFill))) items.push({ from, to })
  }
  // All chunks are touched: their numbers are those of the grid.
  await visitChunks(snapshot, all, { stored, missing }, (number) => number, signal)
  return items
}

/** The items, chosen chunks of runs one by one. */
function* each<D extends DType>(
  items: readonly (Item | Run)[],
  grid: ChunkGrid,
  { fill, hasFill }: Elements<D>,
  { choose }: ChunkScan<D, unknown>,
): Generator<Item, void> {
  for (const item of items) {
    if (!('from' in item)) yield item
    else
      for (let number = item.from; number < item.to; number++) {
        const size = chunkSize(grid, number)
        // Elements of strings and binaries take at least a reference, and what is made of a chunk takes some
        // memory, too.
        const bytes = Math.max(LEAST_BYTES, 8 * size)
        if (choose(number, factsOfMissing(size, fill, hasFill))) yield { number, loose: undefined, bytes }
      }
  }
}

/** Those of numbers; strings and binaries have other ends. */
export function factsOf({ min, max, count, nullCount }: ChunkStats): ChunkFacts | undefined {
  return min instanceof Uint8Array || max instanceof Uint8Array
    ? undefined
    : { min, max, count, fillCount: nullCount, exact: true }
}

export function factsOfMissing(size: number, fill: unknown, isFill: boolean): ChunkFacts | undefined {
  if (isFill) return { min: undefined, max: undefined, count: 0, fillCount: size, exact: true }
  if (typeof fill !== 'number' && typeof fill !== 'bigint') return undefined
  return { min: fill, max: fill, count: size, fillCount: 0, exact: true }
}
