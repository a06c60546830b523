import type { DiskArray } from '../array/disk-array.ts'
import type { Missing } from '../array/missing.ts'
import { foldedDType } from '../array/reductions/fold-kinds.ts'
import { type DType, isFloat } from '../core/dtype.ts'
import { HyperslabError, invalidArgument, isHyperslabError } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import { type Tensor, tensorOf } from '../core/tensor.ts'
import { computedOnce } from './computed.ts'
import { coordsAlong, type Labelled } from './coords.ts'
import { LabelIndex } from './label-index.ts'
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

export const REDUCE_CHECKS: Checks<ReduceDimsOptions> = { axis: 'string or list', skipMissing: 'boolean' }

/**
 * An array reduced along some dimensions, when it is first read; coordinates along these are left out.
 * @throws InvalidArgumentError for names of no dimension
 */
export function reduceAlong({ variable, coordinates }: Labelled, kind: ReduceKind, options: ReduceDimsOptions = {}): Labelled {
  checkOptions(kind, options, REDUCE_CHECKS, { array: variable.name })
  const { array, dims } = variable
  const reduced = reducedDims(variable, options.axis)
  const kept = dims.filter((dim) => !reduced.includes(dim))
  const shape = kept.map((dim) => array.shape[dims.indexOf(dim)]!)
  const dtype = kind === 'median' ? 'float64' : foldedDType(array.dtype, kind)
  const { skipMissing = true } = options
  const compute = (signal: Signal): Promise<Tensor> => {
    const axis = reduced.map((dim) => dims.indexOf(dim))
    const skip = { skipMissing, ...(skipMissing && isFloat(array.dtype) && { skipNaN: true }) }
    return reduceOrNaN(() => array[kind as 'sum']({ axis, ...skip, signal }), dtype, shape)
  }
  const result = variable.with({
    array: computedOnce<DType>(dtype, shape, compute, extremeMissing(array, kind)),
    dims: kept,
    index: undefined,
    encoding: {},
  })
  return { variable: result, coordinates: coordsAlong(coordinates, kept) }
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
): Labelled {
  checkOptions('quantile', options, REDUCE_CHECKS, { array: variable.name })
  const shares = typeof q === 'number' ? [q] : q
  if (!Array.isArray(shares) || shares.length === 0 || !shares.every((share) => share >= 0 && share <= 1))
    invalidArgument('a quantile is a share from 0 to 1, or a list of some', q)
  const { array, dims } = variable
  const reduced = reducedDims(variable, options.axis)
  const kept = dims.filter((dim) => !reduced.includes(dim))
  const shape = kept.map((dim) => array.shape[dims.indexOf(dim)]!)
  const isList = typeof q !== 'number'
  const { skipMissing = true } = options
  const compute = async (signal: Signal): Promise<Tensor> => {
    const axis = reduced.map((dim) => dims.indexOf(dim))
    const skip = { skipMissing, ...(skipMissing && isFloat(array.dtype) && { skipNaN: true }) }
    return isList ? array.quantile(q, { axis, ...skip, signal }) : array.quantile(q, { axis, ...skip, signal })
  }
  const result = variable.with({
    array: computedOnce<DType>('float64', isList ? [shares.length, ...shape] : shape, compute),
    dims: isList ? ['quantile', ...kept] : kept,
    index: undefined,
    encoding: {},
  })
  const labels = coordsAlong(coordinates, kept)
  return { variable: result, coordinates: isList ? new Map(labels).set('quantile', quantileLabels(shares)) : labels }
}

function quantileLabels(shares: readonly number[]): Variable {
  const index = new LabelIndex('quantile', Float64Array.from(shares), { dtype: 'float64' })
  return new Variable({ name: 'quantile', array: arrayOfLabels(index, 'float64'), dims: ['quantile'], attrs: {}, index })
}

/** What stands for the extreme of no value: what is missing in the array. */
export const extremeMissing = (array: DiskArray, kind: string): Missing | undefined =>
  kind === 'min' || kind === 'max' ? array.missing : undefined

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

function checkDim(dim: unknown, dims: readonly string[], array: string): asserts dim is string {
  if (dims.includes(dim as string)) return
  const text = `there is no dimension ${JSON.stringify(dim)}: there are ${dims.join(', ') || 'none'}`
  throw new HyperslabError('InvalidArgumentError', text, { array, actual: dim, expected: dims })
}
