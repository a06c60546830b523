import { findAxisKind } from './cf/axis-kind.ts'
import { LabelIndex } from './label-index.ts'
import type { Label, Labels } from './label-values.ts'
import { arrayOfLabels, type Variable } from './variable.ts'

/**
 * Returns a coordinate with its labels in memory, so that selections can find positions.
 * @param data values of the coordinate, which need no decoding as times
 */
export function withIndex(variable: Variable, data: ArrayLike<unknown>): Variable {
  const { name, dims, array, attrs } = variable
  const { dtype } = array
  if (dtype === 'timestamp_ns') {
    const index = new LabelIndex(dims[0]!, data as Labels, { dtype, calendar: 'proleptic_gregorian' })
    return variable.with({ index, array: arrayOfLabels(index, dtype) })
  }
  const values = typeof data[0] === 'bigint' ? asNumbers(data as ArrayLike<bigint>) : (data as Labels)
  const period =
    findAxisKind(name, attrs) === 'longitude' && !/rad/i.test(String(attrs['units'] ?? '')) && isCyclic(values) ? 360 : undefined
  const index = new LabelIndex(dims[0]!, values as Labels, { dtype, period })
  return variable.with({ array: arrayOfLabels(new LabelIndex(dims[0]!, data as Labels, { dtype }), dtype), index })
}

/** Whether longitudes span at most one round. Only then do shifted longitudes name the same places. */
function isCyclic(values: ArrayLike<unknown>): boolean {
  if (typeof values[0] !== 'number') return false
  const list = values as ArrayLike<number>
  let [low, high] = [Infinity, -Infinity]
  for (let i = 0; i < list.length; i++) {
    low = Math.min(low, list[i]!)
    high = Math.max(high, list[i]!)
  }
  return high - low <= 360
}

/** Converts 64-bit integers to numbers, if all are safe integers. */
function asNumbers(values: ArrayLike<bigint>): ArrayLike<Label> {
  const list = Array.from(values)
  return list.every((value) => Number.isSafeInteger(Number(value))) ? Float64Array.from(list, Number) : values
}
