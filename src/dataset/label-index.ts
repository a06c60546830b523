import { type AxisIndices, indexAt } from '../core/axis-indices.ts'
import type { DType } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import type { AxisView } from '../core/tensor.ts'
import { absolute, distance, isMissingLabel, isSameLabel, type Label, type Labels } from './label-values.ts'
import { type Neighbours, SortedLabels } from './sorted-labels.ts'
import type { Calendar } from './time/calendar.ts'
import { showInstant } from './time/instant.ts'

/** Rule for selecting a position if no label equals the requested one. */
export type SelectMethod = 'nearest' | 'pad' | 'backfill'

/** Properties of labels besides their values. */
export interface LabelKind {
  /** Stored type, which determines the precision. */
  readonly dtype: DType
  /** Calendar, if the labels are times. */
  readonly calendar?: Calendar | undefined
  /** Uncertainty of stored times in ns; 0 for integers. */
  readonly uncertainty?: bigint | undefined
  /** Period of cyclic labels: 360 for longitudes in degrees. */
  readonly period?: number | undefined
}

/** Relative rounding error allowed for the length of a period. */
const ROUND_SLACK = 2 ** -40

/** Maximum number of positions that errors list for a repeated label. */
const MOST_SHOWN = 5

/**
 * Tolerance of comparisons, in units of half the distance between neighbouring floats. Rounding takes one,
 * and sums and products some more.
 */
const ROUNDINGS = 2

/**
 * Number of searches for which labels in no order are scanned. Sorting them costs as much as this many scans.
 */
const MOST_SCANS = 16

/**
 * The labels along a dimension, in memory, which finds positions. Ordered labels are found by binary search.
 * Others are scanned for the first few searches, and sorted for more.
 */
export class LabelIndex {
  readonly dim: string
  readonly values: Labels
  readonly kind: LabelKind
  /** Order of the labels: 1 strictly ascending, -1 strictly descending, 0 otherwise. */
  readonly direction: 1 | 0 | -1
  /** Order as in {@link direction}, but neighbours may be equal, which suffices for ranges. */
  readonly order: 1 | 0 | -1
  #scans = 0
  #sortedOnce: SortedLabels | undefined
  #boundsOnce: readonly [number, number] | undefined

  constructor(dim: string, values: Labels, kind: LabelKind) {
    this.dim = dim
    this.values = values
    this.kind = kind
    this.order = findOrder(values)
    this.direction = this.order !== 0 && isStrict(values) ? this.order : 0
  }

  get length(): number {
    return this.values.length
  }

  at(position: number): Label {
    return this.values[position]!
  }

  /** Returns the index of some positions, in their order. */
  take(positions: AxisIndices<Float64Array>): LabelIndex {
    return this.#with(Array.from({ length: positions.length }, (_, i) => this.at(indexAt(positions, i))))
  }

  /** Returns the same labels along a dimension of another name. */
  along(dim: string): LabelIndex {
    return dim === this.dim ? this : new LabelIndex(dim, this.values, this.kind)
  }

  /** Returns an index of converted labels, such as shifted longitudes. */
  map(change: (label: Label) => Label): LabelIndex {
    return this.#with(Array.from(this.values, change))
  }

  /** Joins the labels of several indexes of one kind. */
  static join(parts: readonly LabelIndex[]): LabelIndex {
    return parts.length === 1 ? parts[0]! : parts[0]!.#with(parts.flatMap(({ values }) => Array.from(values)))
  }

  /**
   * Returns indexes whose integers have one type. Integers of 64 bits are bigints in an index with one beyond
   * 2^53, and numbers in other indexes.
   */
  static alike(indexes: readonly LabelIndex[]): readonly LabelIndex[] {
    if (!indexes.some(({ kind, values }) => kind.calendar === undefined && typeof values[0] === 'bigint')) return indexes
    return indexes.map((index) =>
      typeof index.values[0] === 'number' && index.kind.dtype.includes('int')
        ? new LabelIndex(index.dim, Array.from(index.values as ArrayLike<number>, BigInt), index.kind)
        : index,
    )
  }

  /** Whether all labels are equal. */
  equals(other: LabelIndex): boolean {
    if (other.length !== this.length || other.kind.calendar !== this.kind.calendar) return false
    for (let i = 0; i < this.length; i++) if (!isSameLabel(this.at(i), other.at(i))) return false
    return true
  }

  /** Whether the label at a position equals another one, up to rounding. */
  matches(at: number | undefined, label: Label): at is number {
    if (at === undefined) return false
    const own = this.at(at)
    if (isSameLabel(own, label)) return true
    if (typeof own === 'number' && typeof label === 'number') return Math.abs(own - label) <= ROUNDINGS * this.#roundingOf(own)
    if (typeof own === 'bigint' && typeof label === 'bigint') return absolute(own - label) <= (this.kind.uncertainty ?? 0n)
    return false
  }

