import { HyperslabError, invalidArgument } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import { type Calendar, countedYear, dateFromDays, daysFromDate, daysInMonth, yearCounted } from './calendar.ts'
import { DURATIONS, NAT, NS_PER_DAY, packInstants, splitInstant } from './instant.ts'

/** A frequency of equal steps. */
interface Steps {
  readonly text: string
  readonly nanoseconds: bigint
}

/** A frequency of months, quarters or years. */
interface Months {
  readonly text: string
  /** Months per period: 1, 3 or 12. */
  readonly period: 1 | 3 | 12
  /** Number of periods in a bin. */
  readonly count: number
  /** Month, counted from 0, in which periods begin or end. */
  readonly anchor: number
  /** Whether bins are labelled by their last day instead of the first. */
  readonly isEnd: boolean
}

/** A frequency in the notation of pandas, such as `3MS`. */
export type Frequency = Steps | Months

const PERIODS: Readonly<Record<string, 1 | 3 | 12>> = { M: 1, Q: 3, Y: 12 }
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
 * name the month that they begin or end with (`QS-DEC`, `YE-JUN`). Steps are `D`, `h`, `min`, `s`, `ms`, `us`
 * and `ns`.
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
    if (anchor >= 0 && !(period === 1 && month !== undefined)) return { text, period, count, anchor, isEnd }
  }
  const why = Object.hasOwn(RENAMED, name)
    ? `write '${digits}${RENAMED[name]}${month === undefined ? '' : `-${month}`}'`
    : `it is none of MS, ME, QS, QE, YS, YE, QS-DEC and the like, ${Object.keys(DURATIONS).join(', ')}, nor a number of one, as 3MS`
  return invalidArgument(`frequency ${quoted(text)} is unknown: ${why}`, text)
}

/** Bins of times. */
export interface ResampleBins {
  /**
   * Label of each bin, including empty ones: its first day or time, or its last day if the frequency ends
   * with E.
   */
  readonly labels: BigInt64Array | bigint[]
  /** Bin of each instant; -1 for a missing time. */
  readonly bins: Int32Array
}

/**
 * Assigns instants, in any order, to bins, like `resample(time=frequency)` of xarray with its defaults. Bins
 * extend from that of the first instant to that of the last. Days and smaller steps count from the midnight
 * before the first instant; several months or years count from its own period.
 * @throws TooLargeError for more than 2^24 bins
 */
export function resampleBins(instants: ArrayLike<bigint>, frequency: Frequency, calendar: Calendar): ResampleBins {
  let [first, last]: (bigint | undefined)[] = []
  for (let i = 0; i < instants.length; i++) {
    const instant = instants[i]!
    if (instant === NAT) continue
    if (first === undefined || instant < first) first = instant
    if (last === undefined || instant > last) last = instant
  }
  if (first === undefined) return { labels: new BigInt64Array(0), bins: new Int32Array(instants.length).fill(-1) }
  const { binOf, labelOf } = 'nanoseconds' in frequency ? stepsFrom(first, frequency) : monthsFrom(first, frequency, calendar)
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

function stepsFrom(first: bigint, { nanoseconds }: Steps): Bins {
  const sinceMidnight = BigInt(splitInstant(first).nanoseconds)
  const start = first - (sinceMidnight % nanoseconds)
  return {
    binOf: (instant) => Number((instant - start) / nanoseconds),
    labelOf: (bin) => start + BigInt(bin) * nanoseconds,
  }
}

function monthsFrom(first: bigint, { period, count, anchor, isEnd }: Months, calendar: Calendar): Bins {
  /** Returns the months since the year 0, which always exists here. */
  const monthNumber = (instant: bigint): number => {
    const { year, month } = dateFromDays(calendar, splitInstant(instant).days)
    return countedYear(calendar, year) * 12 + month - 1
  }
  const length = count * period
  const sinceAnchor = (monthNumber(first) - anchor - (isEnd ? 1 : 0)) % period
  const periodStart = monthNumber(first) - ((sinceAnchor + period) % period)
  // If bins are labelled by their end, the first period is the last one of its bin.
  const start = isEnd ? periodStart + period - length : periodStart
  return {
    binOf: (instant) => Math.floor((monthNumber(instant) - start) / length),
    labelOf: (bin) => {
      const counted = start + bin * length + (isEnd ? length - 1 : 0)
      const year = yearCounted(calendar, Math.floor(counted / 12))
      const month = (((counted % 12) + 12) % 12) + 1
      const day = isEnd ? daysInMonth(calendar, year, month) : 1
      return BigInt(daysFromDate(calendar, year, month, day)) * NS_PER_DAY
    },
  }
}
