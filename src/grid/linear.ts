import { HyperslabError } from '../core/errors.ts'
import { sizeOf } from '../core/shape.ts'
import { isTensorLike, type TensorLike } from '../core/tensor.ts'
import { isArrayLike, type Nested } from './list.ts'
import { partsOfPoints, type ResolvedSelection, resolveSelection, type SelectionPart, type Selector } from './selection.ts'
import { LinearSelector } from './selectors.ts'
import { invalid, isSlice, type Slice, show } from './slice.ts'

/** Positions in C order: one, a slice, a list of any nesting, or a mask with an entry for each element. */
export type LinearPositions = number | null | Slice | Nested<number | bigint> | Nested<boolean> | TensorLike

/** Most positions that are listed. */
const MAX_POSITIONS = 2 ** 24

/**
 * Selects elements of a whole array by their positions in C order, as if it had one axis. It is the only
 * selector of a selection. Its elements are points: a slice lists all its positions, of which there may be
 * 2^24. Positions beyond the array throw an InvalidSelectionError when they are used.
 * @example
 * const t = generate((i, j) => 10 * i + j, { dtype: 'int32', shape: [4, 6] })
 * console.log((await t.get(linear([3, 7]))).data) // Int32Array(2) [ 3, 11 ]
 * console.log((await t.get(linear(slice(5, 8)))).data) // Int32Array(3) [ 5, 10, 11 ]
 * console.log(await t.get(linear(-1))) // 35
 */
export function linear(position: number): LinearSelector<true>
export function linear(positions: Exclude<LinearPositions, number>): LinearSelector<false>
export function linear(positions: LinearPositions): LinearSelector {
  return new LinearSelector((shape) => resolveLinear(positions, shape))
}

/** Resolves positions in C order to points of all axes. */
function resolveLinear(selector: unknown, shape: readonly number[]): ResolvedSelection {
  const isNumber = typeof selector === 'number' || selector === null
  if (!isNumber && !isSlice(selector) && !isTensorLike(selector) && !isArrayLike(selector))
    return invalid(`linear takes a position, a slice, a list or a mask, got ${show(selector)}`, { actual: selector })
  const whole = resolveSelection([selector as Selector], [sizeOf(shape)])
  const [{ picks, length, shape: own }] = whole.parts as [SelectionPart]
  if (shape.length === 1) return whole
  if (shape.length === 0) {
    if (whole.scalar) return { ...whole, parts: [] }
    return invalid('linear takes a position of an array without axes, not several', { actual: selector })
  }
  if (length > MAX_POSITIONS) {
    const text = `linear selects ${length} positions, the most are ${MAX_POSITIONS}: select by slices of the axes`
    throw new HyperslabError('TooLargeError', text, { actual: length, expected: MAX_POSITIONS })
  }
  const lists = shape.map(() => new Float64Array(length))
  for (let i = 0; i < length; i++) {
    let rest = 'step' in picks ? picks.start + i * picks.step : picks[0]![i]!
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      lists[axis]![i] = rest % shape[axis]!
      rest = Math.floor(rest / shape[axis]!)
    }
  }
  return { ...whole, parts: partsOfPoints(lists, own) }
}