  /** Returns the number of labels below one. Labels must be ordered. */
  rank(label: Label): number {
    return this.direction < 0 ? this.length - this.#count((own) => own >= label) : this.#count((own) => own < label)
  }

  /**
   * Returns the position of a label.
   * @param tolerance largest distance to the found label, in units of the labels (ns for times)
   * @throws InvalidSelectionError for a label that does not exist, with its neighbours or the range of the
   *   labels; and for a label that occurs several times
   */
  find(label: Label, method: SelectMethod | undefined, tolerance: number | bigint | undefined): number {
    if (method === undefined) return this.#exact(label)
    if (typeof label === 'string' && method === 'nearest')
      this.#fail(`labels along ${this.dim} are text, of which none is nearer than another`, label)
    if (this.direction === 0 && method !== 'nearest') this.#fail(`${this.disorder()}, and ${method} needs labels in order`, label)
    const found = this.#near(this.#around(label), method)
    if (found === undefined)
      return this.#fail(
        `no label along ${this.dim} is ${method === 'pad' ? 'at or before' : 'at or after'} ${this.show(label)}: ${this.#reach()}`,
        label,
      )
    this.#checkOnce(found, label)
    const away = distance(this.at(found), this.#around(label))
    if (tolerance !== undefined && away > tolerance) {
      const text = `the label along ${this.dim} nearest to ${this.show(label)} is ${this.show(this.at(found))}, further away than ${tolerance}${this.kind.calendar === undefined ? '' : ' ns'}`
      return this.#fail(text, label)
    }
    return found
  }

