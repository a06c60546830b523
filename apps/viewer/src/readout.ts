// What is said of values and of where they lie.
import type { DataArray } from 'hyperslab/dataset'
import type { Frame } from './frame.ts'
import { type Cells, positionsOf } from './plane.ts'
import type { ViewState } from './state.ts'
import type { Subject } from './subject.ts'
import { plural, show, unitsOf } from './words.ts'

/** @param isDifference of two times, which is a number of seconds */
export function valueText(array: DataArray, value: number, { withUnits = true, isDifference = false } = {}): string {
  if (array.dtype === 'timestamp_ns' && !isDifference) return show(new Date(value * 1000))
  return withUnits ? `${show(value)} ${unitsOf(array)}`.trim() : show(value)
}

/** Where a cell lies along the axes of the picture. */
export function placeText(cells: Cells, cell: number): string {
  const { y, x } = cells.plane
  const positions = positionsOf(cells, cell)
  return [y, x]
    .map(({ dim, places, isGlobe, isTime, label }, side) => {
      // What has no coordinate names its dimension itself; dates and places of the globe need no name.
      const isNamed = places === undefined || isGlobe || isTime
      const text = label(positions[side]!)
      return isNamed ? text : `${dim} ${text}`
    })
    .join(', ')
}

/** Where a picture lies along what it does not show. */
export function whereText(subject: Subject, state: ViewState): string {
  const { by, at, mean, minus } = subject.derivation(state)
  const slow = subject.slow(state)
  const parts = Object.entries(at).map(([dim, position]) => {
    const { label } = subject.axes.get(dim)!
    const other = minus?.[dim]
    const name = dim === by?.unit ? `mean of each ${dim}:` : dim
    return `${name} ${label(position)}${other === undefined || dim !== slow ? '' : ` less ${label(other)}`}`
  })
  return [...parts, ...(mean === undefined ? [] : [`mean along ${mean}`])].join(' · ')
}

/** Which cells a frame has, where these are not all that there are. */
export function detailText({ plane, steps }: Frame, subject: Subject): string {
  const thinned = steps.some((step) => step > 1) ? `every ${steps.join(' × ')}th cell` : ''
  return [subject.levelText(plane.level), thinned].filter((text) => text !== '').join(', ')
}

export const gapsText = ({ missing }: Frame): string => (missing > 0 ? `, ${plural(missing, 'cell')} without a value` : '')
