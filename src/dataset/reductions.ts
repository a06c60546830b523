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
  /** The dimensions to reduce, by name; all of them when left out. */
  readonly axis?: string | readonly string[]
  /** False keeps missing values, and what they are in is missing then. */
  readonly skipMissing?: boolean
}

/** Reductions that give one value for many. */
export type ReduceKind = 'sum' | 'mean' | 'min' | 'max' | 'count' | 'prod' | 'variance' | 'std' | 'median'

/** What groups are reduced by. */
export type GroupKind = ReduceKind | 'quantile'

export const REDUCE_CHECKS: Checks<ReduceDimsOptions> = { axis: 'string or list', skipMissing: 'boolean' }

/** How an array is reduced: by the method of its own, or by others who give the same. */
export type Reducing = (options: {
  readonly axis: number[]
  readonly skipMissing: boolean
  readonly skipNaN?: boolean
  /** Counts values that are 0, too. */
  readonly zeros?: true
  readonly signal: Signal
}) => Promise<Tensor>

/**
 * An array reduced along some dimensions, when it is first read; coordinates along these are left out.
 * @throws InvalidArgumentError for names of no dimension
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
  // Arrays count what is not 0.
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
 * The type of what values are reduced to, and what stands for no value there. Times have ends, a mean and, as
 * numbers, quantiles, which are times; but sums of them mean nothing, and spreads are no times.
 * @throws UnsupportedError for those
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
 * The quantiles along some dimensions, as float64: of one share the dimensions that are kept; of a list,
 * `quantile` comes before these.
 * @throws InvalidArgumentError for shares outside 0 to 1, and names of no dimension
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

/** The axes that are reduced, and the dimensions that are kept, with their lengths. */
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

/** What reductions of an array leave out: what is missing, and then NaN, too. */
export const skipping = ({ dtype }: DiskArray, skipMissing = true): { skipMissing: boolean; skipNaN?: boolean } => ({
  skipMissing,
  ...(isFloat(dtype) && { skipNaN: skipMissing }),
})

/** A variable with what it was reduced to in place of its values: a number of times is no time. */
export function reducedTo(
  variable: Variable,
  array: DiskArray,
  dims: readonly string[],
  kind?: ReduceKind | 'quantile',
): Variable {
  const reduced = variable.with({ array, dims, index: undefined, stored: undefined, encoding: {} })
  return kind === 'count' ? asNumbers(reduced) : reduced
}

/** A variable of which nothing says any more that it has times. */
export const asNumbers = (variable: Variable): Variable =>
  variable.times === undefined
    ? variable
    : variable.with({ times: undefined, attrs: dropAttributes(variable.attrs, ['units', 'calendar']) })

/** A reduction's result; NaN where it is one of floats, and there is nothing to reduce. */
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

/** @throws InvalidArgumentError for names of no dimension */
export function reducedDims({ name, dims }: Variable, axis: string | readonly string[] | undefined): readonly string[] {
  const given = axis === undefined ? dims : typeof axis === 'string' ? [axis] : axis
  for (const dim of given) checkDim(dim, dims, name)
  if (new Set(given).size < given.length) invalidArgument(`axis names ${given.join(', ')}: one of them twice`, axis)
  return given
}

/** @throws InvalidArgumentError for names of no dimension */
export function checkDim(dim: unknown, dims: readonly string[], array: string): asserts dim is string {
  if (dims.includes(dim as string)) return
  const text = `there is no dimension ${quoted(dim)}: there are ${dims.join(', ') || 'none'}`
  throw new HyperslabError('InvalidArgumentError', text, { array, actual: dim, expected: dims })
}
