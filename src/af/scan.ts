import type { ChunkFacts, ChunkScan } from '../array/source.js'
import { batched } from '../core/batched.js'
import { allocate, type DataOf, type DType } from '../core/dtype.js'
import { HyperslabError } from '../core/errors.js'
import { ahead } from '../core/in-order.js'
import type { Signal } from '../core/signal.js'
import { type ChunkGrid, chunkSize } from '../grid/chunks.js'
import type { ArrayState } from './array-state.js'
import { type BlockRef, type ChunkAddress, partOf, viewOf } from './block.js'
import type { BlockReader, BlockUse } from './block-reader.js'
import { type ChunkStats, knownStats, nullsAreFill } from './chunk-stats.js'
import { dtypeOf, fillOf } from './definition.js'
import { decodeChunk } from './values.js'

interface StoredChunk {
  readonly number: number
  readonly address: ChunkAddress
}

/** Chunks of a block, or one that needs no I/O: loose, or, without bytes, missing. */
type Item =
  | { readonly block: BlockRef; readonly chunks: StoredChunk[]; readonly bytes: number }
  | { readonly block?: undefined; readonly number: number; readonly loose: Uint8Array | undefined; readonly bytes: number }

/** What is read at once, so that neighbours are asked for together. Two of these are under way. */
const PORTION_BYTES = 8 * 1024 * 1024

/**
 * Goes through chunks of an array as it is now: each block is read once, in the order of its first chunk.
 * @param grid of the array, which numbers the chunks
 * @param fill what missing chunks are full of, as stored
 * @throws ConflictError when the array has got another grid meanwhile
 */
export async function* scanChunks<D extends DType, R>(
  state: ArrayState,
  grid: ChunkGrid,
  blocks: BlockReader,
  fill: DataOf<D>[number],
  scan: ChunkScan<D, R>,
  signal: Signal | undefined,
): AsyncGenerator<R, void, undefined> {
  const dtype = dtypeOf(state.definition) as D
  await state.loadStats(signal)
  if (state.grid !== grid) throw new HyperslabError('ConflictError', 'the array was resized while it was being searched')
  const use = (number: number, bytes: Uint8Array): R => scan.use(number, decodeChunk(dtype, bytes, chunkSize(grid, number)))
  const blockUse: BlockUse<StoredChunk, R[]> = {
    here: (arena, chunks, bytesOf) => chunks.map((chunk) => use(chunk.number, viewOf(arena, bytesOf(chunk)))),
    there: (chunks) => ({
      task: { kind: 'decode', keep: false },
      result: ({ bytes }) => chunks.map(({ number, address }) => use(number, partOf(bytes, address))),
    }),
  }
  const work = async (portion: readonly Item[]): Promise<R[]> => {
    signal?.throwIfAborted()
    const results: R[] = []
    const groups: [BlockRef, readonly StoredChunk[]][] = []
    for (const item of portion) {
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
  const portions = batched(locate(state, fill, scan), PORTION_BYTES, ({ bytes }) => bytes)
  for await (const results of ahead(portions, { count: 2 }, work)) yield* results
}

function filled<D extends DType>(dtype: D, length: number, fill: DataOf<D>[number]): DataOf<D> {
  return (allocate(dtype, length) as unknown as { fill(value: unknown): DataOf<D> }).fill(fill)
}

function locate<D extends DType>(state: ArrayState, fill: DataOf<D>[number], { choose }: ChunkScan<D, unknown>): Item[] {
  const { grid, definition } = state
  const usable = nullsAreFill(definition)
  const hasFill = fillOf(definition) !== undefined
  const items: Item[] = []
  const known = new Map<BlockRef, StoredChunk[]>()
  for (let number = 0; number < grid.count; number++) {
    const found = state.newest(number)
    if (found === undefined || found instanceof Uint8Array) {
      const size = chunkSize(grid, number)
      const facts = found === undefined ? factsOfMissing(size, fill, hasFill) : undefined
      // Elements of strings and binaries take at least a reference.
      if (choose(number, facts)) items.push({ number, loose: found, bytes: found?.length ?? 8 * size })
      continue
    }
    const stats = usable ? knownStats(state, number) : undefined
    if (!choose(number, stats && factsOf(stats))) continue
    const { block } = found
    const chunks = known.get(block)
    if (chunks !== undefined) chunks.push({ number, address: found })
    else {
      const first = [{ number, address: found }]
      known.set(block, first)
      items.push({ block, chunks: first, bytes: block.uncompressedBytes })
    }
  }
  return items
}

/** Those of numbers; strings and binaries have other ends. */
function factsOf({ min, max, count, nullCount }: ChunkStats): ChunkFacts | undefined {
  return min instanceof Uint8Array || max instanceof Uint8Array ? undefined : { min, max, count, fillCount: nullCount }
}

function factsOfMissing(size: number, fill: unknown, isFill: boolean): ChunkFacts | undefined {
  if (isFill) return { min: undefined, max: undefined, count: 0, fillCount: size }
  if (typeof fill !== 'number' && typeof fill !== 'bigint') return undefined
  return { min: fill, max: fill, count: size, fillCount: 0 }
}