  /**
   * Returns the positions of labels from `low` to `high`, both included. A range across the seam of periodic
   * labels has two parts. `shift` is added to the labels of each part, so that they ascend.
   * @throws InvalidSelectionError if there are none, or labels are not ordered
   */
  range(low: Label, high: Label): { readonly positions: AxisView; readonly shift: number }[] {
    const { period } = this.kind
    if (low > high) {
      // Around the globe, a range from 170 to -160 goes on beyond 180.
      if (period !== undefined && typeof low === 'number' && typeof high === 'number' && low <= high + period)
        return this.range(low, high + period)
      this.#fail(
        `a range along ${this.dim} goes from ${this.show(low)} down to ${this.show(high)}: the lower one comes first`,
        low,
      )
    }
    if (this.order === 0) this.#fail(`${this.disorder()}: a range of them is not defined, select positions with isel`, low)
    if (period === undefined || typeof low !== 'number' || typeof high !== 'number') {
      const positions = this.#within(low, high)
      if (positions.length > 0) return [{ positions, shift: 0 }]
      return this.#fail(`no label along ${this.dim} is from ${this.show(low)} to ${this.show(high)}: ${this.#reach()}`, low)
    }
    return this.#periodic(low, high, period)
  }

  /**
   * Returns the reason why labels are not in strict order: a missing label, a repeated one, or a change of
   * direction.
   */
  disorder(): string {
    const places = new Map<Label, number>()
    let turn: number | undefined
    let way = 0
    for (let at = 0; at < this.length; at++) {
      const label = this.at(at)
      if (isMissingLabel(label)) return `the label along ${this.dim} at position ${at} is missing (${this.show(label)})`
      const before = places.get(label)
      if (before !== undefined)
        return `the label ${this.show(label)} is there twice along ${this.dim}, at the positions ${before} and ${at}`
      places.set(label, at)
      const step = at === 0 ? 0 : label > this.at(at - 1) ? 1 : -1
      if (way * step < 0) turn ??= at
      way ||= step
    }
    if (turn === undefined) return `labels along ${this.dim} are in order`
    const [a, b] = [this.show(this.at(turn - 1)), this.show(this.at(turn))]
    return `labels along ${this.dim} neither ascend nor descend: ${a} at position ${turn - 1} is followed by ${b}`
  }

  /** Formats a label as users write it. */
  show(label: Label): string {
    const { calendar } = this.kind
    return calendar !== undefined && typeof label === 'bigint' ? showInstant(label, calendar) : String(label)
  }

  /** Returns an index with the same array class for its labels. */
  #with(labels: Label[]): LabelIndex {
    const own = (this.values as unknown as { constructor: { from(labels: Label[]): Labels } }).constructor
    return new LabelIndex(this.dim, own.from(labels), this.kind)
  }

  #exact(label: Label): number {
    const wanted = this.#around(label)
    const found =
      this.direction === 0 ? this.#all(wanted) : [this.#near(wanted, 'nearest')].filter((at) => this.matches(at, wanted))
    if (found.length === 1) return found[0]!
    if (found.length > 1) this.#repeated(found, label)
    return this.#fail(`no label along ${this.dim} is ${this.show(label)}: ${this.#neighbours(wanted)}`, label)
  }

  /** Refuses a label that occurs at several positions, because the nearest position is ambiguous. */
  #checkOnce(at: number, label: Label): void {
    const isAlone = this.direction !== 0 && [at - 1, at + 1].every((each) => this.at(each) !== this.at(at))
    const same = isAlone ? [at] : this.#all(this.at(at))
    if (same.length > 1) this.#repeated(same, label)
  }

  #repeated(found: readonly number[], label: Label): never {
    const more = found.length > MOST_SHOWN ? ', ...' : ''
    const text = `the label ${this.show(this.at(found[0]!))} along ${this.dim} occurs ${found.length} times, at positions ${found.slice(0, MOST_SHOWN).join(', ')}${more}: select one of them with isel`
    return this.#fail(text, label)
  }

  /** Returns all positions of a label, in ascending order. */
  #all(label: Label): number[] {
    const matches = (at: number): boolean => this.matches(at, label)
    const sorted = this.#sorted()
    if (sorted !== undefined) return sorted.matching(label, matches)
    const found: number[] = []
    for (let at = 0; at < this.length; at++) if (matches(at) && !isMissingLabel(this.at(at))) found.push(at)
    return found
  }

  /** Returns the first positions of the greatest label below one, and of the smallest that is not. */
  #neighboursOf(label: Label): Neighbours {
    const sorted = this.#sorted()
    if (sorted !== undefined) return sorted.neighbours(label)
    let below: number | undefined
    let above: number | undefined
    for (let at = 0; at < this.length; at++) {
      const own = this.at(at)
      if (isMissingLabel(own)) continue
      if (own < label) {
        if (below === undefined || own > this.at(below)) below = at
      } else if (above === undefined || own < this.at(above)) above = at
    }
    return [below, above]
  }

  /** Returns the sorted labels; undefined for the first few searches. */
  #sorted(): SortedLabels | undefined {
    if (this.#sortedOnce === undefined && ++this.#scans > MOST_SCANS) this.#sortedOnce = new SortedLabels(this.values)
    return this.#sortedOnce
  }

  /** Returns half of the distance to the next float of the stored type. */
  #roundingOf(value: number): number {
    const { dtype } = this.kind
    // Infinity is exact.
    if ((dtype !== 'float32' && dtype !== 'float64') || !Number.isFinite(value)) return 0
    return Math.max(Math.abs(value), 2 ** -120) * (dtype === 'float32' ? 2 ** -24 : 2 ** -53)
  }

  /** Returns the nearest position, the last one at or before a label, or the first at or after it. */
  #near(label: Label, method: SelectMethod): number | undefined {
    if (this.length === 0) return undefined
    if (this.direction === 0) {
      const [below, above] = this.#neighboursOf(label)
      if (below === undefined || above === undefined) return below ?? above
      const [down, up] = [distance(this.at(below), label), distance(this.at(above), label)]
      // The first of two that are as near.
      return down === up ? Math.min(below, above) : down < up ? below : above
    }
    const after = this.#firstFrom(label)
    const before = this.#lastTo(label)
    if (method === 'pad') return before
    if (method === 'backfill') return after
    if (before === undefined || after === undefined) return before ?? after
    // If two labels are equally near, the greater one is used, as in xarray.
    return distance(this.at(before), label) < distance(this.at(after), label) ? before : after
  }

  /** Returns the position of the smallest label at or above a label. */
  #firstFrom(label: Label): number | undefined {
    const at = this.direction > 0 ? this.#count((own) => own < label) : this.#count((own) => own >= label) - 1
    return at >= 0 && at < this.length ? at : undefined
  }

  /** Returns the position of the greatest label at or below a label. */
  #lastTo(label: Label): number | undefined {
    const at = this.direction > 0 ? this.#count((own) => own <= label) - 1 : this.#count((own) => own > label)
    return at >= 0 && at < this.length ? at : undefined
  }

  /**
   * Returns the number of leading labels for which `holds` is true. It must be false for all labels after
   * them.
   */
  #count(holds: (label: Label) => boolean): number {
    let [low, high] = [0, this.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (holds(this.at(middle))) low = middle + 1
      else high = middle
    }
    return low
  }

  #within(low: Label, high: Label): AxisView {
    const [from, to] = [this.#widened(low, -ROUNDINGS), this.#widened(high, ROUNDINGS)]
    const ascends = this.order >= 0
    const start = ascends ? this.#count((own) => own < from) : this.#count((own) => own > to)
    const stop = ascends ? this.#count((own) => own <= to) : this.#count((own) => own >= from)
    return { start, step: 1, length: Math.max(0, stop - start) }
  }

  /**
   * Widens a bound by the rounding error of floats. Bounds of times stay exact, because the end of a month
   * must exclude the next month.
   */
  #widened(bound: Label, roundings: number): Label {
    return typeof bound === 'number' ? bound + roundings * this.#roundingOf(bound) : bound
  }

  /** Whether a number lies within the range of the labels, up to rounding. */
  reaches(label: number): boolean {
    const [low, high] = this.#bounds()
    return label >= low - ROUNDINGS * this.#roundingOf(low) && label <= high + ROUNDINGS * this.#roundingOf(high)
  }

  /**
   * Shifts a label by whole periods into the range of the labels. A label within the range stays unchanged.
   */
  #around(label: Label): Label {
    const { period } = this.kind
    if (period === undefined || typeof label !== 'number' || this.length === 0 || this.reaches(label)) return label
    const [low, high] = this.#bounds()
    // A label between the end of one round and the start of the next may be nearer to either.
    const middle = (low + high) / 2
    return label - period * Math.round((label - middle) / period)
  }

  /** Returns the smallest and the greatest label. */
  #bounds(): readonly [number, number] {
    this.#boundsOnce ??= boundsOf(this.order === 0 ? this.values : [this.at(0), this.at(this.length - 1)])
    return this.#boundsOnce
  }

  #periodic(low: number, high: number, period: number): { positions: AxisView; shift: number }[] {
    if (high - low > period * (1 + ROUND_SLACK))
      this.#fail(`a range along ${this.dim} is of ${period} at most, from ${low} to ${high} are ${high - low}`, low)
    const [first, last] = this.#bounds()
    const parts: { positions: AxisView; shift: number }[] = []
    // Visit each round of the labels that overlaps the range.
    for (let round = Math.floor((low - last) / period); round <= Math.ceil((high - first) / period); round++) {
      const shift = round * period
      const positions = this.#within(low - shift, high - shift)
      if (positions.length > 0) parts.push({ positions, shift })
    }
    if (parts.length === 0) this.#fail(`no label along ${this.dim} is from ${low} to ${high}: ${this.#reach()}`, low)
    const once = eachOnce(parts)
    return this.order < 0 ? once.reverse() : once
  }

  #reach(): string {
    if (this.length === 0) return 'there are none'
    if (this.direction === 0) return `there are ${this.length}, in no order`
    return `they go from ${this.show(this.at(0))} to ${this.show(this.at(this.length - 1))}`
  }

  #neighbours(label: Label): string {
    if (this.direction === 0 || typeof label === 'string') return this.#reach()
    const [before, after] = [this.#lastTo(label), this.#firstFrom(label)]
    if (before === undefined || after === undefined) return this.#reach()
    return `its neighbours are ${this.show(this.at(before))} and ${this.show(this.at(after))}; \`method: 'nearest'\` takes the nearer one`
  }

  #fail(text: string, actual: unknown): never {
    throw new HyperslabError('InvalidSelectionError', text, { actual })
  }
}

