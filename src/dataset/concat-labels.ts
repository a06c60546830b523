import { invalidArgument } from '../core/errors.ts'
import type { AxisView } from '../core/tensor.ts'
import { LabelIndex } from './label-index.ts'
import type { Label } from './label-values.ts'
import type { Calendar } from './time/calendar.ts'
import { isGregorian, NAT, timeFields } from './time/instant.ts'

/** A run of consecutive positions in the result, all from one part. All positions of the part if omitted. */
export interface LabelRun {
  readonly part: number
  readonly positions?: AxisView | undefined
}

interface TakenLabelRun extends LabelRun {
  readonly positions: AxisView
}

/** Rules for joining labels of several parts. */
interface Arranging {
  /** Names of the parts in messages. */
  readonly places: readonly string[]
  readonly overlap: 'error' | 'first' | 'last'
  readonly gaps: 'error' | 'keep'
}

/** Labels of a part along the dimension. */
interface Labelling {
  readonly part: number
  readonly place: string
  readonly index: LabelIndex
}

/** Relative difference up to which distances count as equal, because labels may be rounded. */
const SAME_DISTANCE = 1e-3

/**
 * Orders parts by their labels. Parts without labels stay in the given order, and text labels keep the order
 * of their parts.
 * @throws InvalidArgumentError if labels are of different kinds, are not ordered in one direction, occur
 *   twice, or are missing in between, unless options allow it
 */
export function arrangeLabels(dim: string, indexes: readonly (LabelIndex | undefined)[], options: Arranging): LabelRun[] {
  const { places, overlap } = options
  const labelled = indexes.flatMap((index, part) => (index === undefined ? [] : [{ part, index, place: places[part]! }]))
  if (labelled.length === 0) return indexes.map((_, part) => ({ part }))
  const without = indexes.indexOf(undefined)
  if (without >= 0) invalidArgument(`${places[without]} has no labels along ${dim}, ${labelled[0]!.place} has some`, dim)
  const indexed = labelled.filter(({ index }) => index.length > 0)
  const alike = LabelIndex.alike(indexed.map(({ index }) => index))
  const filled = indexed.map((each, i) => ({ ...each, index: alike[i]! }))
  if (filled.length <= 1) return [{ part: (filled[0] ?? labelled[0]!).part }]
  checkKinds(dim, filled)
  if (typeof filled[0]!.index.at(0) === 'string') return arrangeTexts(dim, filled, overlap)
  const direction = findDirection(dim, filled)
  const compare = (a: Label, b: Label): number => (a === b ? 0 : a < b === direction > 0 ? -1 : 1)
  const ordered = filled.toSorted((a, b) => compare(a.index.at(0), b.index.at(0)))
  const slack = findSlack(filled)
  const clash = ordered.findIndex(({ index }, i) => i > 0 && !isBehind(index.at(0), lastLabel(ordered[i - 1]!), direction, slack))
  if (clash < 0) {
    checkGaps(dim, ordered.map((each) => ({ ...each, first: each.index.at(0), last: lastLabel(each) })), options) // biome-ignore format: one line
    return ordered.map(({ part }) => ({ part }))
  }
  if (overlap === 'error') refuseOverlap(dim, ordered[clash - 1]!, ordered[clash]!)
  const runs = mergeLabels(filled, compare, slack, overlap)
  checkGaps(dim, runs.map(({ part, positions: { start, length } }) => {
    const own = filled.find((each) => each.part === part)!
    return { ...own, first: own.index.at(start), last: own.index.at(start + length - 1) }
  }), options) // biome-ignore format: one line
  return runs
}

const lastLabel = ({ index }: Labelling): Label => index.at(index.length - 1)

function checkKinds(dim: string, [first, ...others]: readonly Labelling[]): void {
  for (const other of others) {
    const [a, b] = [first!.index, other.index]
    const [own, theirs] = [a.kind.calendar, b.kind.calendar]
    if (own !== theirs && own !== undefined && theirs !== undefined && !(isRealWorld(a, own) && isRealWorld(b, theirs)))
      invalidArgument(`times along ${dim} are of the calendar ${own} in ${first!.place}, of ${theirs} in ${other.place}`, theirs)
    const types = [a, b].map((index) => (index.kind.calendar === undefined ? typeof index.at(0) : 'time'))
    if (types[0] !== types[1])
      invalidArgument(`labels along ${dim} are of type ${types[0]} in ${first!.place}, ${types[1]} in ${other.place}`, types[1])
  }
}

