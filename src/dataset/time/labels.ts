import { invalidArgument } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import type { InstantLike } from '../../core/timestamp.ts'
import { type Calendar, countedYear, daysInMonth, yearCounted } from './calendar.ts'
import { CFTime, isGregorian, NAT, NS_PER_DAY, NS_PER_SECOND, timeFields, toInstant } from './instant.ts'

/**
 * Label of a time: ISO 8601 text, maybe partial (`1998-01`); a `Date`; an object with nanoseconds like
 * `Temporal.Instant`; a {@link CFTime} of the calendar; or an instant.
 */
export type TimeLabel = string | Date | InstantLike | CFTime | bigint

/** Range of instants that a label covers: from `start` up to, but not including, `stop`. */
export interface TimeSpan {
  readonly start: bigint
  readonly stop: bigint
  /** Whether the label is a single time, given to the second. `stop` is then the end of its precision. */
  readonly exact: boolean
}

/** Year, month, day, hour, minute and second. Trailing components may be missing, but not the year. */
const ISO =
  /^(\d{4}|[+-]\d{4,6})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d)(?::(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?(?:Z|([+-])([01]\d|2[0-3]):?([0-5]\d)?)?)?)?)?$/i

/**
 * Parses the label of a time in a calendar. Partial ISO 8601 covers the whole year, month, day, hour or
 * minute; without a zone it is UTC. In calendars of models, a `Date` is the same date, if it exists there.
 * @throws InvalidArgumentError for values that are not times (including numbers), for times that the calendar
 *   does not have, and for times of another calendar
 */
export function parseTimeLabel(label: TimeLabel, calendar: Calendar): TimeSpan {
  if (typeof label === 'string') return parseText(label, calendar)
  if (typeof label === 'bigint') return exactly(label, 1n)
  if (label instanceof CFTime) {
    if (label.calendar === calendar) return exactly(label.instant, 1n)
    return invalidArgument(`${label} is of the calendar ${label.calendar}, these times of ${calendar}`, label)
  }
  if (Object.prototype.toString.call(label) === '[object Date]') {
    const milliseconds = (label as Date).getTime()
    if (Number.isNaN(milliseconds)) return invalidArgument('an invalid Date is not a time', label)
    return exactly(fromGregorian(BigInt(milliseconds) * 1_000_000n, calendar), 1_000_000n)
  }
  const nanoseconds = (label as Partial<InstantLike> | null | undefined)?.epochNanoseconds
  if (typeof nanoseconds === 'bigint') return exactly(fromGregorian(nanoseconds, calendar), 1n)
  const instead = "give '1998-01-16', a Date, a CFTime, or a bigint of nanoseconds since 1970"
  return invalidArgument(`${typeof label === 'object' ? 'this object' : String(label)} is not a time: ${instead}`, label)
}

function exactly(start: bigint, precision: bigint): TimeSpan {
  if (start === NAT) invalidArgument('NaT is not a time', start)
  return { start, stop: start + precision, exact: true }
}

/** Converts a time of the proleptic Gregorian calendar to another one. */
function fromGregorian(instant: bigint, calendar: Calendar): bigint {
  if (isGregorian(instant, calendar)) return instant
  const fields = timeFields(instant, 'proleptic_gregorian')
  if (calendar !== 'standard' && calendar !== 'julian') return toInstant(fields, calendar)
  const instead = `new CFTime({ year, month, day }, '${calendar}')`
  return invalidArgument(`a Date in the calendar ${calendar} may mean two days: give a string, or ${instead}`, instant)
}

function parseText(text: string, calendar: Calendar): TimeSpan {
  const match = ISO.exec(text.trim())
  if (match === null)
    return invalidArgument(`${quoted(text)} is not a time: give '1998', '1998-01', '1998-01-16' or '1998-01-16T12:30:00'`, text)
  const given = match.slice(1, 7).filter((part) => part !== undefined)
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = given.map(Number)
  const decimals = match[7] ?? ''
  const nanosecond = Number(decimals.padEnd(9, '0'))
  const offset = BigInt((match[8] === '-' ? -60 : 60) * (Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0))) * NS_PER_SECOND
  const start = toInstant({ year, month, day, hour, minute, second, nanosecond }, calendar) - offset
  if (given.length === 1) {
    const next = yearCounted(calendar, countedYear(calendar, year) + 1)
    return { start, stop: toInstant({ year: next }, calendar), exact: false }
  }
  if (given.length === 2) {
    const last = toInstant({ year, month, day: daysInMonth(calendar, year, month) }, calendar)
    return { start, stop: last + NS_PER_DAY, exact: false }
  }
  const lengths = [NS_PER_DAY, 3600n * NS_PER_SECOND, 60n * NS_PER_SECOND, 10n ** BigInt(9 - decimals.length)]
  return { start, stop: start + lengths[given.length - 3]!, exact: given.length === 6 }
}
