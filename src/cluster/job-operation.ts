import { FOLD_KINDS } from '../array/reductions/fold-kinds.ts'
import { checkCall } from '../array/reductions/options.ts'
import { DIVIDED_METHODS, type DividedMethod } from '../array/reductions/reductions.ts'
import { scratchBeside } from '../copy/packed-parts.ts'
import { HyperslabError, invalidArgument } from '../core/errors.ts'
import type { Check, Checks } from '../core/options.ts'
import { FOLDER_TO_WRITE, foreignWriteOption, formatOfTarget, type WrittenFormat } from '../tree/written-formats.ts'
import { optional, type PendingCheck, required } from './checks.ts'
import {
  type ArrayRecipe,
  checkNoSecret,
  DATASET_RECIPE,
  type DatasetRecipe,
  datasetChecks,
  recipeChecks,
  relocated,
  relocatedDataset,
} from './recipe.ts'

/** A JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [name: string]: JsonValue }

/** A reduction of the array that `source` describes. `method` is the name of the array's method. */
export interface ReduceOperation {
  readonly method: DividedMethod
  readonly source: ArrayRecipe
  /**
   * Arguments of the method before its options: for `quantile` the quantiles; for `groupBy` the axis, the
   * label of each position along it, and the kind of reduction.
   */
  readonly args?: readonly JsonValue[]
  /** Options of the method, without signals and functions. */
  readonly options?: { readonly [name: string]: JsonValue }
}

/**
 * Attributes of a group: an object, or its JSON text. Text keeps integers beyond 2^53 and whole floats
 * (`10.0`), which JavaScript's numbers cannot represent.
 */
export type GroupAttributes = string | { readonly [name: string]: JsonValue }

/** `arrays` to be copied unchanged, by their paths in the target; '' makes the target itself an array. */
export interface CopiedArrays {
  readonly arrays: { readonly [path: string]: ArrayRecipe }
  /** Attributes of groups by path; '' is the target itself. */
  readonly groups?: { readonly [path: string]: GroupAttributes }
}

/** Variables of a dataset to be copied with their labels, in their encoding. */
export interface CopiedDataset extends DatasetRecipe {
  /** Names of variables. Default: all variables. */
  readonly variables?: readonly string[]
}

/** Source of a copy: single arrays by their recipes, or a dataset. */
export type CopySource = CopiedArrays | CopiedDataset

/** Chunks, shards and compression of the target of a copy. Shards and levels exist in Zarr only. */
export interface CopySettings {
  /** Chunk lengths along dimensions, by name. Default: those of the source. */
  readonly chunks?: { readonly [dimension: string]: number }
  /** Shard lengths along dimensions, by name. Default: one chunk. */
  readonly shards?: { readonly [dimension: string]: number }
  /** Codec of the chunks. Default: `zstd`, in a container `lz4`. */
  readonly codec?: string
  /** Level of the codec. */
  readonly level?: number
  /** Only for containers: block size before compression, in bytes. Default: 256 KiB. */
  readonly blockBytes?: number
  /**
   * Only for containers: whether to write a single file of footer version 6, which is never changed and has
   * no layers. Default: false, a container of version 5.
   */
  readonly immutable?: boolean
  /** Number of levels of a pyramid, each half as fine as the one before: see `write` of `Dataset`. */
  readonly levels?: number
}

/**
 * A copy (`method`) of a `source` to a new Zarr store or, if the name of the target ends in `.af`, to a new
 * container. `options` has its chunks and shards. For Zarr, each task writes whole objects. For a container,
 * each task packs whole chunks, and the last merge publishes them together.
 */
export interface CopyOperation {
  readonly method: 'copy'
  readonly source: CopySource
  /** Location of the Zarr store or container to be written. */
  readonly target: string
  readonly options?: CopySettings
}

/** Operation of a job. */
export type JobOperation = ReduceOperation | CopyOperation

