import { DiskArray } from '../array/disk-array.ts'
import type { Converting } from '../array/lazy/converted.ts'
import type { Kind } from '../array/lazy/derive.ts'
import { elementwise } from '../array/lazy/elementwise.ts'
import { computed, type MapOptions } from '../array/lazy/map.ts'
import { isAnyMissing, missingElements, NOTHING } from '../array/missing.ts'
import { checkDType, type DType, isFloat, isNumeric, type ScalarOf, toElement } from '../core/dtype.ts'
import { HyperslabError, invalidArgument, isHyperslabError } from '../core/errors.ts'
import { lazily } from '../core/lazily.ts'
import { checkValue } from '../core/options.ts'
import { toTimestamp } from '../core/timestamp.ts'
import { asFloats } from './cast-float.ts'
import { reducedTo, withoutQuantity } from './reductions.ts'
import type { Variable } from './variable.ts'

/** Value that replaces missing ones: of the type of the array, and for times a `Date` or nanoseconds. */
export type Replacement = number | bigint | string | boolean | Date

type Conversions = typeof import('./element-conversions.ts')

/**
 * Returns a variable whose elements are converted one by one. The conversion is loaded with the first read.
 */
function converted(variable: Variable, array: DiskArray, kind: Kind<DType>, by: (all: Conversions) => Converting): Variable {
  const load = lazily(async (): Promise<Converting> => by(await import('./element-conversions.ts')))
  return reducedTo(variable, new DiskArray(elementwise(array.source, kind, { load, back: false })), variable.dims)
}

/** @throws UnsupportedError for times, and for values that are not numbers */
function requireNumeric(call: string, { name, array, times }: Variable): DiskArray {
  if (times === undefined && array.dtype !== 'timestamp_ns') return asFloats(array, name)
  throw new HyperslabError('UnsupportedError', `there is no ${call} of times`, { array: name, actual: call })
}

/** Returns whether each value is missing, or whether it is not. NaN and NaT are missing. */
export const nullness = (variable: Variable, isNull: boolean): Variable =>
  converted(withoutQuantity(variable), variable.array, { dtype: 'bool', missing: NOTHING }, ({ nullTest }) => {
    const test = nullTest(variable.array.source)
    return { forth: (element: unknown) => Number(test(element) === isNull) }
  })

/**
 * Limits values to a range. Integers stay integers if nothing is missing and the bounds are of their type.
 * @throws InvalidArgumentError without bounds, and for bounds that are not numbers; UnsupportedError for
 *   values that are not numbers
 */
export function clipped(variable: Variable, min: number | undefined, max: number | undefined): Variable {
  if (min === undefined && max === undefined) invalidArgument('clip takes a minimum, a maximum or both', min)
  for (const [name, bound] of Object.entries({ min, max })) if (bound !== undefined) checkValue('clip', name, bound, 'number')
  const floats = requireNumeric('clip', variable)
  const { array } = variable
  const keeps = isNumeric(array.dtype) && !isAnyMissing(missingElements(array.source))
  const isOwn = keeps && [min, max].every((bound) => bound === undefined || isElement(array.dtype, bound))
  const from = isOwn ? array : floats
  return converted(variable, from, computed(from.dtype, undefined, [from.source]), ({ clipping }) =>
    clipping(from.dtype, min, max),
  )
}

/**
 * Rounds values to some decimals, halves to the even neighbour, as numpy does.
 * @throws InvalidArgumentError unless `decimals` is an integer; UnsupportedError for values that are not
 *   numbers
 */
export function rounded(variable: Variable, decimals: number): Variable {
  checkValue('round', 'decimals', decimals, 'integer')
  const floats = requireNumeric('round', variable)
  if (!isFloat(variable.array.dtype) && decimals >= 0) return variable
  const kind = computed(floats.dtype, undefined, [floats.source])
  return converted(variable, floats, kind, ({ rounding }) => rounding(floats.dtype, decimals))
}

/** Functions of one number, by the names of their methods. */
const FUNCTIONS = { sqrt: Math.sqrt, log: Math.log, exp: Math.exp }

/**
 * Applies a function to each number, as floats. Units and the standard name go, because they are those of the
 * argument.
 * @throws UnsupportedError for values that are not numbers
 */