/** Whether a calendar agrees with the proleptic Gregorian one for all times of an index. */
const isRealWorld = (index: LabelIndex, calendar: Calendar): boolean =>
  [index.at(0), index.at(index.length - 1)].every((label) => isGregorian(label as bigint, calendar))

/** Returns the common direction of the labels of all parts; ascending if each part has one label. */
function findDirection(dim: string, parts: readonly Labelling[]): 1 | -1 {
  const long = parts.filter(({ index }) => index.length > 1)
  for (const { index, place } of parts) {
    if (Array.from(index.values).some((label) => Number.isNaN(label) || label === NAT))
      invalidArgument(`some labels along ${dim} are missing in ${place}: they cannot be put in order`, place)
    if (index.direction === 0) invalidArgument(`in ${place}, ${index.disorder()}: they cannot be put in order`, place)
    if (index.length > 1 && index.direction !== long[0]!.index.direction)
      invalidArgument(`labels along ${dim} run one way in ${long[0]!.place}, and the other way in ${place}`, place)
  }
  return long[0]?.index.direction === -1 ? -1 : 1
}

/** Returns the largest uncertainty among times of several indexes, in ns. */
export function mostUncertain(indexes: readonly LabelIndex[]): bigint {
  let most = 0n
  for (const { kind } of indexes) if (kind.uncertainty !== undefined && kind.uncertainty > most) most = kind.uncertainty
  return most
}

/** Returns the difference up to which two labels count as equal, given how they are stored. */
function findSlack(parts: readonly Labelling[]): number | bigint {
  if (parts[0]!.index.kind.calendar !== undefined) return mostUncertain(parts.map(({ index }) => index))
  const slacks = parts.map(({ index }) => {
    const { dtype } = index.kind
    if (typeof index.at(0) !== 'number' || (dtype !== 'float32' && dtype !== 'float64')) return 0
    const most = Math.max(Math.abs(index.at(0) as number), Math.abs(index.at(index.length - 1) as number))
    return 4 * most * (dtype === 'float32' ? 2 ** -24 : 2 ** -53)
  })
  return typeof parts[0]!.index.at(0) === 'bigint' ? 0n : slacks.reduce((a, b) => Math.max(a, b))
}

const isBehind = (label: Label, other: Label, direction: 1 | -1, slack: number | bigint): boolean =>
  direction > 0 ? label > add(other, slack) : other > add(label, slack)

const add = (label: Label, slack: number | bigint): Label =>
  typeof label === 'bigint' ? label + (slack as bigint) : (label as number) + (slack as number)

function refuseOverlap(dim: string, before: Labelling, after: Labelling): never {
  const reach = ({ place, index }: Labelling): string =>
    `${place} has ${index.show(index.at(0))} to ${index.show(index.at(index.length - 1))}`
  const text = `labels along ${dim} overlap: ${reach(before)}, ${reach(after)}; \`overlap: 'first'\` or 'last' takes one of both`
  return invalidArgument(text, dim)
}

/** Orders texts by their parts, each text once. */
function arrangeTexts(dim: string, parts: readonly Labelling[], overlap: Arranging['overlap']): LabelRun[] {
  const owners = new Map<Label, number>()
  for (const [at, { index, place }] of parts.entries())
    for (const label of new Set(Array.from(index.values))) {
      const owner = owners.get(label)
      if (owner === undefined || overlap === 'last') owners.set(label, at)
      if (owner === undefined || overlap !== 'error') continue
      const text = `the label ${label} along ${dim} is in ${parts[owner]!.place} and in ${place}`
      invalidArgument(`${text}; \`overlap: 'first'\` or 'last' takes one of both`, label)
    }
  return parts.flatMap(({ part, index }, at) =>
    listRunsByPart(
      Array.from({ length: index.length }, (_, position) => ({ part, position })).filter(
        ({ position }) => owners.get(index.at(position)) === at,
      ),
    ),
  )
}

/**
 * Merges labels in order, each once. Of parts that share a label, `overlap` selects the first or the last.
 */
