import { sameShape, sizeOf } from '../../core/shape.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import type { ChunkStats } from '../../engine/chunk-stats.ts'
import { ChunkGrid } from '../../grid/chunks.ts'
import { checkSizes, type Definition, dtypeOf, gridFor } from '../format/definition.ts'
import type { ChunkTable } from '../format/footer.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { type Measured, measure } from '../layers/chunk-stats.ts'
import type { Layer } from '../layers/layer.ts'
import { LayerChunks } from '../layers/layer-chunks.ts'
import { PendingChunk } from '../layers/pending-chunk.ts'
import { indexOf } from '../layers/stack.ts'
import { readChunk, reshapeChunk, unwritten } from './cover.ts'
import type { BlockPacker } from './packer.ts'

interface Context {
  readonly packer: BlockPacker
  readonly blocks: BlockReader
  /** Layers that may have old contents for chunks that enter the grid. */
  readonly layers: readonly Layer[]
}

/** Limit for rewriting all unpacked chunks at once, in bytes. Beyond it they are rewritten one by one. */
const BUFFERED_BYTES = 64 * 1024 * 1024

/**
 * Changes the shape of an array, pending until the next flush. Rewrites chunks whose end moves; new elements
 * have the fill value. All other chunks stay in place. Chunks that enter the grid get fill values if some
 * layer still has old contents for them, from before an earlier cut or of an earlier array of that name.
 * After an error the array is as before.
 * @throws InvalidArgumentError if the format cannot store the shape
 */
export async function resize(state: ArrayState, shape: readonly number[], context: Context): Promise<void> {
  const definition = withShape(state.definition, shape)
  const stats = new Map<number, ChunkStats>()
  const next = {
    definition,
    grid: gridFor(definition),
    stats,
    measured: (n: number, each: ChunkStats) => void stats.set(n, each),
  }
  if (sameShape(state.grid.shape, next.grid.shape)) return
  const { packer } = context
  const cut = cutChunks(state, next.grid)
  // Done here, because at the end a failure would come too late. Unpacked chunks keep their new elements
  // until the next packing.
  await packer.settle(countBuffered(state, cut, next.grid) > BUFFERED_BYTES ? 0 : undefined)
  const rewritten = new Rewritten(next, packer)
  try {
    for (const chunkIndex of uncovered(state, next.grid, context.layers)) {
      await rewritten.put(chunkIndex, unwritten(definition, next.grid.shapeOf(next.grid.index(chunkIndex))), false)
    }
    // Unpacked chunks may get packed meanwhile.
    while (await rewriteCut(state, cut, rewritten, context));
    takeShape(state, next, cut, rewritten, packer)
  } catch (error) {
    rewritten.drop()
    throw error
  }
}

/** Returns the array with another shape and the same chunk shape. */
function withShape(definition: Definition, shape: readonly number[]): Definition {
  const { name, dtype, dimensionNames, fillValue } = definition
  const { chunkShape } = gridFor(definition)
  checkSizes(dtypeOf(definition), ChunkGrid.regular(shape, chunkShape))
  return { name, dtype, shape: [...shape], chunkShape: [...chunkShape], dimensionNames, fillValue }
}

/** Chunks of the resized array, by their numbers in its grid. */
class Rewritten {
  readonly chunks = new Map<number, PendingChunk>()
  readonly #packer: BlockPacker
  /** Receiver of their statistics. */
  measured: Measured

  constructor(measured: Measured, packer: BlockPacker) {
    this.measured = measured
    this.#packer = packer
  }

  async put(chunkIndex: number, bytes: Uint8Array, partial: boolean): Promise<void> {
    const chunk = measuredChunk(chunkIndex, () => this.measured)
    chunk.partial = partial
    this.chunks.set(chunkIndex, chunk)
    await this.#packer.put(chunk, bytes)
  }

  drop(): void {
    for (const chunk of this.chunks.values()) this.#packer.drop(chunk)
  }
}

/** Returns a chunk whose statistics are computed when it is packed, for its number at that time. */
export function measuredChunk(chunkIndex: number, measured: () => Measured): PendingChunk {
  const chunk: PendingChunk = new PendingChunk((arena, bytes) => measure(arena, measured(), chunk.number, bytes))
  chunk.number = chunkIndex
  return chunk
}

/** Returns the numbers of the chunks that stay in the grid but end elsewhere. */
function cutChunks(state: ArrayState, after: ChunkGrid): Set<number> {
  const before = state.grid
  const ends = before.axes.map((axis, i) => {
    const last = Math.min(axis.count, after.counts[i]!) - 1
    return axis.stop(last) === after.axes[i]!.stop(last) ? -1 : last
  })
  if (ends.every((last) => last < 0)) return new Set()
  const isCut = (index: readonly number[]): boolean => contains(after, index) && index.some((k, axis) => k === ends[axis])
  return new Set([...state.numbers()].filter((chunkIndex) => isCut(before.index(chunkIndex))))
}

function countBuffered({ written, grid: before }: ArrayState, cut: ReadonlySet<number>, after: ChunkGrid): number {
  let bytes = 0
  for (const chunkIndex of cut) {
    const size = written.get(chunkIndex)?.bytes?.length
    if (size === undefined) continue
    const index = before.index(chunkIndex)
    bytes += size * Math.max(1, sizeOf(after.shapeOf(index)) / sizeOf(before.shapeOf(index)))
  }
  return bytes
}

/**
 * Rewrites the given chunks that must be read for this: all except the unpacked ones.
 * @returns whether there were any
 */
