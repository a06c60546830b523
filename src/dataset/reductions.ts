import type { DiskArray } from '../array/disk-array.ts'
import { type Missing, missingElements, type SkipMissingOptions } from '../array/missing.ts'
import { type FoldOptions, foldedDType } from '../array/reductions/fold-kinds.ts'
import type { DescribeOptions, DescribeResult } from '../array/reductions/reduce.ts'
import { type DType, isFloat, type ScalarOf } from '../core/dtype.ts'
import { type ErrorDetails, HyperslabError, invalidArgument, isHyperslabError } from '../core/errors.ts'
import { type Check, type Checks, checkOptions } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import type { Signal } from '../core/signal.ts'
import { type Tensor, tensorOf } from '../core/tensor.ts'
import { dropAttributes } from './attributes.ts'
import { asFloats } from './cast-float.ts'
import { computedOnce } from './computed.ts'
import { coordsAlong, type Labelled } from './coords.ts'
import { LabelIndex } from './label-index.ts'
import type { ReduceNumbers, TimesKind } from './reduce-times.ts'
import { NAT } from './time/instant.ts'
import { arrayOfLabels, Variable } from './variable.ts'

/** Options of reductions along dimensions. */
export interface ReduceDimsOptions extends SkipMissingOptions {
  /** Names of the dimensions to reduce. Default: all. */
  readonly axis?: string | readonly string[]
}

/** Options of reductions of arrays and datasets. */
export interface KeepDimsOptions extends ReduceDimsOptions {
  /**
   * Whether to keep reduced axes with length 1. Default: false. Coordinates along them are dropped all the
   * same.
   */
  readonly keepDims?: boolean
}

/** Reductions to a single value. */
export type ReduceKind = GroupKind | 'any' | 'all'

/** Reductions of groups. */
export type GroupKind =
  | 'sum'
  | 'mean'
  | 'min'
  | 'max'
  | 'count'
  | 'countNonzero'
  | 'prod'
  | 'variance'
  | 'std'
  | 'median'
  | 'quantile'

export const REDUCE_CHECKS: Checks<ReduceDimsOptions> = { axis: 'string or list', skipMissing: 'boolean' }
export const KEEP_CHECKS: Checks<KeepDimsOptions> = { ...REDUCE_CHECKS, keepDims: 'boolean' }

/** Checks the options of a reduction. Variances and standard deviations also accept `ddof`. */
export function checkReduction(
  kind: string,
  options: unknown,
  checks: Readonly<Record<string, Check>>,
  label: ErrorDetails,
): void {
  const isSpread = kind === 'variance' || kind === 'std'
  checkOptions(kind, options, isSpread ? { ...checks, ddof: 'number' } : checks, label)
}

/** Function that reduces an array: its own method, or an equivalent one. */
export type Reducing = (options: {
  readonly axis: number[]
  readonly keepDims?: boolean
  readonly ddof?: number
  readonly skipMissing: boolean
  readonly skipNaN?: boolean
  readonly signal: Signal
}) => Promise<Tensor>

/**
 * Reduces an array along some dimensions, on the first read. Coordinates along these dimensions are dropped.
 * @throws InvalidArgumentError for unknown dimensions
 */
export function reduceAlong(
  { variable, coordinates }: Labelled,
  kind: Exclude<ReduceKind, 'quantile'>,
  options: KeepDimsOptions & FoldOptions = {},
  reduce?: Reducing,
): Labelled {
  checkReduction(kind, options, KEEP_CHECKS, { array: variable.name })
  const { keepDims, ddof, skipMissing } = options
  // The elements that a caller's function reduces are known to it alone.
  const array = reduce === undefined && kind !== 'count' ? keepingMissing(variable.array, skipMissing) : variable.array
  const { axis, kept, shape, others } = axesOf(variable, options.axis, keepDims)
  const { dtype, missing } = reducedKind(variable.with({ array }), kind)
  const spread = ddof === undefined ? {} : { ddof }
  const skip = skipping(array, skipMissing)
  const how = { axis, ...(keepDims && { keepDims }), ...spread }
  const compute = isOfTimes(dtype, kind)
    ? ofTimes(array, kind, skip.skipMissing, (part, by, own, signal) => part[by as 'sum']({ ...how, ...own, signal }) as never)
    : (signal: Signal): Promise<Tensor> =>
        reduceOrNaN(() => (reduce ?? ((all) => array[kind as 'sum'](all)))({ ...how, ...skip, signal }), dtype, shape)
  return {
    variable: reducedTo(variable, computedOnce<DType>([array], dtype, shape, compute, missing), kept, kind),
    coordinates: coordsAlong(coordinates, others),
  }
}

/** Whether a reduction orders values and interpolates between two of them. */
export const isRank = (kind: ReduceKind): kind is 'median' | 'quantile' => kind === 'median' || kind === 'quantile'