function mergeLabels(
  parts: readonly Labelling[],
  compare: (a: Label, b: Label) => number,
  slack: number | bigint,
  overlap: 'first' | 'last',
): TakenLabelRun[] {
  const places = parts.flatMap(({ part, index }) =>
    Array.from({ length: index.length }, (_, position) => ({ part, position, label: index.at(position) })),
  )
  places.sort((a, b) => compare(a.label, b.label) || a.part - b.part)
  const kept: typeof places = []
  let group: typeof places = []
  const close = (): void => {
    if (group.length > 0) kept.push(group.reduce((a, b) => (a.part < b.part === (overlap === 'first') ? a : b)))
    group = []
  }
  for (const place of places) {
    const isSame = group.length > 0 && labelDistance(group[0]!.label, place.label) <= Number(slack)
    if (!isSame || group.some(({ part }) => part === place.part)) close()
    group.push(place)
  }
  close()
  return listRunsByPart(kept)
}

/** Combines consecutive positions of one part into runs. */
function listRunsByPart(places: readonly { readonly part: number; readonly position: number }[]): TakenLabelRun[] {
  const runs: { part: number; positions: { start: number; step: 1; length: number } }[] = []
  for (const { part, position } of places) {
    const last = runs.at(-1)
    if (last?.part === part && last.positions.start + last.positions.length === position) last.positions.length++
    else runs.push({ part, positions: { start: position, step: 1, length: 1 } })
  }
  return runs
}

const labelDistance = (a: Label, b: Label): number =>
  typeof a === 'bigint' ? Math.abs(Number(a - (b as bigint))) : Math.abs((a as number) - (b as number))

/** A part with the first and last label of a run. */
interface Ends extends Labelling {
  readonly first: Label
  readonly last: Label
}

/** Measures the distance of labels, by value or, for times, in months. */
type Measure = (a: Label, b: Label) => number

/**
 * Refuses gaps between parts. If distances within parts are regular (for times, also if counted in months),
 * the distance between two parts must not exceed them. For parts with one label each, the distances between
 * parts are used.
 */
function checkGaps(dim: string, ends: readonly Ends[], { gaps }: Arranging): void {
  if (gaps === 'keep') return
  const { calendar } = ends[0]!.index.kind
  const months: Measure = (a, b) => Math.abs(countMonths(b as bigint, calendar!) - countMonths(a as bigint, calendar!))
  const measures = calendar === undefined ? [labelDistance] : [labelDistance, months]
  const known = measures.map((measure) => ({
    measure,
    steps: new Map<LabelIndex, number | undefined>(),
    between: findStep(ends.slice(1).map((end, i) => measure(ends[i]!.last, end.first))),
  }))
  for (const [i, after] of ends.slice(1).entries()) {
    const before = ends[i]!
    const verdicts = known.map(({ measure, steps, between }) => {
      const own = [before, after].flatMap(({ index }) => {
        if (index.length < 2) return []
        if (!steps.has(index)) steps.set(index, stepWithin(index, measure))
        return [steps.get(index)]
      })
      const isUneven = own.includes(undefined) || (calendar === undefined && own.length > 1 && !isNear(own[0]!, own[1]!))
      const step = own.length === 0 ? between : Math.max(...(own as number[]))
      if (isUneven || step === undefined) return undefined
      return measure(before.last, after.first) <= step * (1 + SAME_DISTANCE)
    })
    if (verdicts.includes(true) || !verdicts.includes(false)) continue
    const { index } = before
    const text = `labels along ${dim} are missing between ${before.place}, which ends at ${index.show(before.last)}, and ${after.place}, which begins at ${index.show(after.first)}`
    invalidArgument(`${text}: they are further apart than others; \`gaps: 'keep'\` joins them all the same`, dim)
  }
}

const isNear = (a: number, b: number): boolean => Math.abs(a - b) <= SAME_DISTANCE * Math.min(a, b)

function countMonths(instant: bigint, calendar: Calendar): number {
  const { year, month } = timeFields(instant, calendar)
  return 12 * year + month
}

const stepWithin = (index: LabelIndex, measure: Measure): number | undefined =>
  findStep(Array.from({ length: index.length - 1 }, (_, at) => measure(index.at(at), index.at(at + 1))))

/**
 * Returns the distance that most neighbours have and that divides all other distances; undefined if they are
 * irregular.
 */
function findStep(distances: readonly number[]): number | undefined {
  const least = distances.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  if (!(least > 0) || least === Number.POSITIVE_INFINITY) return undefined
  const isMultiple = (distance: number): boolean => {
    const times = distance / least
    return Math.abs(times - Math.round(times)) <= SAME_DISTANCE * times
  }
  const same = distances.filter((distance) => isNear(distance, least)).length
  return 2 * same > distances.length && distances.every(isMultiple) ? least : undefined
}
