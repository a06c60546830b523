// Describes values and their positions.
import type { DataArray } from 'hyperslab/dataset'
import type { Axis } from './axes.ts'
import type { Frame } from './frame.ts'
import { type Cells, positionsOf } from './plane.ts'
import type { ViewState } from './state.ts'
import type { Subject } from './subject.ts'
import { plural, show, unitsOf } from './words.ts'

/**
 * Formats a value.
 * @param isDifference whether the value is a difference of two times, in seconds
 */
export function valueText(array: DataArray, value: number, { withUnits = true, isDifference = false } = {}): string {
  if (array.dtype === 'timestamp_ns' && !isDifference) return show(new Date(value * 1000))
  return withUnits ? `${show(value)} ${unitsOf(array)}`.trim() : show(value)
}

/** Describes the position of a cell along the drawn axes. */
export function placeText(cells: Cells, cell: number): string {
  const { y, x } = cells.plane
  const positions = positionsOf(cells, cell)
  return [y, x]
    .map((axis, side) => {
      const position = positions[side]!
      // Dates and places on the globe need no name.
      return axis.isGlobe || axis.isTime ? axis.label(position) : namedPosition(axis, position)
    })
    .join(', ')
}

/** Describes a position with the name of its dimension, which labels without a coordinate begin with. */
function namedPosition({ dim, places, label }: Axis, position: number): string {
  const text = label(position)
  return places === undefined && text.startsWith(`${dim} `) ? text : `${dim} ${text}`
}

/** Describes the position of a picture along the undrawn dimensions. */
export function whereText(subject: Subject, state: ViewState): string {
  const { by, at, mean, minus } = subject.derivation(state)
  const slow = subject.slow(state)
  const parts = Object.entries(at).map(([dim, position]) => {
    const axis = subject.axes.get(dim)!
    const { label } = axis
    const other = minus?.[dim]
    const text = dim === by?.unit ? `mean of each ${dim}: ${label(position)}` : namedPosition(axis, position)
    return `${text}${other === undefined || dim !== slow ? '' : ` less ${label(other)}`}`
  })
  return [...parts, ...(mean === undefined ? [] : [`mean along ${mean}`])].join(' · ')
}

/** Describes the cells of a frame, if they are not all cells. */
export function detailText({ plane, steps }: Frame, subject: Subject): string {
  const thinned = steps.some((step) => step > 1) ? `every ${steps.join(' × ')}th cell` : ''
  return [subject.levelText(plane.level), thinned].filter((text) => text !== '').join(', ')
}

export const gapsText = ({ missing }: Frame): string => (missing > 0 ? `, ${plural(missing, 'cell')} without a value` : '')
