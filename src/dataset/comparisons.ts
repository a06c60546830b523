import { DiskArray } from '../array/disk-array.ts'
import { broadcastSource } from '../array/lazy/broadcast.ts'
import { missingElements } from '../array/missing.ts'
import { missingTest } from '../array/missing-test.ts'
import { type DType, isBigInt } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import { toTimestamp } from '../core/timestamp.ts'
import { ARITHMETIC_CHECKS, type ArithmeticOptions, alignOperands, alongDims, checkBooleans } from './arithmetic.ts'
import { asFloats } from './cast-float.ts'
import { checkLabelled, isLabelled, type Labelled } from './coords.ts'
import { NAT } from './time/instant.ts'
import type { Variable } from './variable.ts'

/** Comparison of values, by the name of its method. */
export type Comparison = 'lt' | 'le' | 'gt' | 'ge' | 'eq' | 'ne'

/** Operation of booleans, by the name of its method. */
export type LogicalOperation = 'and' | 'or'

/** A value that elements are compared with: for times, a `Date` or nanoseconds since 1970. */
export type ComparedValue = number | bigint | boolean | string | Date

type Test = (a: never, b: never) => boolean

/** Numbers of 64 bits are compared exactly with other numbers. */
const TESTS: Readonly<Record<Comparison, (a: number, b: number) => boolean>> = {
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
  // `===` differs between a number and a bigint.
  eq: (a, b) => a <= b && a >= b,
  ne: (a, b) => !(a <= b && a >= b),
}

const LOGIC: Readonly<Record<LogicalOperation, (a: boolean, b: boolean) => boolean>> = {
  and: (a, b) => a && b,
  or: (a, b) => a || b,
}

type ValueKind = 'numbers' | 'times' | 'text'

/** An operand whose missing elements are recognised. */
interface Compared {
  readonly array: DiskArray
  readonly isMissing: ((element: never) => boolean) | undefined
}

/**
 * Compares the values of two arrays, matched as in arithmetic, or those of an array with one value. A missing
 * value equals no value: the result is false, and true for `ne`.
 * @returns booleans, none of which is missing, without attributes
 * @throws InvalidArgumentError for operands of different kinds; UnsupportedError for binaries, and for times
 *   that are numbers of a unit
 */
export function compared(
  left: Labelled,
  right: Labelled | ComparedValue,
  comparison: Comparison,
  options: ArithmeticOptions = {},
): Labelled {
  checkOptions(comparison, options, ARITHMETIC_CHECKS, { array: left.variable.name })
  const kind = kindOf(comparison, left.variable)
  if (!isLabelled(right)) {
    const value = roundedTo(left.variable.array.dtype, valueFor(comparison, left.variable, kind, right))
    const { array, isMissing } = comparable(left.variable)
    const fn = presentOnly(comparison, isMissing, value === NAT && kind === 'times' ? () => true : undefined)
    return booleans(left, left.variable.dims, left.coordinates, fn, [array.source, { value }])
  }
  const other = kindOf(comparison, right.variable)
  if (other !== kind) {
    const { name } = right.variable
    const text = `${comparison} compares values of one kind: '${left.variable.name}' has ${kind}, and '${name}' has ${other}`
    throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: other, expected: kind })
  }
  const { a, b, dims, coordinates } = alignOperands(left, right, options)
  const [one, two] = [comparable(a.variable), comparable(b.variable)]
  const sources = [
    alongDims(a.variable.with({ array: one.array }), dims).source,
    alongDims(b.variable.with({ array: two.array }), dims).source,
  ]
  return booleans(a, dims, coordinates, presentOnly(comparison, one.isMissing, two.isMissing), sources)
}

/**
 * Combines two arrays of booleans, matched as in arithmetic.
 * @throws InvalidArgumentError for arrays that are not of booleans
 */
