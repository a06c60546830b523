import { HyperslabError } from '../core/errors.js'
import type { Slice } from './slice.js'

/** What is taken of one axis: an integer (the axis is dropped), `null` (all of it) or a slice. */
export type Selector = number | null | Slice
/** One selector per axis; missing trailing ones mean `null`, a missing selection everything. */
export type Selection = readonly Selector[] | null | undefined

/** A selector resolved against an axis: `length` positions from `start`, `step` apart (`step` may be negative). */
export interface AxisSelection {
  readonly start: number
  readonly step: number
  readonly length: number
  /** False for integers, whose axis is dropped from the result. */
  readonly keep: boolean
}

/**
 * Resolves `selection` against `shape`, one entry per axis.
 * @throws InvalidSelectionError with the axis and the numbers: more selectors than axes, an index out of bounds, a number that is no
 *   integer, a step of 0
 */
export function resolveSelection(selection: Selection, shape: readonly number[]): AxisSelection[] {
  const selectors = selection ?? []
  if (!Array.isArray(selectors))
    fail(`a selection is a list of integers, slices and nulls, got ${show(selection)}`, { actual: selection })
  if (selectors.length > shape.length) {
    fail(`${selectors.length} selectors for ${shape.length} axes`, { actual: selectors.length, expected: shape.length })
  }
  return shape.map((length, axis) => resolveAxis(selectors[axis] ?? null, axis, length))
}

function resolveAxis(selector: unknown, axis: number, length: number): AxisSelection {
  if (selector === null) return { start: 0, step: 1, length, keep: true }
  if (typeof selector === 'number') {
    checkInteger(selector, 'index', axis)
    const start = selector < 0 ? selector + length : selector
    if (start < 0 || start >= length) {
      fail(`index ${selector} is out of bounds for axis ${axis} of length ${length}`, {
        axis,
        actual: selector,
        expected: length,
      })
    }
    return { start, step: 1, length: 1, keep: false }
  }
  if (isSlice(selector)) return resolveSlice(selector, axis, length)
  return fail(`${show(selector)} on axis ${axis} is neither an integer, a slice nor null`, { axis, actual: selector })
}

function resolveSlice({ start, stop, step: givenStep }: Slice, axis: number, length: number): AxisSelection {
  const step = givenStep ?? 1
  checkInteger(step, 'slice step', axis)
  if (step === 0) fail(`the slice step on axis ${axis} is 0`, { axis, actual: 0 })
  // Where a backward slice starts and ends when it clips: one before the first element and the last element.
  const [low, high] = step > 0 ? [0, length] : [-1, length - 1]
  const bound = (value: number | null, open: number, name: string): number => {
    if (value === null) return open
    checkInteger(value, name, axis)
    return Math.min(Math.max(value < 0 ? value + length : value, low), high)
  }
  const from = bound(start, step > 0 ? low : high, 'slice start')
  const to = bound(stop, step > 0 ? high : low, 'slice stop')
  const count = Math.max(0, Math.ceil((to - from) / step))
  return { start: count === 0 ? 0 : from, step, length: count, keep: true }
}

const isSlice = (selector: unknown): selector is Slice =>
  typeof selector === 'object' && selector !== null && 'start' in selector && 'stop' in selector && 'step' in selector

function checkInteger(value: unknown, what: string, axis: number): void {
  if (!Number.isSafeInteger(value))
    fail(`the ${what} on axis ${axis} must be an integer, got ${show(value)}`, { axis, actual: value })
}

const show = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

function fail(text: string, details: { axis?: number; actual?: unknown; expected?: unknown }): never {
  throw new HyperslabError('InvalidSelectionError', text, details)
}
