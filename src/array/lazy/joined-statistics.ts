import { fillElement } from '../../core/dtype.ts'
import { forEachLimited } from '../../core/limiter.ts'
import type { Box } from '../../grid/range.ts'
import type { BlockOptions, BlockSource, ChunkFacts } from '../source.ts'
import type { Tile } from './mosaic.ts'
import { overlapOf } from './overlap.ts'
import { READS_AT_A_TIME } from './picks.ts'

/**
 * What is known of the elements of boxes of arrays put together: of those that lie in one tile what is known
 * there. Where the tile has another fill value than the whole, its counts mean something else.
 */
export async function joinedStatistics(
  whole: BlockSource,
  tiles: readonly Tile[],
  options?: BlockOptions,
): Promise<(box: Box) => ChunkFacts | undefined> {
  const known = new Map<Tile, (box: Box) => ChunkFacts | undefined>()
  await forEachLimited(tiles, READS_AT_A_TIME, async (tile) => {
    const own = await tile.source.bulk?.statistics?.(options)
    if (own !== undefined) known.set(tile, own)
  })
  return (box) => {
    const touched = tiles.filter(({ origin, source }) => overlapOf(box, origin, source.shape) !== undefined)
    const tile = touched[0]
    if (tile === undefined || touched.length > 1) return undefined
    const { origin, source } = tile
    const overlap = overlapOf(box, origin, source.shape)!
    // Around the tile there are elements that nobody knows of.
    if (!overlap.outer.every(({ length }, axis) => length === Math.ceil((box[axis]!.stop - box[axis]!.start) / box[axis]!.step)))
      return undefined
    const facts = known.get(tile)?.(overlap.box)
    return facts && withFill(facts, source, whole)
  }
}

function withFill(facts: ChunkFacts, { dtype, fillValue }: BlockSource, whole: BlockSource): ChunkFacts | undefined {
  const isSame =
    (fillValue === undefined) === (whole.fillValue === undefined) &&
    Object.is(fillElement(dtype, fillValue), fillElement(dtype, whole.fillValue))
  if (isSame) return facts
  // Elements that are its fill value are values like others to the whole.
  return facts.fillCount === 0 ? { ...facts, exact: false } : undefined
}
