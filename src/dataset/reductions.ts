import type { DiskArray } from '../array/disk-array.ts'
import type { Missing } from '../array/missing.ts'
import { foldedDType } from '../array/reductions/fold-kinds.ts'
import { type DType, isFloat } from '../core/dtype.ts'
import { HyperslabError, invalidArgument, isHyperslabError } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import type { Signal } from '../core/signal.ts'
import { type Tensor, tensorOf } from '../core/tensor.ts'
import { dropAttributes } from './attributes.ts'
import { computedOnce } from './computed.ts'
import { coordsAlong, type Labelled } from './coords.ts'
import { LabelIndex } from './label-index.ts'
import { NAT } from './time/instant.ts'
import { arrayOfLabels, Variable } from './variable.ts'

/** Options of reductions of labelled arrays. */
export interface ReduceDimsOptions {
  /** Names of the dimensions to reduce. Default: all. */
  readonly axis?: string | readonly string[]
  /**
   * Whether missing values are skipped. If false, a missing value makes its result missing. Default: true.
   */
  readonly skipMissing?: boolean
}

/** Reductions to a single value. */
export type ReduceKind = 'sum' | 'mean' | 'min' | 'max' | 'count' | 'prod' | 'variance' | 'std' | 'median'

/** Reductions of groups. */
export type GroupKind = ReduceKind | 'quantile'

export const REDUCE_CHECKS: Checks<ReduceDimsOptions> = { axis: 'string or list', skipMissing: 'boolean' }

/** Function that reduces an array: its own method, or an equivalent one. */
export type Reducing = (options: {
  readonly axis: number[]
  readonly skipMissing: boolean
  readonly skipNaN?: boolean
  /** Whether zeros are counted. */
  readonly zeros?: true
  readonly signal: Signal
}) => Promise<Tensor>

/**
 * Reduces an array along some dimensions, on the first read. Coordinates along these dimensions are dropped.
 * @throws InvalidArgumentError for unknown dimensions
 */
export function reduceAlong(
  { variable, coordinates }: Labelled,
  kind: ReduceKind,
  options: ReduceDimsOptions = {},
  reduce: Reducing = (how) => variable.array[kind as 'sum'](how),
): Labelled {
  checkOptions(kind, options, REDUCE_CHECKS, { array: variable.name })
  const { array } = variable
  const { axis, kept, shape } = axesOf(variable, options.axis)
  const { dtype, missing } = reducedKind(variable, kind)
  // Without this, arrays count elements other than 0.
  const skip = { ...skipping(array, options.skipMissing), ...(kind === 'count' && { zeros: true as const }) }
  const compute =
    kind === 'mean' && dtype === 'timestamp_ns'
      ? async (signal: Signal): Promise<Tensor> => {
          const { meanOfTimes } = await import('./mean-of-times.ts')
          return meanOfTimes(array, skip.skipMissing, (part) => part.sum({ axis, signal }) as Promise<Tensor>)
        }
      : (signal: Signal): Promise<Tensor> => reduceOrNaN(() => reduce({ axis, ...skip, signal }), dtype, shape)
  return {
    variable: reducedTo(variable, computedOnce<DType>(dtype, shape, compute, missing), kept, kind),
    coordinates: coordsAlong(coordinates, kept),
  }
}

/**
 * Returns the type of reduced values, and their missing values. Times have extremes and a mean, and
 * quantiles if they are stored as numbers. Their sums have no meaning, and their spreads are not times.
 * @throws UnsupportedError for sums and spreads of times
 */
export function reducedKind(
  { name, array, times }: Variable,
  kind: GroupKind,
): { readonly dtype: DType; readonly missing: Missing | undefined } {
  const { dtype, missing } = array
  const isDecoded = dtype === 'timestamp_ns'
  if (kind === 'min' || kind === 'max') return { dtype, missing }
  if (kind === 'mean' && isDecoded) return { dtype, missing: { values: [NAT], nan: false } }
  const isRanked = kind === 'median' || kind === 'quantile'
  if (kind !== 'count' && (isDecoded || (times !== undefined && kind !== 'mean' && !isRanked)))
    throw new HyperslabError('UnsupportedError', `there is no ${kind} of times`, { array: name, actual: kind })
  return { dtype: isRanked ? 'float64' : foldedDType(dtype, kind), missing: undefined }
}

/**
 * Computes quantiles along some dimensions, as float64. A single share yields the kept dimensions; a list
 * adds a leading dimension `quantile`.
 * @throws InvalidArgumentError for shares outside 0 to 1, and for unknown dimensions
 */
