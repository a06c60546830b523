// What is said of values and of where they lie.
import type { DataArray } from 'hyperslab/dataset'
import type { Axis } from './axes.ts'
import type { Frame } from './frame.ts'
import { show, unitsOf } from './words.ts'

/** @param isDifference of two times, which is a number of seconds */
export function valueText(array: DataArray, value: number, { withUnits = true, isDifference = false } = {}): string {
  if (array.dtype === 'timestamp_ns' && !isDifference) return show(new Date(value * 1000))
  return withUnits ? `${show(value)} ${unitsOf(array)}`.trim() : show(value)
}

/** A cell of a frame as its row and column. */
export const rowAndColumn = ({ columns }: Frame, cell: number): [row: number, column: number] => [
  Math.floor(cell / columns),
  cell % columns,
]

/** Where a cell lies along the axes of the picture. */
export function placeText({ steps }: Frame, cell: readonly [row: number, column: number], axes: readonly [y: Axis, x: Axis]): string {
  return axes
    .map(({ dim, places, isGlobe, isTime, label }, side) => {
      // What has no coordinate names its dimension itself; dates and places of the globe need no name.
      const isNamed = places === undefined || isGlobe || isTime
      const text = label(cell[side]! * steps[side]!)
      return isNamed ? text : `${dim} ${text}`
    })
    .join(', ')
}
