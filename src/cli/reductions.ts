import { DiskArray } from '../array/disk-array.ts'
import { inMemory } from '../array/lazy/generate.ts'
import type { BlockSource } from '../array/source.ts'
import type { DType } from '../core/dtype.ts'
import { type Tensor, tensorOf } from '../core/tensor.ts'
import {
  axesOf,
  quantileAlong,
  type ReduceDimsOptions,
  type ReduceKind,
  type Reducing,
  reduceAlong,
  reducedTo,
  skipping,
} from '../dataset/reductions.ts'
import type { Variable } from '../dataset/variable.ts'
import { UsageError } from './failure.ts'
import type { Result } from './format.ts'
import type { Shown } from './labelled.ts'

const KINDS = ['sum', 'mean', 'min', 'max', 'prod', 'variance', 'std', 'count', 'median'] as const satisfies ReduceKind[]
const TRUTHS = ['any', 'all'] as const
const POSITIONS = { argmin: 'argMin', argmax: 'argMax' } as const

/** What `reduce` computes. The last two give tables, of all elements together. */
export const OPS = [...KINDS, 'quantile', ...TRUTHS, ...(['argmin', 'argmax'] as const), 'histogram', 'unique'] as const
export type Op = (typeof OPS)[number]
export type CellOp = Exclude<Op, 'histogram' | 'unique'>

export interface ReductionOptions {
  /** Shares of quantiles. */
  readonly q?: readonly number[]
  /** How many bins a histogram has. */
  readonly bins?: number
  /** The first and the last edge of these. */
  readonly range?: readonly [number, number]
}

/** @throws UsageError for options of other reductions, and for those that are needed */
export function checkReductionOptions(op: Op, { q, bins, range }: ReductionOptions, axis: string | undefined): void {
  if (q !== undefined && op !== 'quantile') throw new UsageError(`--q is for --op quantile, not ${op}`)
  if (q === undefined && op === 'quantile') throw new UsageError('--op quantile needs --q, e.g. --q 0.1,0.9')
  for (const [name, value] of Object.entries({ bins, range }))
    if (value !== undefined && op !== 'histogram') throw new UsageError(`--${name} is for --op histogram, not ${op}`)
  if (isTable(op) && axis !== undefined) throw new UsageError(`--axis is not for --op ${op}, which takes all elements together`)
}

export const isTable = (op: Op): op is 'histogram' | 'unique' => op === 'histogram' || op === 'unique'

/**
 * A variable reduced along some dimensions. Positions are those in it: of all elements one on each axis, -1
 * standing for nowhere.
 * @param reduce reduces by others, what they can
 */
export async function reduced(
  variable: Variable,
  op: CellOp,
  how: ReduceDimsOptions,
  { q = [] }: ReductionOptions,
  reduce?: Reducing,
): Promise<Variable> {
  const labelled = { variable, coordinates: new Map() }
  if (op === 'quantile') return quantileAlong(labelled, q.length === 1 ? q[0]! : q, how).variable
  if (op !== 'any' && op !== 'all' && op !== 'argmin' && op !== 'argmax') return reduceAlong(labelled, op, how, reduce).variable
  const { axis, kept } = axesOf(variable, how.axis)
  const skip = skipping(variable.array, how.skipMissing)
  if (op === 'any' || op === 'all')
    return reducedTo(variable, inMemoryAs('bool', await variable.array[op]({ axis, ...skip })), kept)
  const method = POSITIONS[op]
  if (how.axis !== undefined)
    return reducedTo(variable, inMemoryAs('float64', await variable.array[method]({ axis, ...skip })), kept)
  const position = await variable.array[method](skip)
  const tensor = tensorOf('float64', [position.length], Float64Array.from(position))
  return reducedTo(variable, inMemoryAs('float64', tensor), ['axis'])
}

const inMemoryAs = (dtype: DType, tensor: Tensor): DiskArray => new DiskArray({ ...inMemory(tensor), dtype } as BlockSource)

/** Columns of a table, with as many rows each, or of edges one more. */
export type Columns = Readonly<Record<string, Result>>

/** Elements counted by value: by bins, or each value. */
export async function countsOf(
  { array }: Variable,
  op: 'histogram' | 'unique',
  { skipMissing }: ReduceDimsOptions,
  { bins, range }: ReductionOptions,
  shown: Shown,
): Promise<Columns> {
  const skip = skipping(array, skipMissing)
  const counted = (tensor: Tensor): Result => ({ dtype: 'float64', tensor })
  if (op === 'unique') {
    const { values, counts } = await array.unique(skip)
    return { values: { dtype: array.dtype, tensor: values, ...shown }, counts: counted(counts) }
  }
  const { edges, counts } = await array.histogram({ ...(bins !== undefined && { bins }), ...(range && { range }), ...skip })
  return { edges: { ...counted(edges), ...(shown.dates && { dates: shown.dates }) }, counts: counted(counts) }
}
