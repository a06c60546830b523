import type { DiskArray } from '../array/disk-array.ts'
import { missingElements } from '../array/missing.ts'
import { missingTest } from '../array/missing-test.ts'
import { type DType, isFloat } from '../core/dtype.ts'
import { dropAttributes } from './attributes.ts'
import { LabelIndex } from './label-index.ts'
import { decodeTimes } from './time/units.ts'
import { arrayOfLabels, type Variable } from './variable.ts'
import { withIndex } from './with-index.ts'

/** What rounding takes of a float, as a part of it. */
const ROUNDING = { float32: 2 ** -24, float64: 2 ** -53 }

/** Times of floats are decoded to whole microseconds. */
const MICROSECOND = 1000

/**
 * A coordinate with its labels in memory, as {@link withIndex}, once they have been read.
 * @param data its values; those of times as they are stored
 */
export function withReadIndex(variable: Variable, data: ArrayLike<unknown>): Variable {
  const { times } = variable
  if (times === undefined) return withIndex(variable, data)
  const isMissing = missingTest(missingElements(storedArray(variable).source))
  return withTimes(variable, decodeTimes(data as ArrayLike<number>, times, { isMissing }))
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

/** By how many nanoseconds times that are stored as floats may be off. */
function uncertaintyOf(instants: ArrayLike<bigint>, { encoding, times }: Variable): bigint {
  const dtype = encoding['dtype'] as DType
  if (times === undefined || !isFloat(dtype)) return 0n
  let most = 0
  for (let i = 0; i < instants.length; i++) most = Math.max(most, Math.abs(Number(instants[i]! - times.reference)))
  return BigInt(Math.ceil(2 * ROUNDING[dtype] * most + MICROSECOND))
}
