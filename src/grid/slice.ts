import { HyperslabError } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import type { AxisView } from '../core/tensor.ts'

/**
 * A slice as specified, from `start` to `stop` by `step`. `null` leaves a bound open, and stands for a step
 * of 1.
 */
export interface Slice {
  readonly start: number | null
  readonly stop: number | null
  readonly step: number | null
}

/**
 * Selects a slice of one axis by Python's rules: negative numbers count from the end, bounds beyond the axis
 * are clipped, and a negative step runs backwards.
 *
 * `slice(stop)`, `slice(start, stop)` or `slice(start, stop, step)`; `null` leaves a bound open.
 * @example
 * const t = generate((i) => i, { dtype: 'int32', shape: [10] })
 * console.log((await t.get([slice(2, 5)])).data) // Int32Array(3) [ 2, 3, 4 ]
 * console.log((await t.get([slice(null, null, -4)])).data) // Int32Array(3) [ 9, 5, 1 ]
 */
export function slice(stop: number | null): Slice
export function slice(start: number | null, stop: number | null, step?: number | null): Slice
export function slice(...bounds: (number | null | undefined)[]): Slice {
  const [start = null, stop = null, step = null] = bounds.length === 1 ? [null, ...bounds] : bounds
  return { start, stop, step }
}

export const isSlice = (selector: unknown): selector is Slice =>
  typeof selector === 'object' && selector !== null && 'start' in selector && 'stop' in selector && 'step' in selector

/**
 * Returns the positions that a slice selects along an axis.
 * @throws InvalidSelectionError if the step is 0 or a number is no integer
 */
export function resolveSlice({ start, stop, step: givenStep }: Slice, axis: number, length: number): AxisView {
  const step = givenStep ?? 1
  checkInteger(step, 'slice step', axis)
  if (step === 0) invalid(`the slice step on axis ${axis} is 0`, { axis, actual: 0 })
  // Limits to which bounds are clipped. A backward slice runs from the last element to one before the first.
  const [low, high] = step > 0 ? [0, length] : [-1, length - 1]
  const bound = (value: number | null, open: number, name: string): number => {
    if (value === null) return open
    checkInteger(value, name, axis)
    return Math.min(Math.max(value < 0 ? value + length : value, low), high)
  }
  const from = bound(start, step > 0 ? low : high, 'slice start')
  const to = bound(stop, step > 0 ? high : low, 'slice stop')
  const count = Math.max(0, Math.ceil((to - from) / step))
  return { start: count === 0 ? 0 : from, step, length: count }
}

/**
 * Returns the position of an index; negative ones count from the end.
 * @throws InvalidSelectionError if it is no integer or out of bounds
 */
export function resolveIndex(index: unknown, axis: number, length: number, what = 'index'): number {
  checkInteger(index, what, axis)
  const position = index < 0 ? index + length : index + 0
  if (position < 0 || position >= length)
    invalid(`${what} ${index} is out of bounds for axis ${axis} of length ${length}`, { axis, actual: index, expected: length })
  return position
}

function checkInteger(value: unknown, what: string, axis: number): asserts value is number {
  if (!Number.isSafeInteger(value))
    invalid(`the ${what} on axis ${axis} must be an integer, got ${show(value)}`, { axis, actual: value })
}

/** Formats a value for a message. */
export const show = (value: unknown): string => (typeof value === 'string' ? value : quoted(value))

export function invalid(text: string, details: { axis?: number; actual?: unknown; expected?: unknown }): never {
  throw new HyperslabError('InvalidSelectionError', text, details)
}
