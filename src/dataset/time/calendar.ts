import { type ErrorDetails, HyperslabError, invalidArgument } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'

/**
 * A calendar of the CF conventions. `standard` is mixed: Julian until 1582-10-04, then Gregorian from the
 * next day, 1582-10-15.
 */
export type Calendar = 'standard' | 'proleptic_gregorian' | 'noleap' | 'all_leap' | '360_day' | 'julian'

/** Whether a calendar is that of Dates, at least from the day when it becomes Gregorian. */
export const isOfDates = (calendar: Calendar): boolean => calendar === 'standard' || calendar === 'proleptic_gregorian'

/** A day of a calendar. Months and days start at 1. */
export interface CalendarDate {
  readonly year: number
  readonly month: number
  readonly day: number
  /** Day of the year, starting at 1. In October 1582 of `standard`, it counts the ten omitted days, too. */
  readonly dayOfYear: number
}

/** A calendar with one rule for all years; `standard` combines two. */
type Rule = Exclude<Calendar, 'standard'>

const NAMES: Readonly<Record<string, Calendar>> = {
  standard: 'standard',
  gregorian: 'standard',
  proleptic_gregorian: 'proleptic_gregorian',
  noleap: 'noleap',
  '365_day': 'noleap',
  all_leap: 'all_leap',
  '366_day': 'all_leap',
  '360_day': '360_day',
  julian: 'julian',
}

/**
 * Parses the name of a calendar, in any case and by any of its CF names.
 * @param text `undefined` (no attribute) and an empty text mean `standard`
 * @param label the file and array of the attribute
 * @throws UnsupportedError for `none`, which has no dates, and for calendars that CF does not define
 */
export function parseCalendar(text: unknown, label?: ErrorDetails): Calendar {
  const name = typeof text === 'string' ? text.trim().toLowerCase() : ''
  if (text === undefined || (typeof text === 'string' && name === '')) return 'standard'
  if (Object.hasOwn(NAMES, name)) return NAMES[name]!
  const names = Object.keys(NAMES)
  const why = name === 'none' ? ' has no dates' : ` is none of ${names.join(', ')}`
  throw new HyperslabError('UnsupportedError', `calendar ${quoted(text)}${why}`, {
    ...label,
    actual: text,
    expected: names,
  })
}

/** Days before each month of a non-leap year. */
const BEFORE_MONTH = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365]

/** Average days of a year. A year's first day is less than two days from the estimate by this average. */
const DAYS_OF_YEAR: Readonly<Record<Rule, number>> = {
  proleptic_gregorian: 365.2425,
  noleap: 365,
  all_leap: 366,
  '360_day': 360,
  julian: 365.25,
}

/** Day number of 1582-10-15 in the Gregorian calendar. */
const GREGORIAN_START = -141_427
/** Days by which 1970-01-01 is later in the Julian calendar than in the Gregorian one. */
const JULIAN_DELAY = 13
/** Largest year. Up to it all arithmetic is exact, and microseconds fit in 64 bits, as in cftime. */
const MAX_YEAR = 292_000
const MAX_DAYS = 366 * (MAX_YEAR + 1970)

/**
 * Returns the days from the first day of the year 0, which always exists here, to the first day of a year.
 */
function daysBeforeYear(rule: Rule, year: number): number {
  const leapYears = (every: number): number => Math.ceil(year / every)
  if (rule === 'julian') return 365 * year + leapYears(4)
  if (rule === 'proleptic_gregorian') return 365 * year + leapYears(4) - leapYears(100) + leapYears(400)
  return DAYS_OF_YEAR[rule] * year
}

const daysBeforeMonth = (rule: Rule, year: number, month: number): number =>
  rule === '360_day' ? 30 * (month - 1) : BEFORE_MONTH[month - 1]! + (month > 2 && isLeap(rule, year) ? 1 : 0)

const isLeap = (rule: Rule, year: number): boolean =>
  rule === 'all_leap' ||
  (rule === 'julian' && year % 4 === 0) ||
  (rule === 'proleptic_gregorian' && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0))

/** Returns the rule for a date. 1582 itself is no leap year by either rule. */
const calendarRule = (calendar: Calendar, isGregorian: boolean): Rule =>
  calendar !== 'standard' ? calendar : isGregorian ? 'proleptic_gregorian' : 'julian'

