import type { AxisIndices } from '../core/axis-indices.ts'
import type { DType } from '../core/dtype.ts'
import { Pace } from '../core/pace.ts'
import type { Signal } from '../core/signal.ts'
import type { Tensor } from '../core/tensor.ts'
import type { AxisChunks, ChunkGrid } from '../grid/chunks.ts'
import type { ListProjector } from '../grid/list-projection.ts'
import type { Transfer } from '../grid/plan.ts'
import { type AxisProjection, countChunks, projectBox, toChunkCopy } from '../grid/projection.ts'
import type { Box, Range } from '../grid/range.ts'
import { TouchedChunks, type TouchedRegion } from '../grid/touched.ts'
import type { BlockRef, PinnedChunks, StoredChunk } from './block.ts'
import { type ChunkIndex, type ChunkSnapshot, FEW_CHUNKS } from './chunk-index.ts'
import type { Scatter } from './scatter.ts'

/**
 * Touched chunks per stored chunk, beyond which iterating over the stored chunks is faster than locating each
 * touched chunk.
 */
const SPARSE = 8

/** Unwritten elements that are set at once. */
const FILL_SIZE = 2 ** 20

/** Chunks that a plan locates to count requests. */
const MOST_LOOKUPS = 2 ** 20

/** Callbacks for the chunks that a box touches, by their number among those. */
export interface ChunkVisit<I extends AxisIndices> {
  /** Called for a stored chunk, with its projection on each axis and its index in the grid. */
  stored(at: number, found: StoredChunk, projections: AxisProjection<I>[], chunkIndex: number): void
  /** Called for a run `[from, to)` of missing chunks. */
  missing(from: number, to: number): void | Promise<void>
}

/** A box that a read needs, wholly or as far as a transfer with lists or points selects. */
export interface RegionBox {
  readonly box: Box
  readonly transfer?: Transfer
}

/** Yields the indices of the chunks that some regions touch, once for each region. */
export function* touchedChunks(
  grid: ChunkGrid,
  regions: readonly RegionBox[],
  projector: ListProjector | undefined,
): Generator<number, void> {
  for (const { box, transfer } of regions) {
    const listed = transfer && projector!.project(transfer, grid)
    const touched = new TouchedChunks<AxisIndices>(listed?.axes ?? box, {
      axes: grid.axes,
      counts: listed?.counts ?? grid.counts,
    })
    for (let at = 0; at < touched.count; at++) yield touched.number(at)
  }
}

/**
 * Visits the chunks that a box touches, in C order: stored chunks one by one, missing ones in runs. Takes
 * time linear in the stored chunks, or in the touched chunks if these are fewer. Yields to the event loop if
 * there are many.
 * @throws ConflictError if the array was resized during the visit; the reason of the signal
 */
export async function visitChunks<I extends AxisIndices>(
  snapshot: ChunkSnapshot,
  touched: TouchedChunks<I>,
  visit: ChunkVisit<I>,
  signal: Signal | undefined,
): Promise<void> {
  const { count } = touched
  let next = 0
  const look = (at: number, chunks: Pick<ChunkSnapshot, 'locate'>): void | Promise<void> => {
    const projections = touched.projections(at)
    const chunkIndex = touched.numberOf(projections)
    const found = chunks.locate(chunkIndex)
    if (found === undefined) return
    const gap = next < at ? visit.missing(next, at) : undefined
    next = at + 1
    if (gap === undefined) return visit.stored(at, found, projections, chunkIndex)
    return gap.then(() => visit.stored(at, found, projections, chunkIndex))
  }
  if (count <= FEW_CHUNKS) {
    for (let at = 0; at < count; at++) {
      const taken = look(at, snapshot)
      if (taken !== undefined) await taken
    }
  } else {
    // Later writes are not part of this read.
    const pinned = snapshot.pinned()
    const pace = new Pace(signal)
    const turn = async (): Promise<void> => {
      await pace.turn()
      snapshot.checkGrid('read')
    }
    const sparse = count > SPARSE * pinned.storedCount
    const places = sparse ? await storedPlaces(pinned, touched, turn, pace) : undefined
    const total = places?.length ?? count
    for (let i = 0; i < total; i++) {
      if (pace.due()) await turn()
      const taken = look(places?.[i] ?? i, pinned)
      if (taken !== undefined) await taken
    }
  }
  if (next < count) await visit.missing(next, count)
}

