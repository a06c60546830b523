import { type ErrorDetails, HyperslabError } from './errors.ts'
import { keepAbortReason, type Signal } from './signal.ts'

/**
 * Required kind of an option: a result of `typeof`, `plain object`, `integer`, `number from 0`, `integer from
 * 1 to 9`, `list`, `list of strings`, or one of {@link MARKS}; several are joined by ` or `. A list contains
 * the allowed values. `value` accepts anything, because the callee checks it. Numbers are not NaN.
 */
export type Check = string | readonly (string | number | boolean)[]

/** One check for each option of `O`; the compiler ensures that none is missing. */
export type Checks<O> = { readonly [K in keyof O]-?: Check }

/**
 * Checks the options of a call. Options that are `undefined` count as omitted.
 * @param call name of the function in messages
 * @param label the file and array that the call is about
 * @throws InvalidArgumentError if the options are no object, or contain unknown names or values of another
 *   kind
 */
export function checkOptions(
  call: string,
  options: unknown,
  checks: Readonly<Record<string, Check>>,
  label?: ErrorDetails,
): void {
  if (options === undefined) return
  if (!isPlain(options)) throw wrong(`${call} takes options as an object, got ${show(options)}`, { ...label, actual: options })
  for (const name in options as object) {
    const value = (options as Record<string, unknown>)[name]
    if (value === undefined) continue
    if (!Object.hasOwn(checks, name)) {
      const names = Object.keys(checks)
      throw wrong(`${call} has no option '${name}'${hint(name, names)}`, { ...label, actual: name, expected: names })
    }
    checkValue(call, name, value, checks[name]!, label)
    if (checks[name] === 'AbortSignal') keepAbortReason(value as Signal)
  }
}

/**
 * Checks a required argument that is not an options object.
 * @throws InvalidArgumentError if it is of another kind
 */
export function checkValue(call: string, name: string, value: unknown, check: Check, label?: ErrorDetails): void {
  if (typeof check === 'string' ? createTest(check)(value) : check.includes(value as string)) return
  const text =
    typeof check === 'string'
      ? ` must be ${/^[aeio]/i.test(check) ? 'an' : 'a'} ${check}, got ${show(value)}`
      : ` cannot be ${show(value)}${hint(typeof value === 'string' ? value : '', check)}`
  throw wrong(`${call}: ${name}${text}`, { ...label, actual: value, expected: check })
}

type Test = (value: unknown) => boolean

/** Parsed checks: options are checked in each call, and parsing the texts is slow. */
const tests = new Map<string, Test>()

function createTest(check: string): Test {
  let test = tests.get(check)
  if (test === undefined) {
    const kinds = check.split(' or ').map(kindOf)
    test = (value) => kinds.some((kind) => kind(value))
    tests.set(check, test)
  }
  return test
}

/** Members by which objects are recognised, also those of another copy of the package. */
const MARKS: Readonly<Record<string, string>> = {
  BlockCache: 'slabs',
  DiskArray: 'rechunkTo',
  MemoryBudget: 'result',
  Store: 'getRange',
  WorkerPool: 'decodes',
}

const has = (value: unknown, name: string): boolean => (value as Record<string, unknown> | null)?.[name] !== undefined

function kindOf(kind: string): Test {
  if (kind === 'AbortSignal') return (value) => ['throwIfAborted', 'addEventListener'].every((each) => has(value, each))
  const mark = MARKS[kind]
  if (mark) return (value) => has(value, mark)
  const [, base, items, least, most] = /^(\w+)(?: of (.*)s)?(?: from (\d+))?(?: to (\d+))?$/.exec(kind) ?? []
  switch (base) {
    case 'value':
      return () => true
    case 'integer':
    case 'number':
      return (value) =>
        typeof value === 'number' &&
        !(value < +least!) &&
        !(value > +most!) &&
        (base === 'number' ? !Number.isNaN(value) : Number.isSafeInteger(value))
    case 'list':
      return (value) =>
        typeof value === 'object' &&
        typeof (value as ArrayLike<unknown> | null)?.length === 'number' &&
        Symbol.iterator in value! &&
        (!items || [...(value as unknown[])].every(kindOf(items)))
    default:
      return kind === 'plain object' ? isPlain : (value) => typeof value === kind && value !== null
  }
}

const wrong = (text: string, details: ErrorDetails): HyperslabError => new HyperslabError('InvalidArgumentError', text, details)

/**
 * Whether a value is a plain object; arrays, signals, maps and so on have other tags. The tag is checked
 * last, because it takes longer than everything else.
 */
const isPlain = (value: unknown): boolean =>
  Object(value) === value && (Object.getPrototypeOf(value) === Object.prototype || typeTag(value) === 'Object')

const typeTag = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1)

const show = (value: unknown): string =>
  typeof value === 'string'
    ? JSON.stringify(value)
    : Object(value) === value
      ? `a value of type ${typeTag(value)}`
      : String(value)

/** Returns the name that was probably meant, or all names. */
function hint(given: string, names: readonly unknown[]): string {
  // Maps the name that other libraries use.
  const word = given.toLowerCase().replace('skipfill', 'skipmissing')
  let [nearest, fewest] = ['', (word.length + 1) / 3]
  for (const name of names.map(String)) {
    const count = word !== '' && name.toLowerCase().startsWith(word) ? 0 : edits(word, name.toLowerCase())
    if (count < fewest) [nearest, fewest] = [name, count]
  }
  return nearest ? `; did you mean '${nearest}'?` : `: there ${names.length > 0 ? `are ${names.join(', ')}` : 'is none'}`
}

/** Returns the edit distance of two words. */
function edits(a: string, b: string): number {
  let row = [0, ...b].map((_, i) => i)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (let k = 0; k < b.length; k++) next.push(Math.min(row[k]! + Number(letter !== b[k]), row[k + 1]! + 1, next[k]! + 1))
    row = next
  }
  return row[b.length]!
}
