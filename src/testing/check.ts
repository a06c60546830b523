import { type ErrorTag, isHyperslabError } from '../core/errors.ts'

/**
 * One requirement, described by its `name`, for any test framework: `for (const { name, run } of cases)
 * test(name, run)`.
 */
export interface Conformance {
  readonly name: string
  /** Rejects with the expected and the actual result if the requirement does not hold. */
  run(): Promise<void>
}

/** Checks deep equality of plain values, lists, typed arrays and objects, by their elements. */
export function equal(actual: unknown, expected: unknown): void {
  if (!same(actual, expected)) throw new Error(`expected ${show(expected)}, got ${show(actual)}`)
}

/** Checks that work fails with an error of this tag, whose details include the given ones. */
export async function refused(work: Promise<unknown>, tag: ErrorTag, details: Record<string, unknown> = {}): Promise<void> {
  const outcome = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if (!('error' in outcome)) throw new Error(`expected ${tag}, got the result ${show(outcome.value)}`)
  checkError(outcome.error, tag, details)
}

export function checkError(error: unknown, tag: ErrorTag, details: Record<string, unknown> = {}): void {
  if (!isHyperslabError(error, tag)) throw new Error(`expected ${tag}, got ${String(error)}`, { cause: error })
  const given: Record<string, unknown> = { ...error.details }
  const wrong = Object.keys(details).find((key) => !same(given[key], details[key]))
  if (wrong === undefined) return
  throw new Error(`expected ${tag} with ${wrong} ${show(details[wrong])}, got ${show(given[wrong])}`, { cause: error })
}

function same(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b)
  if (isList(a) !== isList(b)) return false
  const [keys, others] = [Object.keys(a), Object.keys(b)]
  return keys.length === others.length && keys.every((key) => same(readField(a, key), readField(b, key)))
}

const isList = (value: object): boolean => Array.isArray(value) || ArrayBuffer.isView(value)

const readField = (value: object, key: string): unknown => (value as Record<string, unknown>)[key]

/** Formats a value for a message. Long lists are cut. */
function show(value: unknown): string {
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    const shown = Object.values(value).slice(0, 20).map(show).join(', ')
    const { length } = Object.keys(value)
    return `[${shown}${length > 20 ? `, … (${length})` : ''}]`
  }
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? `${each}n` : each)) ?? String(value)
}