export function quantileAlong(
  { variable, coordinates }: Labelled,
  q: number | readonly number[],
  options: ReduceDimsOptions = {},
  reduce: Reducing = (how) => variable.array.quantile(q as number, how) as unknown as Promise<Tensor>,
): Labelled {
  checkOptions('quantile', options, REDUCE_CHECKS, { array: variable.name })
  const shares = typeof q === 'number' ? [q] : q
  if (!Array.isArray(shares) || shares.length === 0 || !shares.every((share) => share >= 0 && share <= 1))
    invalidArgument('a quantile is a share from 0 to 1, or a list of some', q)
  const { array } = variable
  const { axis, kept, shape } = axesOf(variable, options.axis)
  reducedKind(variable, 'quantile')
  const skip = skipping(array, options.skipMissing)
  const compute = (signal: Signal) => reduce({ axis, ...skip, signal }) as Promise<Tensor<'float64'>>
  const labels = coordsAlong(coordinates, kept)
  if (typeof q === 'number')
    return { variable: reducedTo(variable, computedOnce('float64', shape, compute), kept), coordinates: labels }
  const values = computedOnce('float64', [shares.length, ...shape], compute)
  return {
    variable: reducedTo(variable, values, ['quantile', ...kept]),
    coordinates: new Map(labels).set('quantile', quantileLabels(shares)),
  }
}

function quantileLabels(shares: readonly number[]): Variable {
  const index = new LabelIndex('quantile', Float64Array.from(shares), { dtype: 'float64' })
  return new Variable({ name: 'quantile', array: arrayOfLabels(index, 'float64'), dims: ['quantile'], attrs: {}, index })
}

/** Returns the reduced axes, and the kept dimensions with their lengths. */
export function axesOf(
  variable: Variable,
  given: ReduceDimsOptions['axis'],
): { readonly axis: number[]; readonly kept: string[]; readonly shape: number[] } {
  const { array, dims } = variable
  const reduced = reducedDims(variable, given)
  const kept = dims.filter((dim) => !reduced.includes(dim))
  const axisOf = (dim: string): number => dims.indexOf(dim)
  return { axis: reduced.map(axisOf), kept, shape: kept.map((dim) => array.shape[axisOf(dim)]!) }
}

/** Returns the options that skip missing values and, for floats, NaN. */
export const skipping = ({ dtype }: DiskArray, skipMissing = true): { skipMissing: boolean; skipNaN?: boolean } => ({
  skipMissing,
  ...(isFloat(dtype) && { skipNaN: skipMissing }),
})

/** Returns the variable with reduced values. A count of times is no longer a time, so it loses its units. */
export function reducedTo(
  variable: Variable,
  array: DiskArray,
  dims: readonly string[],
  kind?: ReduceKind | 'quantile',
): Variable {
  const reduced = variable.with({ array, dims, index: undefined, stored: undefined, encoding: {} })
  return kind === 'count' ? asNumbers(reduced) : reduced
}

/** Returns the variable without units and calendar of times. */
export const asNumbers = (variable: Variable): Variable =>
  variable.times === undefined
    ? variable
    : variable.with({ times: undefined, attrs: dropAttributes(variable.attrs, ['units', 'calendar']) })

/** Reduces; a reduction of no values yields NaN for floats. */
async function reduceOrNaN(reduce: () => Promise<Tensor>, dtype: DType, shape: readonly number[]): Promise<Tensor> {
  try {
    return await reduce()
  } catch (error) {
    if (!isHyperslabError(error, 'EmptyReductionError') || !isFloat(dtype)) throw error
    const empty = tensorOf(dtype, shape)
    ;(empty.data as Float64Array).fill(Number.NaN)
    return empty
  }
}

/** @throws InvalidArgumentError for unknown or repeated dimensions */
export function reducedDims({ name, dims }: Variable, axis: string | readonly string[] | undefined): readonly string[] {
  const given = axis === undefined ? dims : typeof axis === 'string' ? [axis] : axis
  for (const dim of given) checkDim(dim, dims, name)
  if (new Set(given).size < given.length) invalidArgument(`axis names ${given.join(', ')}: one of them twice`, axis)
  return given
}

/** @throws InvalidArgumentError for unknown dimensions */
export function checkDim(dim: unknown, dims: readonly string[], array: string): asserts dim is string {
  if (dims.includes(dim as string)) return
  const text = `there is no dimension ${quoted(dim)}: there are ${dims.join(', ') || 'none'}`
  throw new HyperslabError('InvalidArgumentError', text, { array, actual: dim, expected: dims })
}
