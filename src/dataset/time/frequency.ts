import { HyperslabError, invalidArgument } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import { type Calendar, countedYear, dateFromDays, daysFromDate, daysInMonth, isOfDates, yearCounted } from './calendar.ts'
import { DURATIONS, NAT, NS_PER_DAY, packInstants, splitInstant } from './instant.ts'

/** A frequency of equal steps. */
interface Steps {
  readonly text: string
  readonly nanoseconds: bigint
}

/** A frequency whose bins begin and end with days: weeks, months, quarters or years. */
interface Days {
  readonly text: string
  /** Number of periods in a bin. */
  readonly count: number
  /** Months of a period; undefined for weeks. */
  readonly months: 1 | 3 | 12 | undefined
  /** Month, counted from 0, or weekday, from Sunday, that edges are in. */
  readonly anchor: number
  /** Whether edges are the last days of periods instead of the first. */
  readonly isEnd: boolean
}

/** A frequency in the notation of pandas, such as `3MS`. */
export type Frequency = Steps | Days

const PERIODS: Readonly<Record<string, 1 | 3 | 12>> = { M: 1, Q: 3, Y: 12 }
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']

/** Former names of frequencies in pandas. */
const RENAMED: Readonly<Record<string, string>> = {
  M: 'ME',
  Q: 'QE',
  A: 'YE',
  Y: 'YE',
  AS: 'YS',
  d: 'D',
  H: 'h',
  T: 'min',
  S: 's',
  L: 'ms',
  U: 'us',
  N: 'ns',
}

/** Most bins. More of them indicate a mistaken frequency. */
const MAX_BINS = 2 ** 24

/**
 * Parses a frequency in the notation of pandas, with an optional count. Months, quarters and years are
 * labelled by their first day (`MS`, `QS`, `YS`) or their last (`ME`, `QE`, `YE`). Quarters and years may
 * name the month that they begin or end with (`QS-DEC`, `YE-JUN`). Weeks are labelled by their last day,
 * Sunday (`W`) or another (`W-WED`). Steps are `D`, `h`, `min`, `s`, `ms`, `us` and `ns`.
 * @throws InvalidArgumentError for other names, including former ones of pandas
 */
export function parseFrequency(text: string): Frequency {
  const [, digits = '', name = '', month] = /^(\d{0,9})([A-Za-z]+)(?:-([A-Z]{3}))?$/.exec(text) ?? []
  const count = digits === '' ? 1 : Number(digits)
  const [period, isEnd] = [PERIODS[name.slice(0, -1)], name.endsWith('E')]
  if (count > 0 && month === undefined && Object.hasOwn(DURATIONS, name))
    return { text, nanoseconds: BigInt(count) * DURATIONS[name]! }
  if (count > 0 && period !== undefined && /^.[SE]$/.test(name)) {
    const anchor = month === undefined ? (isEnd ? 11 : 0) : MONTHS.indexOf(month)
    if (anchor >= 0 && !(period === 1 && month !== undefined)) return { text, months: period, count, anchor, isEnd }
  }
  if (count > 0 && name === 'W') {
    const anchor = month === undefined ? 0 : WEEKDAYS.indexOf(month)
    if (anchor >= 0) return { text, months: undefined, count, anchor, isEnd: true }
  }
  const why = Object.hasOwn(RENAMED, name)
    ? `write '${digits}${RENAMED[name]}${month === undefined ? '' : `-${month}`}'`
    : `it is none of MS, ME, QS, QE, YS, YE, QS-DEC and the like, W, W-WED, ${Object.keys(DURATIONS).join(', ')}, nor a number of one, as 3MS`
  return invalidArgument(`frequency ${quoted(text)} is unknown: ${why}`, text)
}

/** Bins of times. */
export interface ResampleBins {
  /** Label of each bin, including empty ones between the first and the last. */
  readonly labels: BigInt64Array | bigint[]
  /** Bin of each instant; -1 for a missing time. */
  readonly bins: Int32Array
}

/** Options of `resampleBins`. */
export interface BinOptions {
  /** Edge that belongs to a bin. Default: `right` for weeks and the ends of months, otherwise `left`. */
  readonly closed?: 'left' | 'right' | undefined
  /** Edge that labels a bin. Default: `right` for weeks and the ends of months, otherwise `left`. */
  readonly label?: 'left' | 'right' | undefined
  /** Nanoseconds from midnight to the first edge of equal steps. Default: 0. */
  readonly offset?: bigint | undefined
}

/**
 * Assigns instants, in any order, to bins, like `resample(time=frequency)` of xarray. Bins extend from that
 * of the first instant to that of the last. Days and smaller steps count from the midnight before the first
 * instant; several weeks, months or years count from its own period.
 * @throws TooLargeError for more than 2^24 bins; InvalidArgumentError for weeks of other calendars, and for
 *   an offset of weeks and months
 */