/** Whether a reduction is one of decoded times that {@link ofTimes} computes. */
export const isOfTimes = (dtype: DType, kind: ReduceKind): boolean =>
  dtype === 'timestamp_ns' && (kind === 'mean' || isRank(kind))

/** Returns a function that reduces decoded times by reductions of numbers. Its code is loaded lazily. */
export const ofTimes =
  (array: DiskArray, kind: ReduceKind, skipMissing: boolean, reduce: ReduceNumbers) =>
  async (signal: Signal): Promise<Tensor> =>
    (await import('./reduce-times.ts')).reduceTimes(array, kind as TimesKind, skipMissing, reduce, signal)

/**
 * Returns an array whose missing values propagate if they are not skipped: as floats, they are NaN.
 * Otherwise, they would count as the numbers that they are stored as.
 */
export const keepingMissing = (array: DiskArray, skipMissing: boolean | undefined): DiskArray =>
  skipMissing === false && array.dtype !== 'timestamp_ns' && missingElements(array.source).values.length > 0
    ? asFloats(array)
    : array

/**
 * Returns the type of reduced values, and their missing values. Times have extremes, a mean and quantiles.
 * Their sums have no meaning, and their spreads are not times.
 * @throws UnsupportedError for sums and spreads of times
 */
export function reducedKind(
  { name, array, times }: Variable,
  kind: ReduceKind,
): { readonly dtype: DType; readonly missing: Missing | undefined } {
  const { dtype, missing } = array
  const isDecoded = dtype === 'timestamp_ns'
  if (kind === 'min' || kind === 'max') return { dtype, missing }
  const isRanked = isRank(kind)
  if (isDecoded && (kind === 'mean' || isRanked)) return { dtype, missing: { values: [NAT], nan: false } }
  if (kind !== 'count' && (isDecoded || (times !== undefined && kind !== 'mean' && !isRanked)))
    throw new HyperslabError('UnsupportedError', `there is no ${kind} of times`, { array: name, actual: kind })
  if (kind === 'any' || kind === 'all') return { dtype: 'bool', missing: undefined }
  return { dtype: isRanked ? 'float64' : foldedDType(dtype, kind), missing: undefined }
}

/**
 * Computes quantiles along some dimensions, as float64; of times, as times. A single share yields the kept
 * dimensions; a list adds a leading dimension `quantile`.
 * @throws InvalidArgumentError for shares outside 0 to 1, and for unknown dimensions
 */
export function quantileAlong(
  { variable, coordinates }: Labelled,
  q: number | readonly number[],
  options: KeepDimsOptions = {},
  reduce?: Reducing,
): Labelled {
  checkReduction('quantile', options, KEEP_CHECKS, { array: variable.name })
  const shares = typeof q === 'number' ? [q] : q
  if (
    !Array.isArray(shares) ||
    shares.length === 0 ||
    !shares.every((share) => typeof share === 'number' && share >= 0 && share <= 1)
  )
    invalidArgument('a quantile is a share from 0 to 1, or a list of some', q)
  const { skipMissing, keepDims } = options
  const array = reduce === undefined ? keepingMissing(variable.array, skipMissing) : variable.array
  const { axis, kept, shape, others } = axesOf(variable, options.axis, keepDims)
  const { dtype, missing } = reducedKind(variable.with({ array }), 'quantile')
  const how = { axis, ...(keepDims && { keepDims }) }
  const skip = skipping(array, skipMissing)
  const rank = (part: DiskArray, all: object): Promise<Tensor> => part.quantile(q as number, { ...how, ...all }) as never
  const compute = isOfTimes(dtype, 'quantile')
    ? ofTimes(array, 'quantile', skip.skipMissing, (part, _, own, signal) => rank(part, { ...own, signal }))
    : (signal: Signal): Promise<Tensor> =>
        reduce === undefined ? rank(array, { ...skip, signal }) : reduce({ ...how, ...skip, signal })
  const labels = coordsAlong(coordinates, others)
  if (typeof q === 'number')
    return {
      variable: reducedTo(variable, computedOnce<DType>([array], dtype, shape, compute, missing), kept),
      coordinates: labels,
    }
  const values = computedOnce<DType>([array], dtype, [shares.length, ...shape], compute, missing)
  return {
    variable: reducedTo(variable, values, ['quantile', ...kept]),
    coordinates: new Map(labels).set('quantile', quantileLabels(shares)),
  }
}

function quantileLabels(shares: readonly number[]): Variable {
  const index = new LabelIndex('quantile', Float64Array.from(shares), { dtype: 'float64' })
  return new Variable({ name: 'quantile', array: arrayOfLabels(index, 'float64'), dims: ['quantile'], attrs: {}, index })
}