export function logical(left: Labelled, right: Labelled, operation: LogicalOperation, options: ArithmeticOptions = {}): Labelled {
  checkOptions(operation, options, ARITHMETIC_CHECKS, { array: left.variable.name })
  checkLabelled(operation, right)
  checkBooleans(operation, left.variable)
  checkBooleans(operation, right.variable)
  const { a, b, dims, coordinates } = alignOperands(left, right, options)
  const sources = [a, b].map(({ variable }) => alongDims(variable, dims).source)
  return booleans(a, dims, coordinates, LOGIC[operation], sources)
}

/**
 * Negates booleans.
 * @throws InvalidArgumentError for other values
 */
export function negated(operand: Labelled): Labelled {
  checkBooleans('not', operand.variable)
  const { variable, coordinates } = operand
  return booleans(operand, variable.dims, coordinates, (value: boolean) => !value, [variable.array.source])
}

function booleans(
  { variable }: Labelled,
  dims: readonly string[],
  coordinates: Labelled['coordinates'],
  fn: (...values: never[]) => boolean,
  operands: Parameters<typeof broadcastSource>[1],
): Labelled {
  const array = new DiskArray(broadcastSource(fn, operands, { dtype: 'bool', keepMissing: false })) as DiskArray
  const without = { index: undefined, stored: undefined, times: undefined, attrs: {}, encoding: {} }
  return { variable: variable.with({ array, dims, ...without }), coordinates }
}

/** Returns a number as float32 has it, as numpy does: then 0.1 equals the element that was stored for 0.1. */
const roundedTo = (dtype: DType, value: unknown): unknown =>
  dtype === 'float32' && typeof value === 'number' ? Math.fround(value) : value

/** Returns a comparison that is false, or true for `ne`, where an operand is missing. */
function presentOnly(comparison: Comparison, isMissing: Compared['isMissing'], isOtherMissing: Compared['isMissing']): Test {
  const test = TESTS[comparison] as Test
  if (isMissing === undefined && isOtherMissing === undefined) return test
  const ofMissing = comparison === 'ne'
  return (a, b) => (isMissing?.(a) === true || isOtherMissing?.(b) === true ? ofMissing : test(a, b))
}

/**
 * Prepares an array for a comparison. Numbers become floats with NaN for missing values. 64-bit integers,
 * times and text keep their type and get a test for missing values.
 */
function comparable({ name, array }: Variable): Compared {
  const { dtype, source } = array
  if (dtype !== 'timestamp_ns' && dtype !== 'string' && !isBigInt(dtype))
    return { array: asFloats(array, name), isMissing: undefined }
  const isMissing = missingTest(missingElements(source)) as Compared['isMissing']
  if (dtype !== 'timestamp_ns') return { array, isMissing }
  return { array, isMissing: (element: never) => element === NAT || isMissing?.(element) === true }
}

function kindOf(comparison: Comparison, { name, array: { dtype }, times }: Variable): ValueKind {
  if (dtype === 'timestamp_ns') return 'times'
  const isUnits = times !== undefined
  if (dtype === 'binary' || isUnits) {
    const what = isUnits ? `times that are numbers of '${times.text}'` : 'binaries'
    throw new HyperslabError('UnsupportedError', `there is no ${comparison} of ${what}`, { array: name, actual: dtype })
  }
  return dtype === 'string' ? 'text' : 'numbers'
}

const KINDS: Readonly<Record<ValueKind, readonly [readonly string[], string]>> = {
  numbers: [['number', 'bigint', 'boolean'], 'a number'],
  times: [['Date', 'bigint'], 'a Date or nanoseconds as a bigint'],
  text: [['string'], 'a string'],
}

/** @throws InvalidArgumentError for a value of another kind, and for an invalid date */
function valueFor(comparison: Comparison, { name }: Variable, kind: ValueKind, value: unknown): unknown {
  const [types, noun] = KINDS[kind]
  const type = value instanceof Date ? 'Date' : typeof value
  if (!types.includes(type)) {
    const text = `${comparison} of '${name}', which has ${kind}, takes an array of a dataset or ${noun}, got ${quoted(value)}`
    throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: value, expected: noun })
  }
  if (value instanceof Date) return toTimestamp(value)
  return typeof value === 'boolean' ? Number(value) : value
}