export function resampleBins(
  instants: ArrayLike<bigint>,
  frequency: Frequency,
  calendar: Calendar,
  options: BinOptions = {},
): ResampleBins {
  let [first, last]: (bigint | undefined)[] = []
  for (let i = 0; i < instants.length; i++) {
    const instant = instants[i]!
    if (instant === NAT) continue
    if (first === undefined || instant < first) first = instant
    if (last === undefined || instant > last) last = instant
  }
  if (first === undefined) return { labels: new BigInt64Array(0), bins: new Int32Array(instants.length).fill(-1) }
  const { binOf, labelOf } =
    'nanoseconds' in frequency ? stepsFrom(first, frequency, options) : daysFrom(first, frequency, calendar, options)
  const length = binOf(last!) + 1
  if (length > MAX_BINS)
    throw new HyperslabError(
      'TooLargeError',
      `frequency '${frequency.text}' makes ${length} bins of these times, more than ${MAX_BINS}`,
      {
        actual: length,
        expected: MAX_BINS,
      },
    )
  const labels = packInstants(Array.from({ length }, (_, bin) => labelOf(bin)))
  const bins = new Int32Array(instants.length)
  for (let i = 0; i < bins.length; i++) bins[i] = instants[i] === NAT ? -1 : binOf(instants[i]!)
  return { labels, bins }
}

/** Maps instants to bins, and bins to labels. */
interface Bins {
  binOf(instant: bigint): number
  labelOf(bin: number): bigint
}

function stepsFrom(first: bigint, { nanoseconds }: Steps, { closed = 'left', label = 'left', offset = 0n }: BinOptions): Bins {
  const origin = first - BigInt(splitInstant(first).nanoseconds) + offset
  // A closed right edge belongs to the step before.
  const toStep = (instant: bigint): bigint => floorDivide(instant - origin - (closed === 'right' ? 1n : 0n), nanoseconds)
  const start = toStep(first)
  const shift = label === 'right' ? 1n : 0n
  return {
    binOf: (instant) => Number(toStep(instant) - start),
    labelOf: (bin) => origin + (start + BigInt(bin) + shift) * nanoseconds,
  }
}

const floorDivide = (value: bigint, by: bigint): bigint => value / by - (value % by < 0n ? 1n : 0n)

/** Days that periods begin or end with, numbered in order. */
interface Edges {
  /** Returns the last edge up to a day, and whether it is this day. */
  find(days: number): { readonly edge: number; readonly isOn: boolean }
  /** Returns the day of an edge. */
  day(edge: number): number
}

function daysFrom(first: bigint, frequency: Days, calendar: Calendar, options: BinOptions): Bins {
  const { text, count, isEnd, months } = frequency
  const { closed = isEnd ? 'right' : 'left', label = isEnd ? 'right' : 'left', offset } = options
  if (offset !== undefined) invalidArgument(`offset is for steps of one length such as 6h, not for '${text}'`, text)
  const { find, day } = months === undefined ? weekEdges(frequency, calendar) : monthEdges(frequency, calendar, months)
  /** Returns the left edge of the bin of one period. An edge that is an end includes its whole day. */
  const leftEdge = (instant: bigint): number => {
    const { days, nanoseconds } = splitInstant(instant)
    const { edge, isOn } = find(days)
    return closed === 'right' && isOn && (isEnd || nanoseconds === 0) ? edge - 1 : edge
  }
  const { edge, isOn } = find(splitInstant(first).days)
  const earliest = closed === 'left' ? edge : isOn ? edge - count : edge - count + 1
  // No empty bin precedes the first instant.
  const start = earliest + Math.floor((leftEdge(first) - earliest) / count) * count
  return {
    binOf: (instant) => Math.floor((leftEdge(instant) - start) / count),
    labelOf: (bin) => BigInt(day(start + (bin + (label === 'right' ? 1 : 0)) * count)) * NS_PER_DAY,
  }
}

/** Weekday of 1970-01-01, counted from Sunday. */
const FIRST_WEEKDAY = 4

function weekEdges({ text, anchor }: Days, calendar: Calendar): Edges {
  if (!isOfDates(calendar))
    invalidArgument(`the calendar ${calendar} has no weeks: resample by days, as 7D, not by '${text}'`, text)
  const first = anchor - FIRST_WEEKDAY
  return {
    find: (days) => ({ edge: Math.floor((days - first) / 7), isOn: (days - first) % 7 === 0 }),
    day: (edge) => first + edge * 7,
  }
}

function monthEdges({ anchor, isEnd }: Days, calendar: Calendar, period: number): Edges {
  return {
    find: (days) => {
      const { year, month, day } = dateFromDays(calendar, days)
      // Months since the year 0, which always exists here.
      const since = countedYear(calendar, year) * 12 + month - 1 - anchor
      const isEdgeDay = day === (isEnd ? daysInMonth(calendar, year, month) : 1)
      const edge = Math.floor((isEnd && !isEdgeDay ? since - 1 : since) / period)
      return { edge, isOn: isEdgeDay && since % period === 0 }
    },
    day: (edge) => {
      const counted = edge * period + anchor
      const year = yearCounted(calendar, Math.floor(counted / 12))
      const month = (((counted % 12) + 12) % 12) + 1
      return daysFromDate(calendar, year, month, isEnd ? daysInMonth(calendar, year, month) : 1)
    },
  }
}