function boundsOf(values: Labels): readonly [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const label of Array.from(values as ArrayLike<number>)) {
    if (label < low) low = label
    if (label > high) high = label
  }
  return [low, high]
}

/**
 * Removes positions that two rounds share, which happens at the ends of a whole period. The round with the
 * smallest shift keeps the position, so that existing labels are used unchanged.
 */
function eachOnce<T extends { readonly positions: AxisView; readonly shift: number }>(parts: readonly T[]): T[] {
  const taken: AxisView[] = []
  const kept = new Map<T, T>()
  for (const part of [...parts].sort((a, b) => Math.abs(a.shift) - Math.abs(b.shift))) {
    const { step } = part.positions
    let { start, length } = part.positions
    for (const other of taken) {
      const [from, to] = [Math.max(start, other.start), Math.min(start + length, other.start + other.length)]
      if (from >= to) continue
      // Two rounds share positions only at one end.
      length = from === start ? start + length - to : from - start
      if (from === start) start = to
    }
    if (length === 0) continue
    taken.push({ start, step, length })
    kept.set(part, { ...part, positions: { start, step, length } })
  }
  return parts.flatMap((part) => kept.get(part) ?? [])
}

/** Returns the direction of labels whose neighbours may be equal. */
function findOrder(values: Labels): 1 | 0 | -1 {
  let [ascends, descends] = [true, true]
  for (let i = 0; i < values.length; i++) {
    if (isMissingLabel(values[i]!)) return 0
    if (i === 0) continue
    if (values[i]! < values[i - 1]!) ascends = false
    if (values[i]! > values[i - 1]!) descends = false
    if (!ascends && !descends) return 0
  }
  return ascends ? 1 : -1
}

function isStrict(values: Labels): boolean {
  for (let i = 1; i < values.length; i++) if (values[i] === values[i - 1]) return false
  return true
}
