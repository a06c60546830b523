import { type ErrorDetails, HyperslabError, invalidArgument } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'

/**
 * A calendar of the CF conventions. `standard` is the mixed one, Julian until 1582-10-04 and Gregorian from
 * the day after, which is 1582-10-15.
 */
export type Calendar = 'standard' | 'proleptic_gregorian' | 'noleap' | 'all_leap' | '360_day' | 'julian'

/** Whether times of a calendar are those of Dates, from the day on that it is Gregorian. */
export const isOfDates = (calendar: Calendar): boolean => calendar === 'standard' || calendar === 'proleptic_gregorian'

/** A day of a calendar. Months and days are counted from 1. */
export interface CalendarDate {
  readonly year: number
  readonly month: number
  readonly day: number
  /** Counted from 1, as if the ten days that `standard` leaves out in October 1582 had been there. */
  readonly dayOfYear: number
}

/** A calendar whose years follow one rule; `standard` is two of them. */
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

/** Days before each month of a year without a leap day. */
const BEFORE_MONTH = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365]

/** How many days a year has on average. The first day of no year is two days from where this puts it. */
const DAYS_OF_YEAR: Readonly<Record<Rule, number>> = {
  proleptic_gregorian: 365.2425,
  noleap: 365,
  all_leap: 366,
  '360_day': 360,
  julian: 365.25,
}

/** 1582-10-15 of the Gregorian calendar. */
const GREGORIAN_START = -141_427
/** 1970-01-01 is that many days later in the Julian calendar than in the Gregorian one. */
const JULIAN_DELAY = 13
/** Up to here all arithmetic is exact, and times in microseconds have 64 bits, as they have in cftime. */
const MAX_YEAR = 292_000
const MAX_DAYS = 366 * (MAX_YEAR + 1970)

/** Days between the first day of the year 0, which counts as there, and the first day of this one. */
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

/** 1582 itself is no leap year by either rule. */
const ruleOf = (calendar: Calendar, isGregorian: boolean): Rule =>
  calendar !== 'standard' ? calendar : isGregorian ? 'proleptic_gregorian' : 'julian'

/**
 * True where the year 1 comes after the year 0, as in ISO 8601; in `standard` and `julian` it comes after the
 * year -1. These are the rules of CF 1.9 and cftime.
 */
export const hasYearZero = (calendar: Calendar): boolean => calendar !== 'standard' && calendar !== 'julian'

/** The number of a year where the year 0 counts, so that arithmetic has no gap. */
export const countedYear = (calendar: Calendar, year: number): number => (year < 0 && !hasYearZero(calendar) ? year + 1 : year)

/** The year of such a number. */
export const yearCounted = (calendar: Calendar, year: number): number => (year < 1 && !hasYearZero(calendar) ? year - 1 : year)

/** The number of the last day of a month. Of October 1582 it is 31 in `standard`, too. */
export function daysInMonth(calendar: Calendar, year: number, month: number): number {
  const rule = ruleOf(calendar, year >= 1582)
  const counted = countedYear(calendar, year)
  // No rule but that of 360 days is about the end of December.
  return rule === '360_day' || month < 12 ? daysBeforeMonth(rule, counted, month + 1) - daysBeforeMonth(rule, counted, month) : 31
}

/** `1998-01-16`, as ISO 8601 has it: years before 0 and after 9999 with a sign and six digits. */
export function showDay(year: number, month: number, day: number): string {
  const isShort = year >= 0 && year <= 9999
  const digits = String(Math.abs(year)).padStart(isShort ? 4 : 6, '0')
  return `${isShort ? '' : year < 0 ? '-' : '+'}${digits}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
}

/**
 * Days from 1970-01-01 of the same calendar to a date.
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
  const rule = ruleOf(calendar, isGregorian)
  const counted = countedYear(calendar, year)
  const days = daysBeforeYear(rule, counted) + daysBeforeMonth(rule, counted, month) + day - 1
  return days - daysBeforeYear(rule, 1970) + (rule === calendar || isGregorian ? 0 : JULIAN_DELAY)
}

/**
 * The date so many days after 1970-01-01 of the same calendar.
 * @throws InvalidArgumentError for what is no integer, and for years beyond 292 000
 */
export function dateFromDays(calendar: Calendar, days: number): CalendarDate {
  if (!Number.isInteger(days) || Math.abs(days) > MAX_DAYS) invalidArgument(`${days} days from 1970 are no date`, days)
  const isGregorian = days >= GREGORIAN_START
  const rule = ruleOf(calendar, isGregorian)
  const fromYearZero = days + daysBeforeYear(rule, 1970) - (rule === calendar || isGregorian ? 0 : JULIAN_DELAY)
  let year = Math.floor(fromYearZero / DAYS_OF_YEAR[rule])
  if (daysBeforeYear(rule, year) > fromYearZero) year--
  else if (daysBeforeYear(rule, year + 1) <= fromYearZero) year++
  const dayOfYear = fromYearZero - daysBeforeYear(rule, year) + 1
  // No month has more than 31 days, so that this is the month or the one before.
  let month = Math.ceil(dayOfYear / 31)
  if (month < 12 && daysBeforeMonth(rule, year, month + 1) < dayOfYear) month++
  return { year: yearCounted(calendar, year), month, day: dayOfYear - daysBeforeMonth(rule, year, month), dayOfYear }
}
