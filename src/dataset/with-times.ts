import type { DiskArray } from '../array/disk-array.ts'
import { missingElements } from '../array/missing.ts'
import { missingTest } from '../array/missing-test.ts'
import { type DType, isFloat } from '../core/dtype.ts'
import { dropAttributes } from './attributes.ts'
import { LabelIndex } from './label-index.ts'
import { isMissingLabel } from './label-values.ts'
import { decodeTimes } from './time/units.ts'
import { arrayOfLabels, type Variable } from './variable.ts'
import { withIndex } from './with-index.ts'

/** Relative rounding error of floats. */
const ROUNDING = { float32: 2 ** -24, float64: 2 ** -53 }

/** Decoding rounds floating-point times to microseconds. */
const MICROSECOND = 1000

/**
 * Returns a coordinate with its labels in memory, as {@link withIndex}, after they were read.
 * @param data values of the coordinate; for times, as stored
 */
export function withReadIndex(variable: Variable, data: ArrayLike<unknown>): Variable {
  const { times } = variable
  if (times === undefined) return withIndex(variable, data)
  const isMissing = missingTest(missingElements(storedArray(variable).source))
  return withTimes(variable, decodeTimes(data as ArrayLike<number>, times, { isMissing }))
}

/** Returns the array that contains the stored times. */
export const storedArray = ({ stored, array }: Variable): DiskArray => stored ?? array

/**
 * Adds decoded times as index. Times of the standard calendars beyond 64 bits of nanoseconds stay numbers,
 * like times of other calendars.
 */
function withTimes(variable: Variable, instants: BigInt64Array | bigint[]): Variable {
  const { dims, array, stored, times, attrs, encoding } = variable
  const kind = { dtype: storedArray(variable).dtype, calendar: times!.calendar, uncertainty: findUncertainty(instants, variable) }
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

/** Returns the uncertainty in ns of times that are stored as floats. */
function findUncertainty(instants: ArrayLike<bigint>, { encoding, times }: Variable): bigint {
  const dtype = encoding['dtype'] as DType
  if (times === undefined || !isFloat(dtype)) return 0n
  let most = 0
  for (let i = 0; i < instants.length; i++)
    if (!isMissingLabel(instants[i]!)) most = Math.max(most, Math.abs(Number(instants[i]! - times.reference)))
  return BigInt(Math.ceil(2 * ROUNDING[dtype] * most + MICROSECOND))
}