/**
 * Whether the year 1 follows the year 0, as in ISO 8601. In `standard` and `julian`, it follows the year -1,
 * by the rules of CF 1.9 and cftime.
 */
export const hasYearZero = (calendar: Calendar): boolean => calendar !== 'standard' && calendar !== 'julian'

/** Converts a year to a count with a year 0, so that arithmetic has no gap. */
export const countedYear = (calendar: Calendar, year: number): number => (year < 0 && !hasYearZero(calendar) ? year + 1 : year)

/** Converts such a count to the year. */
export const yearCounted = (calendar: Calendar, year: number): number => (year < 1 && !hasYearZero(calendar) ? year - 1 : year)

/** Returns the number of the last day of a month; 31 for October 1582 in `standard`, too. */
export function daysInMonth(calendar: Calendar, year: number, month: number): number {
  const rule = calendarRule(calendar, year >= 1582)
  const counted = countedYear(calendar, year)
  // Only the rule of 360 days affects the end of December.
  return rule === '360_day' || month < 12 ? daysBeforeMonth(rule, counted, month + 1) - daysBeforeMonth(rule, counted, month) : 31
}

/**
 * Formats a day as ISO 8601, such as `1998-01-16`. Years before 0 and after 9999 have a sign and six digits.
 */
export function showDay(year: number, month: number, day: number): string {
  const isShort = year >= 0 && year <= 9999
  const digits = String(Math.abs(year)).padStart(isShort ? 4 : 6, '0')
  return `${isShort ? '' : year < 0 ? '-' : '+'}${digits}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
}

/**
 * Returns the days from 1970-01-01 of the same calendar to a date.
 * @param month 1 to 12
 * @param day from 1
 * @throws InvalidArgumentError for days that the calendar does not have, and for years beyond 292 000
 */
export function daysFromDate(calendar: Calendar, year: number, month: number, day: number): number {
  const isGregorian = year > 1582 || (year === 1582 && (month > 10 || (month === 10 && day > 4)))
  const integers = Number.isInteger(year) && Number.isInteger(month) && Number.isInteger(day)
  const isThere =
    integers && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(calendar, year, month) && Math.abs(year) <= MAX_YEAR
  const isLeftOut = calendar === 'standard' && year === 1582 && month === 10 && day > 4 && day < 15
  if (!isThere || isLeftOut || (year === 0 && !hasYearZero(calendar)))
    invalidArgument(`the calendar ${calendar} has no day ${showDay(year, month, day)}`, { calendar, year, month, day })
  const rule = calendarRule(calendar, isGregorian)
  const counted = countedYear(calendar, year)
  const days = daysBeforeYear(rule, counted) + daysBeforeMonth(rule, counted, month) + day - 1
  return days - daysBeforeYear(rule, 1970) + (rule === calendar || isGregorian ? 0 : JULIAN_DELAY)
}

/**
 * Returns the date a number of days after 1970-01-01 of the same calendar.
 * @throws InvalidArgumentError for numbers that are not integers, and for years beyond 292 000
 */
export function dateFromDays(calendar: Calendar, days: number): CalendarDate {
  if (!Number.isInteger(days) || Math.abs(days) > MAX_DAYS) invalidArgument(`${days} days from 1970 are not a date`, days)
  const isGregorian = days >= GREGORIAN_START
  const rule = calendarRule(calendar, isGregorian)
  const fromYearZero = days + daysBeforeYear(rule, 1970) - (rule === calendar || isGregorian ? 0 : JULIAN_DELAY)
  let year = Math.floor(fromYearZero / DAYS_OF_YEAR[rule])
  if (daysBeforeYear(rule, year) > fromYearZero) year--
  else if (daysBeforeYear(rule, year + 1) <= fromYearZero) year++
  const dayOfYear = fromYearZero - daysBeforeYear(rule, year) + 1
  // No month has more than 31 days, so this is the month or the one before.
  let month = Math.ceil(dayOfYear / 31)
  if (month < 12 && daysBeforeMonth(rule, year, month + 1) < dayOfYear) month++
  return { year: yearCounted(calendar, year), month, day: dayOfYear - daysBeforeMonth(rule, year, month), dayOfYear }
}
