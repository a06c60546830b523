import { Pace } from '../core/pace.ts'
import { eachIndex } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import type { ChunkSnapshot } from './chunk-index.ts'

/** Chunks of the other grid per stored chunk, up to which a table of marks is used instead of a list. */
const MAX_MARKS_PER_CHUNK = 8
const ALWAYS_MARKED = 2 ** 16

/**
 * Returns the chunks of `grid` that overlap a stored chunk, as ascending numbers. Takes time linear in the
 * stored chunks.
 * @returns undefined if that is all chunks
 * @throws ConflictError if the array was resized meanwhile; the reason of the signal
 */
export async function writtenChunks(
  snapshot: ChunkSnapshot,
  grid: ChunkGrid,
  signal: Signal | undefined,
): Promise<Float64Array | undefined> {
  const pinned = snapshot.pinned()
  const { grid: own, storedCount } = pinned
  const marks = grid.count <= Math.max(ALWAYS_MARKED, MAX_MARKS_PER_CHUNK * storedCount) ? new Uint8Array(grid.count) : undefined
  const found: number[] = []
  let last = -1
  const note = (chunkIndex: number): void => {
    if (chunkIndex === last) return
    last = chunkIndex
    if (marks === undefined) found.push(chunkIndex)
    else marks[chunkIndex] = 1
  }
  const pace = new Pace(signal)
  for (const chunkIndex of pinned.stored()) {
    if (pace.due()) await pace.turn()
    snapshot.checkGrid('read')
    const spans = own.index(chunkIndex).map((k, axis) => {
      const [chunks, other] = [own.axes[axis]!, grid.axes[axis]!]
      const first = other.find(chunks.start(k))
      return { first, count: other.find(chunks.stop(k) - 1) - first + 1 }
    })
    const firsts = spans.map(({ first }) => first)
    if (spans.every(({ count }) => count === 1)) note(grid.chunkIndex(firsts))
    else
      eachIndex(
        spans.map(({ count }) => count),
        (index) => note(grid.chunkIndex(index.map((i, axis) => firsts[axis]! + i))),
      )
  }
  if (marks !== undefined)
    for (let chunkIndex = 0; chunkIndex < marks.length; chunkIndex++) if (marks[chunkIndex] === 1) found.push(chunkIndex)
  const sorted = Float64Array.from(found)
  const once = marks !== undefined ? sorted : sorted.sort().filter((chunkIndex, i) => i === 0 || chunkIndex !== sorted[i - 1])
  return once.length === grid.count ? undefined : once
}
