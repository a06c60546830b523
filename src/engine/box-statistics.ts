import type { ChunkFacts } from '../array/source.ts'
import { sizeOf } from '../core/shape.ts'
import { countChunks, projectBox } from '../grid/projection.ts'
import type { Box } from '../grid/range.ts'
import { type ChunkSnapshot, type Elements, FEW_CHUNKS } from './chunk-index.ts'
import { factsOf, factsOfMissing } from './scan-chunks.ts'

/**
 * What is known of the elements of a box by the statistics of the chunks that it touches, which must be
 * loaded: of whole chunks exactly, of parts of chunks as much as is known of all of them.
 * @returns undefined when nothing is known of one of them, and of boxes that touch too many
 */
export function boxStatistics(snapshot: ChunkSnapshot, box: Box, { fill, hasFill }: Elements): ChunkFacts | undefined {
  const { grid, statistics } = snapshot
  if (countChunks(box, grid) > FEW_CHUNKS) return undefined
  let all: ChunkFacts | undefined = { min: undefined, max: undefined, count: 0, fillCount: 0, exact: true }
  projectBox(box, grid, (number, projections) => {
    if (all === undefined) return
    const found = snapshot.locate(number)
    const lengths = projections.map(({ from }) => from.length)
    // Elements that nobody wrote are all alike: those of a part of a chunk are known, too.
    if (found === undefined) all = joined(all, factsOfMissing(sizeOf(lengths), fill, hasFill))
    else {
      const stats = found instanceof Uint8Array ? undefined : statistics?.of(number)
      const facts = stats && factsOf(stats)
      const isWhole = projections.every(({ length }, axis) => length === lengths[axis])
      all = joined(all, facts && { ...facts, exact: isWhole })
    }
  })
  return all
}

function joined(one: ChunkFacts, other: ChunkFacts | undefined): ChunkFacts | undefined {
  if (other === undefined) return undefined
  const [fillCount, exact] = [one.fillCount + other.fillCount, one.exact && other.exact]
  if (other.count === 0) return { ...one, fillCount, exact }
  if (one.count === 0) return { ...other, fillCount, exact }
  return {
    // biome-ignore lint/complexity/useMathMinMax: they may be bigints
    min: one.min! < other.min! ? one.min : other.min,
    // biome-ignore lint/complexity/useMathMinMax: they may be bigints
    max: one.max! > other.max! ? one.max : other.max,
    count: one.count + other.count,
    fillCount,
    exact,
  }
}