export function computedElements(variable: Variable, kind: keyof typeof FUNCTIONS): Variable {
  const floats = requireNumeric(kind, variable) as DiskArray<'float64'>
  const array = floats.map<'float64'>(FUNCTIONS[kind], { dtype: floats.dtype })
  return reducedTo(withoutQuantity(variable), array as DiskArray, variable.dims)
}

/**
 * Returns absolute values, of the same type.
 * @throws UnsupportedError for values that are not numbers; when read, InvalidArgumentError for the least
 *   integer of a type, whose absolute value the type does not have
 */
export function absoluteValues(variable: Variable): Variable {
  const floats = requireNumeric('abs', variable)
  if (!isNumeric(variable.array.dtype) || isFloat(variable.array.dtype))
    return reducedTo(
      variable,
      (floats as DiskArray<'float64'>).map<'float64'>(Math.abs, { dtype: floats.dtype as 'float64' }) as DiskArray,
      variable.dims,
    )
  const own = variable.array as DiskArray<'int32' | 'int64'>
  return reducedTo(variable, own.map((value) => (value < 0 ? -value : value) as never) as DiskArray, variable.dims)
}

/** Applies a function to each value that is not missing. The result has no units and no standard name. */
export function mappedElements<E extends DType>(
  variable: Variable,
  fn: (value: ScalarOf<DType>) => ScalarOf<E>,
  options: MapOptions<DType, E> | undefined,
): Variable {
  const array = variable.array.map(fn, options) as DiskArray
  return reducedTo(withoutQuantity(variable), array, variable.dims)
}

/**
 * Converts values to another data type. Missing values become NaN in floats, and stay missing in integers.
 * @throws UnsupportedError for times, text and binaries; when read, InvalidArgumentError for values that are
 *   out of range, and for missing values without a counterpart in the type
 */
export function castTo(variable: Variable, dtype: DType): Variable {
  checkDType(dtype)
  const { array } = variable
  if (dtype === array.dtype) return variable
  const floats = requireNumeric('astype', variable)
  const mayMiss = isFloat(array.dtype) || isAnyMissing(missingElements(array.source))
  if (dtype === 'bool' && mayMiss) return converted(variable, floats, { dtype, missing: NOTHING }, ({ truth }) => truth())
  return reducedTo(variable, (isFloat(dtype) ? floatsOr(array, floats) : array).astype(dtype) as DiskArray, variable.dims)
}

/**
 * Returns floats for an array with missing values. Others are converted by the array itself, which rounds
 * integers.
 */
const floatsOr = (array: DiskArray, floats: DiskArray): DiskArray =>
  isAnyMissing(missingElements(array.source)) ? floats : array

/**
 * Replaces missing values by one value. The type stays the same if it has the value; otherwise, it becomes
 * float64.
 * @throws InvalidArgumentError for a value of another kind
 */
export function filled(variable: Variable, value: Replacement): Variable {
  const { name, array, times } = variable
  const { dtype } = array
  const isTime = dtype === 'timestamp_ns'
  if (isTime !== (value instanceof Date || (isTime && typeof value === 'bigint')) || (times !== undefined && !isTime)) {
    const text = `missing values of ${name}, which are ${isTime || times ? 'times' : dtype}, cannot become ${String(value)}`
    throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: value, expected: dtype })
  }
  if (!isFloat(dtype) && !isTime && !isAnyMissing(missingElements(array.source))) return variable
  const fill = value instanceof Date ? toTimestamp(value) : value
  const isOwn = isElement(dtype, fill)
  const from = isOwn ? array : requireNumeric('fillna', variable)
  const to = isOwn ? dtype : 'float64'
  const element = toElement(to, fill)
  return converted(variable, from, { dtype: to, missing: NOTHING }, ({ filling }) => filling(from.source, element))
}

/** Whether a data type has a value. Floats have all numbers up to rounding. */
function isElement(dtype: DType, value: unknown): boolean {
  try {
    const element = toElement(dtype, value)
    return dtype !== 'float32' || Number.isFinite(element) === Number.isFinite(value)
  } catch (error) {
    if (isHyperslabError(error, 'InvalidArgumentError')) return false
    throw error
  }
}
