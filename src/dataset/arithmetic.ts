import { DiskArray } from '../array/disk-array.ts'
import { viewAxes } from '../array/lazy/axes-view.ts'
import { broadcastSource } from '../array/lazy/broadcast.ts'
import { isNumeric } from '../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { wholeAxis } from '../core/tensor.ts'
import { asFloats } from './cast-float.ts'
import { isLabelled, type Labelled, mergeCoords, takeCoords } from './coords.ts'
import { groupLabels } from './group-labels.ts'
import { LabelIndex } from './label-index.ts'
import type { Taken } from './label-selectors.ts'
import { asNumbers, reducedTo, withoutQuantity } from './reductions.ts'
import { NAT } from './time/instant.ts'
import type { Variable } from './variable.ts'

/** Options of arithmetic. */
export interface ArithmeticOptions {
  /**
   * Rule for labels that differ along a dimension. `exact` (default) refuses them; `inner` keeps the labels
   * that both arrays have.
   */
  readonly join?: 'exact' | 'inner'
}

export const ARITHMETIC_CHECKS: Checks<ArithmeticOptions> = { join: ['exact', 'inner'] }

/** Operation of two arrays, by the name of its method. */
export type Arithmetic = 'add' | 'sub' | 'mul' | 'div' | 'where' | 'fillna'

const FUNCTIONS: Readonly<Record<Arithmetic, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  where: (a, condition) => (isFalse(condition) ? Number.NaN : a),
  fillna: (a, b) => (Number.isNaN(a) ? b : a),
}

const isFalse = (condition: number): boolean => condition === 0 || Number.isNaN(condition)

/**
 * Combines two arrays, or an array and a number, matching dimensions by name. An array is repeated along
 * dimensions that it lacks. The result is float32 if all operands are float32 or numbers, otherwise float64.
 * @throws InvalidArgumentError if labels or lengths differ, and for operands that are neither arrays nor
 *   numbers
 */
export function combineArrays(
  left: Labelled,
  right: Labelled | number,
  operation: Arithmetic,
  options: ArithmeticOptions = {},
): Labelled {
  checkOptions(operation, options, ARITHMETIC_CHECKS, { array: left.variable.name })
  const fn = FUNCTIONS[operation]
  if (typeof right === 'number') {
    const own = toFloats(left.variable)
    const dtype = own.dtype as 'float64'
    const array = new DiskArray(broadcastSource(fn, [own.source, { value: right }], { dtype })) as DiskArray
    return { variable: reducedTo(withoutQuantity(left.variable), array, left.variable.dims), coordinates: left.coordinates }
  }
  if (!isLabelled(right)) return invalidArgument(`${operation} takes an array of a dataset or a number`, right)
  const { a, b, dims, coordinates } = alignOperands(left, right, options)
  if (operation === 'fillna') checkNumbers(a.variable, b.variable)
  if (operation === 'where' && a.variable.array.dtype === 'timestamp_ns')
    return timesWhere(a.variable, b.variable, dims, coordinates)
  const values = operation === 'where' ? [a] : [a, b]
  const dtype = values.every(({ variable }) => variable.array.dtype === 'float32') ? 'float32' : 'float64'
  const sources = [a, b].map(({ variable }) => alongDims(variable.with({ array: toFloats(variable) }), dims).source)
  // A missing value of the first array does not make the result missing.
  const fills = operation === 'fillna' && { fillValue: Number.NaN, keepMissing: false }
  const array = new DiskArray(broadcastSource(fn, sources, { dtype, ...fills })) as DiskArray
  return { variable: reducedTo(ofOperation(operation, a.variable, b.variable), array, dims), coordinates }
}

/**
 * Matches the dimensions and labels of two operands.
 * @returns both, and the dimensions and coordinates of their combination
 * @throws InvalidArgumentError if labels or lengths differ
 */
export function alignOperands(
  left: Labelled,
  right: Labelled,
  { join }: ArithmeticOptions,
): {
  readonly a: Labelled
  readonly b: Labelled
  readonly dims: readonly string[]
  readonly coordinates: Labelled['coordinates']
} {
  let [a, b] = [spread(left, right), spread(right, left)]
  if (join === 'inner') [a, b] = inner(a, b)
  const coordinates = mergeCoords(a.coordinates, b.coordinates, 'drop')
  checkLengths(a.variable, b.variable)
  return { a, b, dims: [...new Set([...a.variable.dims, ...b.variable.dims])], coordinates }
}

/**
 * Returns the first operand with the attributes of the result. Sums and differences keep the units if both
 * operands have the same. `where` and `fillna` keep those of the first operand. Others drop them.
 */
function ofOperation(operation: Arithmetic, a: Variable, b: Variable): Variable {
  if (operation === 'where' || operation === 'fillna') return a
  const isSameUnit = a.attrs['units'] === b.attrs['units']
  return (operation === 'add' || operation === 'sub') && isSameUnit ? asNumbers(a) : withoutQuantity(a)
}

/** Keeps times where a condition is true; the others become NaT. */
function timesWhere(
  times: Variable,
  condition: Variable,
  dims: readonly string[],
  coordinates: Labelled['coordinates'],
): Labelled {
  const sources = [times, condition.with({ array: toFloats(condition) })].map((each) => alongDims(each, dims).source)
  const fn = (time: bigint, value: number): bigint => (isFalse(value) ? NAT : time)
  const array = new DiskArray(broadcastSource(fn, sources, { dtype: 'timestamp_ns', fillValue: NAT })) as DiskArray
  return { variable: reducedTo(times, array, dims), coordinates }
}

