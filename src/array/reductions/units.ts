import { FAN_IN, MergeTree, type Merging } from '../../aggregate/merge-tree.ts'
import { sizeOf } from '../../core/shape.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import type { Box } from '../../grid/range.ts'
import { wholeBox } from '../../grid/range.ts'
import { TouchedChunks } from '../../grid/touched.ts'
import { type BlockSource, bytesOf, type ReduceBoxOptions } from '../source.ts'

/**
 * Bytes of elements in a unit, unless a chunk is larger: enough to be worth a request, and few enough that a
 * task of some units fits anywhere.
 */
export const UNIT_BYTES = 16 * 2 ** 20

/**
 * Returns the units of an array: runs of whole chunks in C order. They depend on the chunk grid alone. A
 * reduction merged unit by unit therefore gives the same bits wherever each unit is reduced.
 */
export const unitsOf = (source: BlockSource, unitBytes: number): ChunkGrid =>
  source.chunks.coarsen(unitBytes / bytesOf(source.dtype))

/** Number of cells of a unit up to which merging is cheap compared with reducing its elements. */
const FEW_CELLS = 2 ** 16

/** Units, and the pieces of them that are read at once. */
export interface PiecedUnits {
  readonly pieces: ChunkGrid
  readonly units: ChunkGrid
}

/**
 * Returns the units of a reduction along axes. Units with many cells become longer, up to sixteen times, as
 * long as that adds no cells.
 */
export function unitsAlong(source: BlockSource, unitBytes: number, reduced: readonly boolean[]): PiecedUnits {
  const pieces = unitsOf(source, unitBytes)
  const cells = sizeOf(pieces.chunkShape.map((length, axis) => (reduced[axis] ? 1 : Math.min(length, pieces.shape[axis]!))))
  const times = Math.min(FAN_IN, Math.ceil(cells / FEW_CELLS))
  const units = pieces.coarsen((times * unitBytes) / bytesOf(source.dtype))
  const hasSameCells = units.counts.every((count, axis) => reduced[axis] || count === pieces.counts[axis])
  return { pieces, units: times > 1 && hasSameCells ? units : pieces }
}

/** Returns the number of the first piece of a unit; for the number of units, the number of pieces. */
export const firstPiece = ({ pieces, units }: PiecedUnits, unit: number): number =>
  unit === units.count ? pieces.count : pieces.chunkIndex(pieces.find(units.box(units.index(unit)).map(({ start }) => start)))

/** A reduction divided into units. Each is reduced to a partial aggregate `P`; together they yield `R`. */
export interface DividedReduction<P = unknown, R = unknown> extends Merging<P> {
  readonly units: ChunkGrid
  /** Reduces the units `[from, to)`, and adds their partial aggregates to a tree in order. */
  reduce(from: number, to: number, tree: MergeTree<P>, options: ReduceBoxOptions): Promise<void>
  /** @param all partial aggregate of all units; undefined if there is nothing to reduce */
  finish(all: P | undefined): R
}

/** Reduces some units. If they are those of a node, the result is merged like in the tree of all units. */
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

export async function reduceWhole<P, R>(divided: DividedReduction<P, R>, options: ReduceBoxOptions): Promise<R> {
  return divided.finish(await reduceUnits(divided, 0, divided.units.count, options))
}

/** A unit, or an unwritten node, with the boxes that it covers. */
export interface UnitNode {
  readonly level: number
  readonly boxes: readonly Box[]
}

/**
 * Yields the units `[from, to)` in order; unwritten ones are merged into the largest unwritten nodes.
 * @param written numbers of written units, ascending; undefined if all count as written
 */
export function* unitNodes(
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
