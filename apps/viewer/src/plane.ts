// The plane that is drawn, at one resolution or another, and which of its cells are read.
import type { Axis } from './axes.ts'

/** A pair of numbers: along rows, and along columns. */
export type Sides = readonly [row: number, column: number]

/** The axes of a picture at one resolution. */
export interface Plane {
  readonly level: number
  /** How many levels there are; 1 of what is no pyramid. */
  readonly levels: number
  readonly y: Axis
  readonly x: Axis
  /** Cells of the finest resolution along each side of a cell of this one. */
  readonly ratio: Sides
}

/** The cells of a plane that are read: every so many, from the first on, of a number of cells. */
export interface Region {
  readonly from: Sides
  readonly size: Sides
  readonly steps: Sides
}

/** Cells of a plane that are in memory. */
export interface Cells extends Pick<Region, 'from' | 'steps'> {
  readonly plane: Plane
  readonly rows: number
  readonly columns: number
}

/** Elements that are read of one picture: the 1440 × 720 of a quarter of a degree, and twice as many. */
const MOST_ELEMENTS = 2 ** 21

/** Steps that leave no more elements than are read at most. */
function stepsFor([rows, columns]: Sides): Sides {
  const over = Math.sqrt((rows * columns) / MOST_ELEMENTS)
  if (over <= 1) return [1, 1]
  // A side that is short is kept.
  const row = Math.max(1, Math.min(Math.ceil(over), Math.floor(rows / 256)))
  return [row, Math.max(1, Math.ceil((rows * columns) / (row * MOST_ELEMENTS)))]
}

const regionOf = (from: Sides, size: Sides): Region => ({ from, size, steps: stepsFor(size) })

/** All of a plane, in steps where it is large. */
export const wholeRegion = ({ y, x }: Plane): Region => regionOf([0, 0], [y.length, x.length])

/** Whether a part of a plane is read by itself: where all of it is not in memory as it is, or is read at another level. */
export const isReadInParts = (plane: Plane): boolean => plane.levels > 1 || wholeRegion(plane).steps.some((step) => step > 1)

/** The cells from one to another along each side, with some around them, so that not every move reads anew. */
export function regionAround({ y, x }: Plane, first: Sides, last: Sides): Region {
  const sides = [y.length, x.length].map((length, side) => {
    const count = last[side]! - first[side]! + 1
    const grid = Math.max(1, 2 ** Math.floor(Math.log2(count / 2)))
    const from = Math.max(0, Math.floor((first[side]! - count / 4) / grid) * grid)
    return [from, Math.min(length, Math.ceil((last[side]! + 1 + count / 4) / grid) * grid) - from] as const
  })
  return regionOf([sides[0]![0], sides[1]![0]], [sides[0]![1], sides[1]![1]])
}

/**
 * The coarsest of several resolutions whose cells are at most two pixels wide; the finest where none are.
 * @param columns of each resolution
 * @param pixels that the whole plane would have if all of it were drawn as large as what is seen
 */
export function resolutionFor(columns: readonly number[], pixels: number): number {
  let best = columns.indexOf(Math.max(...columns))
  for (const [i, count] of columns.entries()) if (2 * count >= pixels && count < columns[best]!) best = i
  return best
}

/** The row and the column of a cell in the plane. */
export function positionsOf({ from, steps, columns }: Cells, cell: number): Sides {
  return [from[0] + Math.floor(cell / columns) * steps[0], from[1] + (cell % columns) * steps[1]]
}

/** The row and the column of a cell in the finest resolution. */
export function finestOf(cells: Cells, cell: number): Sides {
  const [row, column] = positionsOf(cells, cell)
  const { ratio } = cells.plane
  return [Math.floor((row + 0.5) * ratio[0]), Math.floor((column + 0.5) * ratio[1])]
}

/** The cell that has a row and a column of the finest resolution; -1 where it is not in memory. */
export function cellOf({ from, steps, rows, columns, plane: { ratio } }: Cells, finest: Sides): number {
  const [row, column] = [0, 1].map((side) => Math.floor((Math.floor(finest[side]! / ratio[side]!) - from[side]!) / steps[side]!))
  return row! >= 0 && column! >= 0 && row! < rows && column! < columns ? row! * columns + column! : -1
}