/** Returns the format that a copy writes, by the name of its target: a folder of Zarr under other names. */
export const formatOfCopy = ({ target }: Pick<CopyOperation, 'target'>): WrittenFormat =>
  formatOfTarget(target) ?? FOLDER_TO_WRITE

/** Returns the default scratch folder of a job; undefined if it needs none. */
export const defaultScratch = (operation: JobOperation): string | undefined =>
  isCopy(operation) && formatOfCopy(operation).writing.isFile ? scratchBeside(operation.target) : undefined

export const isCopy = (operation: JobOperation): operation is CopyOperation => operation.method === 'copy'

const REDUCE_CHECKS: Checks<ReduceOperation> = {
  method: DIVIDED_METHODS,
  source: 'plain object',
  args: 'list',
  options: 'plain object',
}
const COPY_CHECKS: Checks<CopyOperation> = {
  method: ['copy'],
  source: 'plain object',
  target: 'string',
  options: 'plain object',
}
const COPY_OPTIONS: Checks<CopySettings> = {
  chunks: 'plain object',
  shards: 'plain object',
  codec: 'string',
  level: 'integer',
  blockBytes: 'integer from 1 to 1073741824',
  immutable: 'boolean',
  levels: 'integer from 1 to 32',
}
const ARRAYS: Checks<CopiedArrays> = { arrays: 'plain object', groups: 'plain object' }
const DATASET: Checks<CopiedDataset> = { ...DATASET_RECIPE, variables: 'list of strings' }

/** Arguments of methods before their options. */
const ARGUMENTS: Partial<Record<DividedMethod, readonly { name: string; check: Check; isList?: boolean }[]>> = {
  quantile: [{ name: 'q', check: 'number from 0 to 1', isList: true }],
  groupBy: [
    { name: 'axis', check: 'integer or string' },
    { name: 'labels', check: 'number or string or boolean', isList: true },
    { name: 'kind', check: FOLD_KINDS },
  ],
}

/** Checks of list items in options. The methods check their other properties once the array is open. */
const ITEMS: Readonly<Record<string, string>> = { axis: 'integer or string', bins: 'number', range: 'number' }

/**
 * @param call name of the function in messages
 * @throws InvalidArgumentError for an invalid operation, for options that its method does not have, for
 *   functions among them, and for credentials in locations
 */
export function* operationChecks(call: string, operation: JobOperation): Generator<PendingCheck, void> {
  yield required(call, 'the operation', operation, 'plain object')
  checkPlain(call, operation, 'the operation')
  yield required(call, 'method', operation.method, [...DIVIDED_METHODS, 'copy'])
  if (isCopy(operation)) yield* copyChecks(call, operation)
  else yield* reduceChecks(call, operation)
}

function* reduceChecks(call: string, operation: ReduceOperation): Generator<PendingCheck, void> {
  yield optional(call, operation, REDUCE_CHECKS)
  const { method, source, args = [], options = {} } = operation
  yield* recipeChecks(call, source)
  checkCall(method, options, {})
  if (options['signal'] !== undefined) invalidArgument(`${call}: a signal ends a run, and is no option of its plan`, options)
  for (const [name, check] of Object.entries(ITEMS))
    for (const item of [options[name] ?? []].flat()) yield required(method, name, item, check)
  const expected = ARGUMENTS[method] ?? []
  if (args.length !== expected.length) {
    const text = expected.length === 0 ? 'no arguments' : `as arguments ${expected.map(({ name }) => name).join(', ')}`
    invalidArgument(`${call}: ${method} takes ${text}, got ${args.length}`, args)
  }
  for (const [i, { name, check, isList }] of expected.entries())
    for (const each of isList ? [args[i]].flat() : [args[i]]) yield required(method, name, each, check)
}

