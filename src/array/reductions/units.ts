import { FAN_IN, MergeTree, type Merging } from '../../aggregate/merge-tree.ts'
import { sizeOf } from '../../core/shape.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import type { Box } from '../../grid/range.ts'
import { wholeBox } from '../../grid/range.ts'
import { TouchedChunks } from '../../grid/touched.ts'
import { type BlockSource, bytesOf, type ReduceBoxOptions } from '../source.ts'

/**
 * Bytes of elements in a unit, unless a chunk is larger: enough to be worth a request, and so few that a task
 * of some units fits anywhere.
 */
export const UNIT_BYTES = 16 * 2 ** 20

/**
 * The units of an array: runs of whole chunks in C order. They follow from the chunk grid alone, so that a
 * reduction that is merged unit by unit gives the same bits wherever each of them is reduced.
 */
export const unitsOf = (source: BlockSource, unitBytes: number): ChunkGrid =>
  source.chunks.coarsen(unitBytes / bytesOf(source.dtype))

/** Cells of a unit up to which merging them costs little beside reducing its elements. */
const FEW_CELLS = 2 ** 16

/** Units, and the pieces of them that are read at once. */
export interface PiecedUnits {
  readonly pieces: ChunkGrid
  readonly units: ChunkGrid
}

/**
 * The units of a reduction along axes: the more cells a unit has, the longer it is, up to sixteen times, as
 * far as it gets no more cells by that.
 */
export function unitsAlong(source: BlockSource, unitBytes: number, reduced: readonly boolean[]): PiecedUnits {
  const pieces = unitsOf(source, unitBytes)
  const cells = sizeOf(pieces.chunkShape.map((length, axis) => (reduced[axis] ? 1 : Math.min(length, pieces.shape[axis]!))))
  const times = Math.min(FAN_IN, Math.ceil(cells / FEW_CELLS))
  const units = pieces.coarsen((times * unitBytes) / bytesOf(source.dtype))
  const hasSameCells = units.counts.every((count, axis) => reduced[axis] || count === pieces.counts[axis])
  return { pieces, units: times > 1 && hasSameCells ? units : pieces }
}

/** The number of the first piece of a unit, or of all there are for the number of units. */
export const firstPiece = ({ pieces, units }: PiecedUnits, unit: number): number =>
  unit === units.count ? pieces.count : pieces.number(pieces.find(units.box(units.index(unit)).map(({ start }) => start)))

/** A reduction taken apart into units, each reduced to a partial aggregate `P`; all of them give `R`. */
export interface DividedReduction<P = unknown, R = unknown> extends Merging<P> {
  readonly units: ChunkGrid
  /** Reduces units from one number up to another, and adds what they come to to a tree, in order. */
  reduce(from: number, to: number, tree: MergeTree<P>, options: ReduceBoxOptions): Promise<void>
  /** @param all what all units come to; undefined where there is nothing to reduce */
  finish(all: P | undefined): R
}

/** What some units come to, merged as the tree of all of them has it where they are those of a node. */
export async function reduceUnits<P>(
  divided: DividedReduction<P>,
  from: number,
  to: number,
  options: ReduceBoxOptions,
): Promise<P | undefined> {
  const tree = new MergeTree(divided)
  await divided.reduce(from, to, tree, options)
  return tree.finish()
}

/** The result of a whole reduction, unit by unit. */
export async function reduceWhole<P, R>(divided: DividedReduction<P, R>, options: ReduceBoxOptions): Promise<R> {
  return divided.finish(await reduceUnits(divided, 0, divided.units.count, options))
}

/** A unit, or a node of which nothing is written: the boxes that it covers. */
export interface UnitNode {
  readonly level: number
  readonly boxes: readonly Box[]
}

/**
 * Units from one number up to another, in order; those in which nobody wrote anything as the largest nodes
 * that are made of such alone.
 * @param written numbers of units in which somebody wrote, ascending; undefined where all of them count as
 *   such
 */
export function* nodesOf(
  units: ChunkGrid,
  [from, to]: readonly [number, number],
  written: Float64Array | undefined,
): Generator<UnitNode, void> {
  const unit = (number: number): UnitNode => ({ level: 0, boxes: [units.box(units.index(number))] })
  if (written === undefined) {
    for (let number = from; number < to; number++) yield unit(number)
    return
  }
  const all = new TouchedChunks(wholeBox(units.shape), units)
  const nodes = function* (next: number, end: number): Generator<UnitNode, void> {
    while (next < end) {
      let [level, size] = [0, 1]
      while (next % (size * FAN_IN) === 0 && Math.min(units.count, next + size * FAN_IN) <= end && size < units.count) {
        size *= FAN_IN
        level++
      }
      const stop = Math.min(units.count, next + size)
      yield { level, boxes: [...all.boxes(next, stop)] }
      next = stop
    }
  }
  let next = from
  for (const number of written) {
    if (number < from || number >= to) continue
    yield* nodes(next, number)
    yield unit(number)
    next = number + 1
  }
  yield* nodes(next, to)
}
