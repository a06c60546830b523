import { HyperslabError, invalidArgument } from '../core/errors.ts'

/** An axis by number, negative ones counting from the end, or by dimension name. */
export type Axis = number | string
export type AxisOption = Axis | readonly Axis[]

/** What it takes to know an axis by its name. */
export interface Named {
  readonly shape: readonly number[]
  readonly dimensionNames?: readonly string[] | undefined
}

/**
 * The axes meant; all of them when none is given.
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

/**
 * What an object gives for axes, by their numbers. Its keys are names or numbers; as keys these are strings,
 * too.
 * @throws InvalidArgumentError for axes that do not exist or are given twice
 */
export function byAxis<T>(given: { readonly [axis: string]: T }, array: Named): Map<number, T> {
  if (typeof given !== 'object' || given === null) invalidArgument(`expected an object by axis, got ${String(given)}`, given)
  const entries = Object.entries(given)
  const named = (key: string): boolean => array.dimensionNames?.includes(key) === true || !/^-?\d+$/.test(key)
  const axes = resolveAxes(
    entries.map(([key]) => (named(key) ? key : Number(key))),
    array,
  )
  return new Map([...axes].map((axis, i) => [axis, entries[i]![1]]))
}

function resolveAxis(axis: Axis, { shape, dimensionNames = [] }: Named): number {
  const rank = shape.length
  const number = typeof axis === 'string' ? dimensionNames.indexOf(axis) : axis < 0 ? axis + rank : axis
  if (Number.isInteger(number) && number >= 0 && number < rank) return number
  const names = dimensionNames.length > 0 ? ` (${dimensionNames.join(', ')})` : ''
  throw new HyperslabError(
    'InvalidArgumentError',
    `there is no axis ${JSON.stringify(axis)} in an array of ${rank} axes${names}`,
    {
      actual: axis,
      expected: [...dimensionNames],
    },
  )
}