function* copyChecks(call: string, operation: CopyOperation): Generator<PendingCheck, void> {
  yield optional(call, operation, COPY_CHECKS)
  const { source, target, options = {} } = operation
  yield required(call, 'target', target, 'string')
  checkNoSecret(call, target)
  yield optional('copy', options, COPY_OPTIONS)
  const format = formatOfCopy(operation)
  const { codecs, hasGroups, isShared } = format.writing
  if (!isShared) {
    const text = `copy: ${target} is ${format.noun}, which is written whole, not by the workers of a queue; write it with hyperslab export or ds.write`
    throw new HyperslabError('UnsupportedError', text, { actual: target })
  }
  const foreign = foreignWriteOption(format, options, target)
  if (foreign !== undefined) invalidArgument(`copy: ${foreign.text}`, options)
  if (codecs !== undefined && options.codec !== undefined) yield required('copy', 'codec', options.codec, codecs)
  const { chunks = {}, shards = {} } = options
  for (const [option, lengths] of Object.entries({ chunks, shards }))
    for (const [name, length] of Object.entries(lengths))
      yield required('copy', `${option} along ${name}`, length, 'integer from 1')
  yield required(call, 'source', source, 'plain object')
  if ('dataset' in source) {
    yield optional(`${call}: source`, source, DATASET)
    yield* datasetChecks(call, source)
    return
  }
  yield optional(`${call}: source`, source, ARRAYS)
  const { arrays, groups = {} } = source
  yield required(`${call}: source`, 'arrays', arrays, 'plain object')
  if (!hasGroups && (Object.hasOwn(arrays, '') || Object.keys(groups).some((path) => path !== '')))
    invalidArgument(`${call}: source: arrays of ${format.noun} have names, and there are no groups in it`, source)
  if (Object.keys(arrays).length === 0) invalidArgument(`${call}: source: there are no arrays to copy`, arrays)
  for (const recipe of Object.values(arrays)) yield* recipeChecks(call, recipe)
  for (const [path, attributes] of Object.entries(groups))
    yield required(`${call}: source`, `groups: '${path}'`, attributes, 'plain object or string')
}

/** Returns the operation with every location replaced. */
export function relocatedOperation<O extends JobOperation>(operation: O, to: (location: string) => string): O {
  if (!isCopy(operation)) return { ...operation, source: relocated((operation as ReduceOperation).source, to) }
  const { source, target } = operation
  if ('dataset' in source) return { ...operation, source: relocatedDataset(source, to), target: to(target) }
  const arrays = Object.entries(source.arrays).map(([path, recipe]) => [path, relocated(recipe, to)] as const)
  return { ...operation, source: { ...source, arrays: Object.fromEntries(arrays) }, target: to(target) }
}

/** Returns the locations that an operation reads, and the one that it writes. */
export function placesIn(operation: JobOperation): { readonly sources: readonly string[]; readonly target?: string } {
  const found = new Set<string>()
  relocatedOperation(operation, (location) => {
    found.add(location)
    return location
  })
  if (!isCopy(operation)) return { sources: [...found] }
  return { sources: [...found], target: operation.target }
}

/** Maximum nesting depth of lists and objects. Circular objects exceed it. */
const MOST_LEVELS = 64

/**
 * @param where name of the value in messages
 * @throws InvalidArgumentError for values that JSON cannot express: functions, signals, NaN and infinities
 */
export function checkPlain(call: string, value: unknown, where: string, levels = MOST_LEVELS): void {
  if (typeof value === 'function') invalidArgument(`${call}: ${where} is a function, but a plan contains no code`, value)
  if (value === null || value === undefined || typeof value === 'string' || typeof value === 'boolean') return
  if (typeof value === 'number' && Number.isFinite(value)) return
  const isPlain = Array.isArray(value) || (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype)
  if (!isPlain) invalidArgument(`${call}: ${where} cannot be expressed in JSON`, value)
  if (levels === 0) invalidArgument(`${call}: ${where} is nested more than ${MOST_LEVELS} levels deep`, value)
  for (const [name, each] of Object.entries(value as object)) checkPlain(call, each, `${where}.${name}`, levels - 1)
}