/**
 * Returns the reduced axes, the dimensions of the result with their lengths, and the dimensions that are not
 * reduced.
 */
export function axesOf(
  variable: Variable,
  given: ReduceDimsOptions['axis'],
  keepDims = false,
): { readonly axis: number[]; readonly kept: readonly string[]; readonly shape: number[]; readonly others: string[] } {
  const { array, dims } = variable
  const reduced = namedDims(variable.dims, given, { array: variable.name })
  const others = dims.filter((dim) => !reduced.includes(dim))
  const kept = keepDims ? dims : others
  const findAxis = (dim: string): number => dims.indexOf(dim)
  return {
    axis: reduced.map(findAxis),
    kept,
    shape: kept.map((dim) => (reduced.includes(dim) ? 1 : array.shape[findAxis(dim)]!)),
    others,
  }
}

/** Options of `describe` of labelled arrays; the others are as for arrays. */
export interface DescribeValuesOptions extends Pick<DescribeOptions, 'std' | 'ddof' | 'signal' | 'skipMissing'> {}

/** Statistics of all values of a variable. Extremes are undefined if there are no values. */
export type ValuesDescription = DescribeResult<number, ScalarOf<DType> | undefined>

export const DESCRIBE_CHECKS: Checks<DescribeValuesOptions> = {
  std: 'boolean',
  ddof: 'number',
  signal: 'AbortSignal',
  skipMissing: 'boolean',
}

/** Describes all values of a variable. */
export function describeValues({ name, array }: Variable, options: DescribeValuesOptions = {}): Promise<ValuesDescription> {
  checkOptions('describe', options, DESCRIBE_CHECKS, { array: name })
  const { skipMissing, ...how } = options
  const values = keepingMissing(array, skipMissing)
  return values.describe({ ...how, ...skipping(values, skipMissing) })
}

/** Returns the options that skip missing values and, for floats, NaN. */
export const skipping = ({ dtype }: DiskArray, skipMissing = true): { skipMissing: boolean; skipNaN?: boolean } => ({
  skipMissing,
  ...(isFloat(dtype) && { skipNaN: skipMissing }),
})

/** Reductions whose results have other units than the values. */
const OTHER_UNITS: ReadonlySet<ReduceKind | undefined> = new Set(['count', 'countNonzero', 'any', 'all', 'variance', 'prod'])

/** Returns the variable with reduced values. A count or a variance has other units than the values. */
export function reducedTo(variable: Variable, array: DiskArray, dims: readonly string[], kind?: ReduceKind): Variable {
  const reduced = variable.with({ array, dims, index: undefined, stored: undefined, encoding: {} })
  return OTHER_UNITS.has(kind) ? withoutQuantity(reduced) : reduced
}

/** Attributes that say which quantity values are, and in which units. */
const QUANTITY = ['units', 'standard_name', 'calendar']

/** Returns the variable without the attributes that would be wrong for another quantity. */
export const withoutQuantity = (variable: Variable): Variable =>
  variable.with({ times: undefined, attrs: dropAttributes(variable.attrs, QUANTITY) })

/** Returns the variable without units and calendar of times. */
export const asNumbers = (variable: Variable): Variable =>
  variable.times === undefined
    ? variable
    : variable.with({ times: undefined, attrs: dropAttributes(variable.attrs, ['units', 'calendar']) })

/** Reduces; a reduction of no values yields NaN for floats. */
export async function reduceOrNaN(reduce: () => Promise<Tensor>, dtype: DType, shape: readonly number[]): Promise<Tensor> {
  try {
    return await reduce()
  } catch (error) {
    if (!isHyperslabError(error, 'EmptyReductionError') || !isFloat(dtype)) throw error
    const empty = tensorOf(dtype, shape)
    ;(empty.data as Float64Array).fill(Number.NaN)
    return empty
  }
}

/**
 * Returns the dimensions that an option names; by default all.
 * @throws InvalidArgumentError for unknown or repeated dimensions
 */
export function namedDims(
  dims: readonly string[],
  axis: string | readonly string[] | undefined,
  label?: ErrorDetails,
): readonly string[] {
  const given = axis === undefined ? dims : typeof axis === 'string' ? [axis] : axis
  for (const dim of given) checkDim(dim, dims, label)
  if (new Set(given).size < given.length) invalidArgument(`axis names ${given.join(', ')}: one of them twice`, axis)
  return given
}

/** @throws InvalidArgumentError for unknown dimensions */
export function checkDim(dim: unknown, dims: readonly string[], label: ErrorDetails = {}): asserts dim is string {
  if (dims.includes(dim as string)) return
  const text = `there is no dimension ${quoted(dim)}: there are ${dims.join(', ') || 'none'}`
  throw new HyperslabError('InvalidArgumentError', text, { ...label, actual: dim, expected: dims })
}
