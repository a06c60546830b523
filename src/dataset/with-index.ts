import { DiskArray } from '../array/disk-array.ts'
import { inMemory } from '../array/lazy/generate.ts'
import { missingElements } from '../array/missing.ts'
import { missingTest } from '../array/missing-test.ts'
import { type DType, isFloat } from '../core/dtype.ts'
import { tensorOf } from '../core/tensor.ts'
import { dropAttributes } from './attributes.ts'
import { axisKindOf } from './cf/axis-kind.ts'
import { type Label, LabelIndex, type Labels } from './label-index.ts'
import { decodeTimes, encodeTimes } from './time/units.ts'
import { arrayOfLabels, type Variable } from './variable.ts'

/** What rounding takes of a float, as a part of it. */
const ROUNDING = { float32: 2 ** -24, float64: 2 ** -53 }

/** Times of floats are decoded to whole microseconds. */
const MICROSECOND = 1000

/**
 * A coordinate with its labels in memory, so that positions can be found by them.
 * @param data its values; those of times as they are stored
 */
export function withIndex(variable: Variable, data: ArrayLike<unknown>): Variable {
  const { name, dims, array, times, attrs } = variable
  const { dtype } = array
  if (times !== undefined)
    return withTimes(
      variable,
      decodeTimes(data as ArrayLike<number>, times, { isMissing: missingTest(missingElements(storedArray(variable).source)) }),
    )
  if (dtype === 'timestamp_ns') {
    const index = new LabelIndex(dims[0]!, data as Labels, { dtype, calendar: 'proleptic_gregorian' })
    return variable.with({ index, array: arrayOfLabels(index, dtype) })
  }
  const values = typeof data[0] === 'bigint' ? numbersOf(data as ArrayLike<bigint>) : (data as Labels)
  const period =
    axisKindOf(name, attrs) === 'longitude' && !/rad/i.test(String(attrs['units'] ?? '')) && isCyclic(values) ? 360 : undefined
  const index = new LabelIndex(dims[0]!, values as Labels, { dtype, period })
  return variable.with({ array: arrayOfLabels(new LabelIndex(dims[0]!, data as Labels, { dtype }), dtype), index })
}

/** The array that holds what times are counted in. */
export const storedArray = ({ stored, array }: Variable): DiskArray => stored ?? array

/**
 * Times of the standard calendars that 64 bits of nanoseconds do not hold stay numbers, as those of other
 * calendars are.
 */
function withTimes(variable: Variable, instants: BigInt64Array | bigint[]): Variable {
  const { dims, array, stored, times, attrs, encoding } = variable
  const kind = { dtype: storedArray(variable).dtype, calendar: times!.calendar, uncertainty: uncertaintyOf(instants, variable) }
  const index = new LabelIndex(dims[0]!, instants, kind)
  if (stored === undefined) return variable.with({ index })
  if (instants instanceof BigInt64Array)
    return variable.with({ index, array: arrayOfLabels(index, array.dtype), stored: undefined })
  const { units, calendar } = encoding
  const own = { ...attrs, units, ...(calendar !== undefined && { calendar }) }
  return variable.with({
    index,
    array: stored,
    attrs: own,
    stored: undefined,
    encoding: dropAttributes(encoding, ['units', 'calendar']),
  })
}

/**
 * A coordinate of times with other times in place of its own, stored as its own are: as numbers where they
 * are.
 */
export function withInstants(coord: Variable, instants: BigInt64Array | bigint[]): Variable {
  const index = new LabelIndex(coord.dims[0]!, instants, coord.index!.kind)
  // They may lie between whole units.
  const encoding = { ...coord.encoding, ...(coord.times && { dtype: 'float64' }) }
  if (coord.array.dtype === 'timestamp_ns' && instants instanceof BigInt64Array)
    return coord.with({ index, array: arrayOfLabels(index, 'timestamp_ns'), encoding })
  const numbers = encodeTimes(instants, coord.times!, { as: 'float64' })
  return coord.with({
    index,
    encoding,
    array: new DiskArray(inMemory(tensorOf('float64', [numbers.length], numbers as Float64Array))),
  })
}

/** Whether longitudes lie within one round: only then another round of them means the same places. */
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

/** Integers of 64 bits as numbers, where these hold them. */
function numbersOf(values: ArrayLike<bigint>): ArrayLike<Label> {
  const list = Array.from(values)
  return list.every((value) => Number.isSafeInteger(Number(value))) ? Float64Array.from(list, Number) : values
}

/** By how many nanoseconds times that are stored as floats may be off. */
function uncertaintyOf(instants: ArrayLike<bigint>, { encoding, times }: Variable): bigint {
  const dtype = encoding['dtype'] as DType
  if (times === undefined || !isFloat(dtype)) return 0n
  let most = 0
  for (let i = 0; i < instants.length; i++) most = Math.max(most, Math.abs(Number(instants[i]! - times.reference)))
  return BigInt(Math.ceil(2 * ROUNDING[dtype] * most + MICROSECOND))
}
