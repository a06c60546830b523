import { invalidArgument } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import { type Named, resolveAxes } from './axes.ts'

/**
 * Converts an object with values by axis to a map by axis number. Its keys are dimension names or numbers;
 * objects store numbers as strings.
 * @throws InvalidArgumentError for axes that do not exist or are given twice
 */
export function byAxis<T>(given: { readonly [axis: string]: T }, array: Named): Map<number, T> {
  if (typeof given !== 'object' || given === null) invalidArgument(`expected an object by axis, got ${quoted(given)}`, given)
  const entries = Object.entries(given)
  const named = (key: string): boolean => array.dimensionNames?.includes(key) === true || !/^-?\d+$/.test(key)
  const axes = resolveAxes(
    entries.map(([key]) => (named(key) ? key : Number(key))),
    array,
  )
  return new Map([...axes].map((axis, i) => [axis, entries[i]![1]]))
}