async function rewriteCut(state: ArrayState, cut: Iterable<number>, to: Rewritten, { blocks }: Context): Promise<boolean> {
  const { grid: before, definition } = state
  const after = to.measured.grid
  let any = false
  for (const chunkIndex of cut) {
    const address = state.newest(chunkIndex)!
    const index = before.index(chunkIndex)
    if (address instanceof Uint8Array || to.chunks.has(after.chunkIndex(index))) continue
    const partial = state.written.get(chunkIndex)?.partial !== false
    const bytes = await readChunk(address, blocks)
    const [from, now] = [before.shapeOf(index), after.shapeOf(index)]
    await to.put(after.chunkIndex(index), reshapeChunk(definition, bytes, from, now), partial || gains(from, now))
    any = true
  }
  return any
}

/**
 * Whether a chunk gains elements. It then no longer counts as written whole, because another writer may have
 * set the new elements.
 */
const gains = (from: readonly number[], to: readonly number[]): boolean => from.some((length, axis) => length < to[axis]!)

/** Applies the prepared shape to the array in one step. */
function takeShape(
  state: ArrayState,
  next: Measured & { readonly stats: ReadonlyMap<number, ChunkStats> },
  cut: ReadonlySet<number>,
  rewritten: Rewritten,
  packer: BlockPacker,
): void {
  const { grid: before, written } = state
  const { definition, grid } = next
  const buffered = new Map<PendingChunk, { bytes: Uint8Array; gained: boolean }>()
  for (const chunkIndex of cut) {
    const chunk = written.get(chunkIndex)
    const index = before.index(chunkIndex)
    if (chunk?.bytes === undefined || rewritten.chunks.has(grid.chunkIndex(index))) continue
    const [from, now] = [before.shapeOf(index), grid.shapeOf(index)]
    buffered.set(chunk, { bytes: reshapeChunk(definition, chunk.bytes, from, now), gained: gains(from, now) })
  }
  // Nothing can fail from here on.
  for (const [chunk, { bytes, gained }] of buffered) {
    packer.replace(chunk, bytes)
    chunk.partial ||= gained
  }
  const stays = sameNumbers(before, grid)
  state.unmeasured(cut)
  const moved = () => ({
    written: renumbered(written, before, grid),
    chunkStats: renumbered(state.chunkStats, before, grid),
    stored: state.entries.map((entry) => indexOf(entry, grid)),
  })
  state.reshaped({ definition, grid, ...(!stays && moved()) })
  if (!stays) {
    for (const chunk of written.values()) chunk.number = -1
    for (const [chunkIndex, chunk] of state.written) chunk.number = chunkIndex
    for (const chunk of written.values()) if (chunk.number < 0) packer.drop(chunk)
  }
  for (const [chunkIndex, chunk] of rewritten.chunks) {
    const replaced = state.written.get(chunkIndex)
    if (replaced !== undefined) packer.drop(replaced)
    state.chunkWritten(chunkIndex, chunk)
  }
  for (const [chunkIndex, stats] of next.stats) state.measured(chunkIndex, stats)
  rewritten.measured = state
}

/**
 * Whether all chunks keep their numbers. Growth along the first axis, the common case, then costs nothing for
 * each chunk.
 */
const sameNumbers = (before: ChunkGrid, after: ChunkGrid): boolean =>
  before.counts.every((count, axis) => (axis === 0 ? count <= after.counts[axis]! : count === after.counts[axis]))

function renumbered<T>(chunks: ReadonlyMap<number, T>, before: ChunkGrid, after: ChunkGrid): Map<number, T> {
  const result = new Map<number, T>()
  for (const [chunkIndex, chunk] of chunks) {
    const index = before.index(chunkIndex)
    if (contains(after, index)) result.set(after.chunkIndex(index), chunk)
  }
  return result
}

/**
 * Returns the numbers of chunks that enter the grid although some layer has contents for them. A new array is
 * skipped here, because it covers all of them when it is published.
 */
function uncovered(
  { definition, grid: before, layer: newest }: ArrayState,
  after: ChunkGrid,
  layers: readonly Layer[],
): Set<number> {
  const numbers = new Set<number>()
  if (newest < 0) return numbers
  for (const { arrays, blocks } of layers) {
    const table = arrays.get(definition.name)?.chunks
    if (table === undefined || table.rank !== before.shape.length || !reachesBeyond(table, before, after)) continue
    for (const chunkIndex of new LayerChunks(table, after, blocks).numbers()) {
      if (!contains(before, after.index(chunkIndex))) numbers.add(chunkIndex)
    }
  }
  return numbers
}

function reachesBeyond(table: ChunkTable, before: ChunkGrid, after: ChunkGrid): boolean {
  const reach = findReach(table)
  return before.counts.some((count, axis) => after.counts[axis]! > count && reach[axis]! > count)
}

/** Cached, because each append asks for it. */
const reaches = new WeakMap<ChunkTable, number[]>()

/** Returns the number of chunks along each axis for which a table has contents. */
function findReach(table: ChunkTable): number[] {
  let reach = reaches.get(table)
  if (reach === undefined) {
    const { coords, rank } = table
    reach = new Array<number>(rank).fill(0)
    for (let i = 0; i < coords.length; i++) reach[i % rank] = Math.max(reach[i % rank]!, coords[i]! + 1)
    reaches.set(table, reach)
  }
  return reach
}

export const contains = ({ counts }: ChunkGrid, index: readonly number[]): boolean => index.every((k, axis) => k < counts[axis]!)