/** @throws UnsupportedError for times as numbers, whose units may differ */
function checkNumbers(...operands: readonly Variable[]): void {
  const time = operands.find(({ times }) => times !== undefined)
  if (time !== undefined)
    throw new HyperslabError('UnsupportedError', 'there is no fillna of times with an array', { array: time.name })
}

const toFloats = ({ name, array }: Variable): DiskArray => asFloats(array, name)

/**
 * Expands an operand that has groups, if the other operand has the members of these groups: each member gets
 * the value of its group.
 */
function spread(operand: Labelled, other: Labelled): Labelled {
  for (const [dim, coord] of operand.coordinates) {
    const { grouped, index } = coord
    const along = grouped && other.coordinates.get(grouped.dim)
    if (index === undefined || along?.index === undefined || other.variable.dims.includes(dim)) continue
    const groupOf = new Map(Array.from({ length: index.length }, (_, at) => [index.at(at), at]))
    const members = groupLabels(along, grouped!.key)
    const positions = Float64Array.from(members, (label, at) => {
      const found = groupOf.get(label)
      if (found !== undefined) return found
      const text = `${coord.name} ${String(label)}, of ${along.index!.show(along.index!.at(at))}, is not among those of the other array`
      throw new HyperslabError('InvalidArgumentError', text, { array: operand.variable.name, actual: label })
    })
    const taken = new Map([[dim, { parts: [{ positions, shift: 0 }] }]])
    const variable = operand.variable.take(taken)
    const dims = variable.dims.map((each) => (each === dim ? grouped!.dim : each))
    const rest = new Map([...operand.coordinates].filter(([, { dims }]) => !dims.includes(dim)))
    return { variable: variable.with({ dims }), coordinates: rest.set(along.name, along) }
  }
  return operand
}

/** Reduces both operands to their common labels, in the order of the first. */
function inner(a: Labelled, b: Labelled): [Labelled, Labelled] {
  let [first, second] = [a, b]
  for (const [dim, { index }] of a.coordinates) {
    const other = b.coordinates.get(dim)?.index
    if (index === undefined || other === undefined || index.equals(other)) continue
    const [own, others] = LabelIndex.alike([index, other]) as [LabelIndex, LabelIndex]
    const positions = new Map(Array.from({ length: others.length }, (_, at) => [others.at(at), at]))
    if (positions.size < others.length) invalidArgument(`some labels along ${dim} are there twice: they cannot be joined`, dim)
    const shared = Array.from({ length: own.length }, (_, at) => at).filter((at) => positions.has(own.at(at)))
    const taken = (list: readonly number[]) =>
      new Map<string, Taken>([[dim, { parts: [{ positions: Float64Array.from(list), shift: 0 }] }]])
    first = takeOperand(first, taken(shared))
    second = takeOperand(second, taken(shared.map((at) => positions.get(own.at(at))!)))
  }
  return [first, second]
}

const takeOperand = ({ variable, coordinates }: Labelled, taken: ReadonlyMap<string, Taken>): Labelled => ({
  variable: variable.take(taken),
  coordinates: takeCoords(coordinates, taken),
})

function checkLengths(a: Variable, b: Variable): void {
  for (const [axis, dim] of a.dims.entries()) {
    const [length, other] = [a.array.shape[axis], b.array.shape[b.dims.indexOf(dim)]]
    if (other === undefined || other === length) continue
    const text = `${dim} is of length ${length} in '${a.name}' and ${other} in '${b.name}'`
    throw new HyperslabError('InvalidArgumentError', text, { array: a.name, actual: other, expected: length })
  }
}

/**
 * Keeps the values for which a function or a condition is true; the others become NaN.
 * @throws InvalidArgumentError as {@link combineArrays}, and for a condition that is not of booleans
 */
export function whereTrue(
  { variable, coordinates }: Labelled,
  condition: Labelled | ((value: number) => boolean),
  options: ArithmeticOptions = {},
): Labelled {
  if (typeof condition !== 'function') {
    if (!isLabelled(condition)) invalidArgument('where takes an array of booleans of a dataset, or a function', condition)
    checkBooleans('where', condition.variable)
    return combineArrays({ variable, coordinates }, condition, 'where', options)
  }
  checkOptions('where', options, ARITHMETIC_CHECKS, { array: variable.name })
  const floats = toFloats(variable) as DiskArray<'float64'>
  const array = floats.map<'float64'>((value) => (condition(value) ? value : Number.NaN), { dtype: floats.dtype })
  return { variable: reducedTo(variable, array as DiskArray, variable.dims), coordinates }
}

/** Returns the array with its axes in the order of `all`, with length 1 along dimensions that it lacks. */
export function alongDims({ array, dims }: Variable, all: readonly string[]): DiskArray {
  if (all.length === dims.length && all.every((dim, i) => dim === dims[i])) return array
  const order = all.map((dim) => (dims.includes(dim) ? dims.indexOf(dim) : dim))
  return new DiskArray(viewAxes(array.source, { picks: array.shape.map(wholeAxis), order }))
}

/**
 * Checks that an array has booleans. NetCDF-3 has none, so the message says how to make them.
 * @throws InvalidArgumentError for values of another type
 */
export function checkBooleans(call: string, { name, array: { dtype } }: Variable): void {
  if (dtype === 'bool') return
  const how = isNumeric(dtype) ? `: compare first, for example with .ne(0) or .gt(0), or use .notnull()` : ': compare first'
  const text = `${call} takes booleans, and '${name}' has ${dtype}${how}`
  throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: dtype, expected: 'bool' })
}
