import { HyperslabError } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'

/** An axis by number, with negative ones counting from the end, or by dimension name. */
export type Axis = number | string
export type AxisOption = Axis | readonly Axis[]

/** Facts of an array that resolving an axis by name needs. */
export interface Named {
  readonly shape: readonly number[]
  readonly dimensionNames?: readonly string[] | undefined
}

/**
 * Resolves axes to numbers; all axes by default.
 * @throws InvalidArgumentError for axes that do not exist or are given twice
 */
export function resolveAxes(option: AxisOption | undefined, array: Named): Set<number> {
  if (option === undefined) return new Set(array.shape.keys())
  const given = (Array.isArray(option) ? option : [option]) as readonly Axis[]
  const axes = given.map((axis) => resolveAxis(axis, array))
  const set = new Set(axes)
  if (set.size < axes.length)
    throw new HyperslabError('InvalidArgumentError', `axis ${given.join(', ')} names one axis twice`, { actual: given })
  return set
}

function resolveAxis(axis: Axis, { shape, dimensionNames = [] }: Named): number {
  const rank = shape.length
  const place = typeof axis === 'string' ? dimensionNames.indexOf(axis) : typeof axis === 'number' ? axis : Number.NaN
  const number = typeof axis === 'number' && axis < 0 ? axis + rank : place
  if (Number.isInteger(number) && number >= 0 && number < rank) return number
  const names = dimensionNames.length > 0 ? ` (${dimensionNames.join(', ')})` : ''
  throw new HyperslabError('InvalidArgumentError', `there is no axis ${quoted(axis)} in an array of ${rank} axes${names}`, {
    actual: axis,
    expected: [...dimensionNames],
  })
}
