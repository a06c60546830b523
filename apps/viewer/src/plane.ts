// The drawn plane at a resolution, and the region of it that is read.
import type { Axis } from './axes.ts'

/** A pair of numbers, for rows and for columns. */
export type Sides = readonly [row: number, column: number]

/** Axes of a picture at one resolution. */
export interface Plane {
  readonly level: number
  /** Number of levels; 1 if there is no pyramid. */
  readonly levels: number
  readonly y: Axis
  readonly x: Axis
  /** Number of finest cells along each side of a cell. */
  readonly ratio: Sides
}

/** Cells of a plane that are read: every n-th within a range, for each side. */
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

/** Most elements read for a picture: twice the 1440 × 720 cells of a quarter of a degree. */
const MOST_ELEMENTS = 2 ** 21

/** Returns steps that limit the number of elements. */
function stepsFor([rows, columns]: Sides): Sides {
  const over = Math.sqrt((rows * columns) / MOST_ELEMENTS)
  if (over <= 1) return [1, 1]
  // A short side keeps its resolution.
  const row = Math.max(1, Math.min(Math.ceil(over), Math.floor(rows / 256)))
  return [row, Math.max(1, Math.ceil((rows * columns) / (row * MOST_ELEMENTS)))]
}

const regionOf = (from: Sides, size: Sides): Region => ({ from, size, steps: stepsFor(size) })

/** Returns the region of a whole plane, with steps if it is large. */
export const wholeRegion = ({ y, x }: Plane): Region => regionOf([0, 0], [y.length, x.length])

/** Whether parts of a plane are read separately, because the whole is thinned or has other levels. */
export const isReadInParts = (plane: Plane): boolean => plane.levels > 1 || wholeRegion(plane).steps.some((step) => step > 1)

/** Returns the region around a range of cells, with a margin so that small moves need no read. */
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
 * Returns the coarsest resolution whose cells are at most two pixels wide; the finest if there is none.
 * @param columns number of columns of each resolution
 * @param pixels width of the whole plane in pixels, at the scale of the visible part
 */
export function resolutionFor(columns: readonly number[], pixels: number): number {
  let best = columns.indexOf(Math.max(...columns))
  for (const [i, count] of columns.entries()) if (2 * count >= pixels && count < columns[best]!) best = i
  return best
}

/** Returns row and column of a cell in the plane. */
export function positionsOf({ from, steps, columns }: Cells, cell: number): Sides {
  return [from[0] + Math.floor(cell / columns) * steps[0], from[1] + (cell % columns) * steps[1]]
}

/** Returns row and column of a cell in the finest resolution. */
export function finestOf(cells: Cells, cell: number): Sides {
  const [row, column] = positionsOf(cells, cell)
  const { ratio } = cells.plane
  return [Math.floor((row + 0.5) * ratio[0]), Math.floor((column + 0.5) * ratio[1])]
}

/** Returns the cell with a row and a column of the finest resolution; -1 if it is not in memory. */
export function cellOf({ from, steps, rows, columns, plane: { ratio } }: Cells, finest: Sides): number {
  const [row, column] = [0, 1].map((side) => Math.floor((Math.floor(finest[side]! / ratio[side]!) - from[side]!) / steps[side]!))
  return row! >= 0 && column! >= 0 && row! < rows && column! < columns ? row! * columns + column! : -1
}
