import { HyperslabError } from './errors.ts'
import { quoted } from './quoted.ts'

/** Returns the number of elements; 1 for the shape of a scalar. */
export function sizeOf(shape: readonly number[]): number {
  let size = 1
  for (const length of shape) size *= length
  return size
}

/** Returns the strides in elements of a dense array in C order (last axis fastest). */
export function stridesOf(shape: readonly number[]): number[] {
  const stride = new Array<number>(shape.length)
  let step = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    stride[axis] = step
    step *= shape[axis]!
  }
  return stride
}

export const sameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((length, axis) => length === b[axis])

export const showShape = (shape: readonly number[]): string => `[${shape.join(', ')}]`

/**
 * @param what names the argument in the error
 * @throws InvalidArgumentError unless `shape` is a list of non-negative integers whose product is a safe
 *   integer
 */
export function checkShape(shape: unknown, what: string): asserts shape is readonly number[] {
  if (!Array.isArray(shape) || !shape.every((n) => Number.isSafeInteger(n) && n >= 0)) {
    throw new HyperslabError('InvalidArgumentError', `${what} must be non-negative integers, got ${quoted(shape)}`, {
      actual: shape,
    })
  }
  if (!Number.isSafeInteger(sizeOf(shape))) {
    throw new HyperslabError('InvalidArgumentError', `${what} ${showShape(shape)} has more than 2^53 elements`, { actual: shape })
  }
}

/** Visits every index of a box in C order. The array passed to `visit` is reused between calls. */
export function eachIndex(shape: readonly number[], visit: (index: readonly number[]) => void): void {
  if (sizeOf(shape) === 0) return
  const index = new Array<number>(shape.length).fill(0)
  for (;;) {
    visit(index)
    let axis = shape.length - 1
    while (axis >= 0 && ++index[axis]! === shape[axis]) index[axis--] = 0
    if (axis < 0) return
  }
}

/**
 * Returns the index of the last of some ascending starts at or below a position, by binary search; 0 if there
 * is none.
 */
export function lastStart(starts: ArrayLike<number>, position: number, count = starts.length): number {
  let [low, high] = [0, count]
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if (starts[middle]! <= position) low = middle
    else high = middle
  }
  return low
}

/** Converts a position in C order to the coordinates in a box of this shape. */
export function coordsAt(place: number, shape: readonly number[]): number[] {
  const index = new Array<number>(shape.length)
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    index[axis] = place % shape[axis]!
    place = Math.floor(place / shape[axis]!)
  }
  return index
}