/**
 * Adds the chunks that a region touches to a read; missing chunks of a box are added in runs.
 * @throws ConflictError if the array was resized meanwhile; the reason of the signal
 */
export async function locateMany<D extends DType>(
  snapshot: ChunkSnapshot,
  region: TouchedRegion,
  out: Tensor<D>,
  scatter: Scatter<D>,
  signal: Signal | undefined,
): Promise<void> {
  const touched = new TouchedChunks<AxisIndices>(region.axes, { axes: snapshot.grid.axes, counts: region.counts })
  const pace = new Pace(signal)
  const stored: ChunkVisit<AxisIndices>['stored'] = (_, found, projections) => scatter.add(toChunkCopy(projections, out), found)
  const missing = async (from: number, to: number): Promise<void> => {
    let absent = to - from
    for (const places of touched.places(from, to, FILL_SIZE)) {
      if (pace.due()) {
        await pace.turn()
        snapshot.checkGrid('read')
      }
      scatter.fill({ to: places, out }, absent)
      absent = 0
    }
  }
  await visitChunks(snapshot, touched, { stored, missing }, signal)
}

/** Returns the stored chunks among those touched, ascending, each once. */
async function storedPlaces<I extends AxisIndices>(
  snapshot: PinnedChunks,
  touched: TouchedChunks<I>,
  turn: () => Promise<void>,
  pace: Pace,
): Promise<Float64Array> {
  const found: number[] = []
  for (const chunkIndex of snapshot.stored()) {
    if (pace.due()) await turn()
    const at = touched.find(chunkIndex)
    if (at !== undefined) found.push(at)
  }
  const sorted = Float64Array.from(found).sort()
  return sorted.filter((at, i) => i === 0 || at !== sorted[i - 1])
}

/** Returns the number of blocks that reading some boxes fetches; undefined if counting would take long. */
export function countRequests(
  snapshot: ChunkSnapshot,
  boxes: readonly Box[],
  strided: ChunkIndex['strided'],
): number | undefined {
  const { grid } = snapshot
  const touched = boxes.map((box) => countChunks(box, grid))
  const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0)
  const { storedCount } = snapshot
  // Returns an upper bound if counting would take long, because this function never yields to the event loop.
  if (sum(touched.map((count) => (count <= FEW_CHUNKS ? count : storedCount))) > MOST_LOOKUPS)
    return strided === undefined ? Math.min(sum(touched), storedCount) : undefined
  const blocks = new Set<BlockRef>()
  const add = (chunkIndex: number): void => {
    const found = snapshot.locate(chunkIndex)
    if (found !== undefined && !(found instanceof Uint8Array) && found.block !== undefined) blocks.add(found.block)
  }
  for (const [i, box] of boxes.entries()) {
    if (touched[i]! <= FEW_CHUNKS) projectBox(box, grid, add)
    else {
      // Iterates over stored chunks, because few of the many touched ones may be stored.
      for (const chunkIndex of snapshot.stored())
        if (grid.index(chunkIndex).every((k, axis) => touches(box[axis]!, grid.axes[axis]!, k))) add(chunkIndex)
    }
  }
  return blocks.size + (strided?.countRequests(snapshot, boxes) ?? 0)
}

/** Whether a range has a position in a chunk. */
function touches({ start, stop, step }: Range, chunks: AxisChunks, k: number): boolean {
  const first = start + Math.max(0, Math.ceil((chunks.start(k) - start) / step)) * step
  return first < Math.min(stop, chunks.stop(k))
}
