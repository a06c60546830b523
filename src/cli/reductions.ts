import { DiskArray } from '../array/disk-array.ts'
import { inMemory } from '../array/lazy/generate.ts'
import { type Histogram, histogramRange } from '../array/reductions/histogram.ts'
import type { DividedMethod } from '../array/reductions/reductions.ts'
import type { Unique } from '../array/reductions/unique.ts'
import type { BlockSource } from '../array/source.ts'
import type { DType } from '../core/dtype.ts'
import { type Tensor, tensorOf } from '../core/tensor.ts'
import { axesOf, quantileAlong, type ReduceDimsOptions, type ReduceKind, reduceAlong, reducedTo } from '../dataset/reductions.ts'
import type { Variable } from '../dataset/variable.ts'
import type { JsonValue } from '../runtime/cluster.ts'
import { UsageError } from './failure.ts'
import type { Result } from './format.ts'
import type { Shown } from './labelled.ts'

const KINDS = ['sum', 'mean', 'min', 'max', 'prod', 'variance', 'std', 'count', 'median'] as const satisfies ReduceKind[]
const TRUTHS = ['any', 'all'] as const
/** Methods that are not named like their operation. */
const METHODS = { argmin: 'argMin', argmax: 'argMax', countnonzero: 'countNonzero' } as const

/** Operations of `reduce`. The last two return tables over all elements. */
export const OPS = [
  ...KINDS,
  'countnonzero',
  'quantile',
  ...TRUTHS,
  ...(['argmin', 'argmax'] as const),
  'histogram',
  'unique',
] as const
export type Op = (typeof OPS)[number]
export type CellOp = Exclude<Op, 'histogram' | 'unique'>

export interface ReductionOptions {
  /** Shares of quantiles. */
  readonly q?: readonly number[]
  /** Number of bins of a histogram. */
  readonly bins?: number
  /** First and last edge of the bins. */
  readonly range?: readonly [number, number]
}

/** @throws UsageError for options of other reductions, and for missing ones */
export function checkReductionOptions(op: Op, { q, bins, range }: ReductionOptions, axis: string | undefined): void {
  if (q !== undefined && op !== 'quantile') throw new UsageError(`--q is for --op quantile, not ${op}`)
  if (q === undefined && op === 'quantile') throw new UsageError('--op quantile needs --q, e.g. --q 0.1,0.9')
  for (const [name, value] of Object.entries({ bins, range }))
    if (value !== undefined && op !== 'histogram') throw new UsageError(`--${name} is for --op histogram, not ${op}`)
  if (isTable(op) && axis !== undefined) throw new UsageError(`--axis is not for --op ${op}, which takes all elements together`)
}

export const isTable = (op: Op): op is 'histogram' | 'unique' => op === 'histogram' || op === 'unique'

/** A reduction as a method call on an array, run here or by the workers of a queue. */
export interface MethodCall {
  readonly method: DividedMethod
  /** Arguments of the method before its options. */
  readonly args: readonly JsonValue[]
  readonly options: { readonly [name: string]: JsonValue }
}

/** Runs a reduction, here or elsewhere. */
export type Perform = (call: MethodCall) => Promise<unknown>

/** Returns a function that runs reductions of an array in this process. */
export const performHere =
  (array: DiskArray): Perform =>
  ({ method, args, options }) =>
    (array[method] as (...given: unknown[]) => Promise<unknown>).call(array, ...args, options)

/**
 * Returns the method call of an operation. For a histogram without a range, this is the call that finds the
 * range.
 */
export function callOf(
  variable: Variable,
  op: Op,
  { axis: named, skipMissing = true }: ReduceDimsOptions,
  { q = [], bins, range }: ReductionOptions,
): MethodCall {
  const skip = { skipMissing }
  if (op === 'unique') return { method: op, args: [], options: skip }
  if (op === 'histogram') {
    if (range === undefined) return { method: 'extrema', args: [], options: { ...skip, skipNaN: true } }
    return { method: op, args: [], options: { ...(bins !== undefined && { bins }), range, ...skip } }
  }
  const { axis } = axesOf(variable, named)
  if (op === 'quantile') return { method: op, args: [q.length === 1 ? q[0]! : q], options: { axis, ...skip } }
  if (op !== 'argmin' && op !== 'argmax')
    return { method: op === 'countnonzero' ? METHODS[op] : op, args: [], options: { axis, ...skip } }
  // Without axes, the result is a single position.
  return { method: METHODS[op], args: [], options: { ...(named !== undefined && { axis }), ...skip } }
}

/**
 * Reduces a variable along some dimensions. Positions refer to the variable. For all elements together, they
 * have one index for each axis; -1 means no position.
 */
export async function reduced(
  variable: Variable,
  op: CellOp,
  how: ReduceDimsOptions,
  { q = [] }: ReductionOptions,
  perform: Perform,
): Promise<Variable> {
  const labelled = { variable, coordinates: new Map() }
  const call = callOf(variable, op, how, { q })
  const reduce = (): Promise<Tensor> => perform(call) as Promise<Tensor>
  if (op === 'quantile') return quantileAlong(labelled, q.length === 1 ? q[0]! : q, how, reduce).variable
  if (op !== 'any' && op !== 'all' && op !== 'argmin' && op !== 'argmax')
    return reduceAlong(labelled, op === 'countnonzero' ? METHODS[op] : op, how, reduce).variable
  const { kept } = axesOf(variable, how.axis)
  if (op === 'any' || op === 'all') return reducedTo(variable, inMemoryAs('bool', await reduce()), kept)
  if (how.axis !== undefined) return reducedTo(variable, inMemoryAs('float64', await reduce()), kept)
  const position = (await perform(call)) as readonly number[]
  const tensor = tensorOf('float64', [position.length], Float64Array.from(position))
  return reducedTo(variable, inMemoryAs('float64', tensor), ['axis'])
}

const inMemoryAs = (dtype: DType, tensor: Tensor): DiskArray => new DiskArray({ ...inMemory(tensor), dtype } as BlockSource)

/** Columns of a table with equally many rows, except that edges have one more. */
export type Columns = Readonly<Record<string, Result>>

/** Counts elements by bins or by value. */
export async function countsOf(
  variable: Variable,
  op: 'histogram' | 'unique',
  how: ReduceDimsOptions,
  options: ReductionOptions,
  shown: Shown,
  perform: Perform,
): Promise<Columns> {
  const counted = (tensor: Tensor): Result => ({ dtype: 'float64', tensor })
  const first = callOf(variable, op, how, options)
  if (op === 'unique') {
    const { values, counts } = (await perform(first)) as Unique<DType>
    return { values: { dtype: variable.array.dtype, tensor: values, ...shown }, counts: counted(counts) }
  }
  const range = options.range ?? (await histogramRange(() => perform(first) as Promise<{ min: unknown; max: unknown }>))
  const { edges, counts } = (await perform(callOf(variable, op, how, { ...options, range }))) as Histogram
  return { edges: { ...counted(edges), ...(shown.dates && { dates: shown.dates }) }, counts: counted(counts) }
}
