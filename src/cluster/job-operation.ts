import { checkCall } from '../array/reductions/options.ts'
import { DIVIDED_METHODS, type DividedMethod } from '../array/reductions/reductions.ts'
import { invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import { type ArrayRecipe, checkRecipe } from './recipe.ts'

/** A value of JSON. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [name: string]: JsonValue }

/** What a job does: a reduction, by the name of the method that an array has for it, of an array. */
export interface JobOperation {
  readonly method: DividedMethod
  readonly source: ArrayRecipe
  /** What the method takes before its options: of `quantile` the quantiles. */
  readonly args?: readonly JsonValue[]
  /** What the method takes as its options, but for signals and functions. */
  readonly options?: { readonly [name: string]: JsonValue }
}

const OPERATION_CHECKS: Checks<JobOperation> = {
  method: DIVIDED_METHODS,
  source: 'plain object',
  args: 'list',
  options: 'plain object',
}

/** Items of options that are lists: methods look at them once the array is open. */
const ITEMS: Readonly<Record<string, string>> = { axis: 'integer or string', bins: 'number', range: 'number' }

/**
 * @param call how messages name the function
 * @throws InvalidArgumentError for what is no operation, options that its method does not take, code among
 *   them, and credentials in locations
 */
export function checkOperation(call: string, operation: JobOperation): void {
  checkValue(call, 'the operation', operation, 'plain object')
  checkPlain(call, operation, 'the operation')
  checkOptions(call, operation, OPERATION_CHECKS)
  const { method, source, args = [], options = {} } = operation
  checkValue(call, 'method', method, DIVIDED_METHODS)
  checkRecipe(call, source)
  checkCall(method, options, {})
  if (options['signal'] !== undefined) invalidArgument(`${call}: a signal ends a run, and is no option of its plan`, options)
  for (const [name, check] of Object.entries(ITEMS))
    for (const item of [options[name] ?? []].flat()) checkValue(method, name, item, check)
  const takesArgs = method === 'quantile'
  if (args.length !== Number(takesArgs))
    invalidArgument(
      `${call}: ${method} takes ${takesArgs ? 'one argument, the quantiles' : 'no arguments'}, got ${args.length}`,
      args,
    )
  for (const q of args.flat()) checkValue(method, 'q', q, 'number from 0 to 1')
}

/** Deeper than anybody nests lists and objects; an object that holds itself is deeper, too. */
const MOST_LEVELS = 64

/**
 * @param where how messages name the value
 * @throws InvalidArgumentError for what JSON cannot hold: code, signals, numbers that are none
 */
export function checkPlain(call: string, value: unknown, where: string, levels = MOST_LEVELS): void {
  if (typeof value === 'function') invalidArgument(`${call}: ${where} is a function, and a plan holds no code`, value)
  if (value === null || value === undefined || typeof value === 'string' || typeof value === 'boolean') return
  if (typeof value === 'number' && Number.isFinite(value)) return
  const isPlain = Array.isArray(value) || (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype)
  if (!isPlain) invalidArgument(`${call}: ${where} is nothing that JSON can hold`, value)
  if (levels === 0) invalidArgument(`${call}: ${where} is nested more than ${MOST_LEVELS} levels deep`, value)
  for (const [name, each] of Object.entries(value as object)) checkPlain(call, each, `${where}.${name}`, levels - 1)
}
