import { DiskArray } from '../../array/disk-array.ts'
import { inMemory } from '../../array/lazy/generate.ts'
import { type Histogram, histogramRange } from '../../array/reductions/histogram.ts'
import type { DividedMethod } from '../../array/reductions/reductions.ts'
import type { Unique } from '../../array/reductions/unique.ts'
import type { BlockSource } from '../../array/source.ts'
import type { DType } from '../../core/dtype.ts'
import { type Check, checkOptions } from '../../core/options.ts'
import { coordsAt } from '../../core/shape.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import { DataArray } from '../data-array.ts'
import { axesOf, quantileAlong, REDUCE_CHECKS, type ReduceDimsOptions, reduceAlong, reducedTo, skipping } from '../reductions.ts'

/** Kinds of `reduceWith`, named like the methods of labelled arrays. */
export type ReduceWithKind =
  | 'sum'
  | 'mean'
  | 'min'
  | 'max'
  | 'prod'
  | 'variance'
  | 'std'
  | 'count'
  | 'countNonzero'
  | 'median'
  | 'quantile'
  | 'any'
  | 'all'
  | 'argMin'
  | 'argMax'

/** Options of `reduceWith` and `countWith`. */
export interface ReduceWithOptions extends ReduceDimsOptions {
  /** Shares of a quantile, from 0 to 1. */
  readonly q?: number | readonly number[]
  /** Number of bins of a histogram. Default: 10. */
  readonly bins?: number
  /** First and last edge of the bins of a histogram. Default: the extremes. */
  readonly range?: readonly [number, number]
}

const CHECKS: { readonly [K in keyof ReduceWithOptions]-?: Check } = {
  ...REDUCE_CHECKS,
  q: 'number or list of numbers',
  bins: 'integer from 1',
  range: 'list of numbers',
}

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** A reduction as a method call on an array, as plain data: `planJob` takes these members, too. */
export interface MethodCall {
  /** Name of the method of `DiskArray`. */
  readonly method: DividedMethod
  /** Arguments of the method before its options. */
  readonly args: readonly Json[]
  /** Options of the method. */
  readonly options: { readonly [name: string]: Json }
}

/** Runs the method call of a reduction, in this process or elsewhere, and returns its result. */
export type Perform = (call: MethodCall) => Promise<unknown>

/**
 * Returns the method call of a reduction of a labelled array. For a histogram without a range, this is the
 * call that finds the range.
 * @throws InvalidArgumentError for unknown dimensions
 */
export function reductionCall(
  labelled: DataArray,
  kind: ReduceWithKind | 'histogram' | 'unique',
  options: ReduceWithOptions = {},
): MethodCall {
  const { variable } = labelled
  checkOptions('reductionCall', options, CHECKS, { array: variable.name })
  const { axis: named, skipMissing = true, q, bins, range } = options
  const skip = skipping(variable.array, skipMissing)
  if (kind === 'unique') return { method: kind, args: [], options: skip }
  if (kind === 'histogram') {
    if (range === undefined) return { method: 'extrema', args: [], options: { ...skip, skipNaN: true } }
    return { method: kind, args: [], options: { ...(bins !== undefined && { bins }), range, ...skip } }
  }
  const { axis } = axesOf(variable, named)
  if (kind === 'quantile') return { method: kind, args: [q ?? 0.5], options: { axis, ...skip } }
  if (kind !== 'argMin' && kind !== 'argMax') return { method: kind, args: [], options: { axis, ...skip } }
  // Without axes, the result is a single position.
  return { method: kind, args: [], options: { ...(named !== undefined && { axis }), ...skip } }
}

/**
 * Reduces a labelled array along some dimensions by a function that runs the reduction elsewhere, such as
 * workers of a queue. The result is decoded as that of the method itself. Positions refer to the array. For
 * all elements together, they have one index for each axis; -1 means no position.
 * @throws InvalidArgumentError for unknown dimensions; UnsupportedError for sums and spreads of times
 * @example
 * const t = new Dataset({ t: { dims: ['x'], data: [1, 2, 6] } }).get('t')
 * const perform = async ({ options }: { options: object }) => t.array.mean(options)
 * console.log(await (await reduceWith(t, 'mean', {}, perform)).get()) // 3
 */
export async function reduceWith(
  array: DataArray,
  kind: ReduceWithKind,
  options: ReduceWithOptions,
  perform: Perform,
): Promise<DataArray> {
  checkOptions('reduceWith', options, CHECKS, { array: array.name })
  const call = reductionCall(array, kind, options)
  const { variable } = array
  const { axis, skipMissing, q = 0.5 } = options
  const how = { ...(axis !== undefined && { axis }), ...(skipMissing !== undefined && { skipMissing }) }
  const reduce = (): Promise<Tensor> => perform(call) as Promise<Tensor>
  const labelled = { variable, coordinates: new Map() }
  if (kind === 'quantile') return ofVariable(quantileAlong(labelled, q, how, reduce).variable)
  if (kind !== 'any' && kind !== 'all' && kind !== 'argMin' && kind !== 'argMax')
    return ofVariable(reduceAlong(labelled, kind, how, reduce).variable)
  const { kept } = axesOf(variable, axis)
  if (kind === 'any' || kind === 'all') return ofVariable(reducedTo(variable, inMemoryAs('bool', await reduce()), kept))
  if (axis !== undefined) return ofVariable(reducedTo(variable, inMemoryAs('float64', await reduce()), kept))
  const index = coordsAt((await perform(call)) as number, variable.array.shape)
  const tensor = tensorOf('float64', [index.length], Float64Array.from(index))
  return ofVariable(reducedTo(variable, inMemoryAs('float64', tensor), ['axis']))
}

const ofVariable = (variable: DataArray['variable']): DataArray => new DataArray(variable, new Map())

const inMemoryAs = (dtype: DType, tensor: Tensor): DiskArray => new DiskArray({ ...inMemory(tensor), dtype } as BlockSource)

/** Counts of elements: by value, or by bins, which have one more edge than counts. */
export type Counts = { readonly values: Tensor; readonly counts: Tensor } | { readonly edges: Tensor; readonly counts: Tensor }

/**
 * Counts the elements of a labelled array by value or in bins, by a function that runs the reductions
 * elsewhere.
 * @throws InvalidArgumentError for invalid options; errors of the function
 */
export async function countWith(
  array: DataArray,
  kind: 'histogram' | 'unique',
  options: ReduceWithOptions,
  perform: Perform,
): Promise<Counts> {
  checkOptions('countWith', options, CHECKS, { array: array.name })
  const first = reductionCall(array, kind, options)
  if (kind === 'unique') {
    const { values, counts } = (await perform(first)) as Unique<DType>
    return { values, counts }
  }
  const range = options.range ?? (await histogramRange(() => perform(first) as Promise<{ min: unknown; max: unknown }>))
  const { edges, counts } = (await perform(reductionCall(array, kind, { ...options, range }))) as Histogram
  return { edges, counts }
}
