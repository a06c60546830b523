import type { AxisIndices } from '../core/axis-indices.ts'
import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import { Between, type LabelLike } from './between.ts'
import type { LabelIndex, SelectMethod } from './label-index.ts'
import type { Label } from './label-values.ts'
import { DURATIONS, NAT, parseDuration } from './time/instant.ts'
import { parseTimeLabel } from './time/labels.ts'

/**
 * Selection along a dimension: one label, which drops the dimension; a range; or a list of labels, in their
 * order.
 */
export type LabelSelector = LabelLike | Between | readonly LabelLike[]

/** Options of `sel`. */
export interface SelOptions {
  /**
   * Rule for a label that does not exist: `nearest` selects the nearest label, `pad` the last one before it,
   * `backfill` the first one after it. Default: such a label is an error. Partial dates stay ranges.
   */
  readonly method?: SelectMethod
  /**
   * Largest distance to the selected label, in units of the coordinate. For times, a bigint of nanoseconds,
   * or text like `6h`, `1D` or `30min`.
   */
  readonly tolerance?: number | bigint | string
}

/** Resolved selection of a dimension: one position, or parts with a shift added to the labels of each. */
export type Taken =
  | { readonly position: number }
  | { readonly parts: readonly { readonly positions: AxisIndices<Float64Array>; readonly shift: number }[] }

/**
 * Resolves a selector by label.
 * @throws InvalidSelectionError for labels that do not exist; InvalidArgumentError for labels of another kind
 */
export function takeLabels(index: LabelIndex, selector: LabelSelector, { method, tolerance }: SelOptions = {}): Taken {
  if (tolerance !== undefined && method === undefined)
    invalidArgument(`tolerance along ${index.dim} limits a method, and there is none: give \`method\` as well`, tolerance)
  const away = tolerance === undefined ? undefined : parseTolerance(index, tolerance)
  if (selector instanceof Between) {
    if (method !== undefined)
      invalidArgument(`a range along ${index.dim} takes what lies in it: method '${method}' is for single labels`, method)
    const [low, high] = [span(index, selector.low, true), span(index, selector.high, true)]
    return { parts: index.range(low.start, high.last) }
  }
  if (Array.isArray(selector)) {
    const positions = Float64Array.from(selector, (label) => index.find(span(index, label as LabelLike).start, method, away))
    return { parts: [{ positions, shift: 0 }] }
  }
  const { start, last, isRange } = span(index, selector as LabelLike)
  if (isRange) return { parts: index.range(start, last) }
  return { position: index.find(start, method, away) }
}

interface Span {
  readonly start: Label
  readonly last: Label
  /** Whether it is a partial date, less precise than the labels. */
  readonly isRange: boolean
}

/**
 * Returns the range of index labels that a label covers.
 * @param isEnd whether it is an end of a range, which need not be of the type of the labels
 */
function span(index: LabelIndex, label: LabelLike, isEnd = false): Span {
  const { calendar } = index.kind
  if (calendar !== undefined) {
    const { start, stop } = parseTimeLabel(label as never, calendar)
    return { start, last: stop - 1n, isRange: typeof label === 'string' && stop - start > findResolution(index) }
  }
  const own = index.length === 0 ? label : index.at(0)
  if (typeof label === 'number' && Number.isNaN(label)) invalidArgument(`NaN is not a label along ${index.dim}`, label)
  if (typeof label === 'bigint' && typeof own === 'number') return exactly(Number(label))
  if (typeof own === 'bigint') return exactly(integerLabel(index, label, isEnd))
  if (typeof label === typeof own && (typeof label === 'number' || typeof label === 'string')) return exactly(label)
  const expected = typeof own === 'number' ? 'numbers' : 'text'
  const text = `labels along ${index.dim} are ${expected}, got ${label instanceof Date ? 'a Date' : quoted(label)}${hint(expected, label)}`
  throw new HyperslabError('InvalidArgumentError', text, { actual: label, expected })
}

/**
 * Returns a label of an index of integers beyond 2^53. Numbers of that size are refused, because they may
 * have been rounded.
 */
function integerLabel({ dim }: LabelIndex, label: LabelLike, isEnd: boolean): Label {
  if (typeof label === 'bigint') return label
  if (typeof label === 'number') {
    if (Number.isSafeInteger(label)) return BigInt(label)
    if (isEnd && !Number.isInteger(label)) return label
  }
  const text = `labels along ${dim} are integers beyond 2^53, got ${quoted(label)}: pass a bigint, such as ${2n ** 53n + 1n}n`
  throw new HyperslabError('InvalidArgumentError', text, { actual: label, expected: 'bigint' })
}

const exactly = (label: Label): Span => ({ start: label, last: label, isRange: false })

const hint = (expected: string, label: unknown): string =>
  expected === 'numbers' && (label instanceof Date || (typeof label === 'string' && /^\d{4}-/.test(label)))
    ? ': it is no coordinate of times, or its units are not understood'
    : ''

const resolutions = new WeakMap<LabelIndex, bigint>()

/** Returns the longest unit, up to a day, that divides all times. A less precise text is a range. */
function findResolution(index: LabelIndex): bigint {
  const known = resolutions.get(index)
  if (known !== undefined) return known
  let rest = Object.values(DURATIONS)
  for (let at = 0; at < index.length && rest.length > 1; at++) {
    const label = index.at(at) as bigint
    while (label !== NAT && label % rest[0]! !== 0n) rest = rest.slice(1)
  }
  const resolution = rest[0]!
  resolutions.set(index, resolution)
  return resolution
}

function parseTolerance(index: LabelIndex, tolerance: number | bigint | string): number | bigint {
  if (index.kind.calendar === undefined) {
    if (typeof tolerance === 'number' && tolerance >= 0) return tolerance
    if (typeof tolerance === 'bigint' && tolerance >= 0n && typeof index.values[0] === 'bigint') return tolerance
    return invalidArgument(`tolerance along ${index.dim} is a number from 0, in units of the labels`, tolerance)
  }
  if (typeof tolerance === 'bigint' && tolerance >= 0n) return tolerance
  const duration = parseDuration(tolerance)
  if (duration !== undefined) return duration
  return invalidArgument(
    `tolerance along ${index.dim}, which has times, is a bigint of nanoseconds or text like '6h', '1D' or '30min'`,
    tolerance,
  )
}
