import { invalidArgument } from '../../core/errors.ts'
import { Printable } from '../../core/inspect.ts'
import { type Calendar, dateFromDays, daysFromDate, showDay } from './calendar.ts'

/**
 * Value of a missing time in arrays of instants, as in numpy's `datetime64[ns]`. An *instant* is a bigint of
 * nanoseconds since 1970-01-01T00:00 of its calendar, whose days have 24 hours of 3600 seconds. This value
 * itself would be a moment of 1677.
 */
export const NAT = -(2n ** 63n)

export const NS_PER_SECOND = 1_000_000_000n
export const NS_PER_DAY = 86_400n * NS_PER_SECOND

/** Durations in nanoseconds by their names in pandas, longest first. */
export const DURATIONS: Readonly<Record<string, bigint>> = {
  D: NS_PER_DAY,
  h: 3600n * NS_PER_SECOND,
  min: 60n * NS_PER_SECOND,
  s: NS_PER_SECOND,
  ms: 1_000_000n,
  us: 1000n,
  ns: 1n,
}

const MAX_INT64 = 2n ** 63n - 1n

/** Whether a `BigInt64Array` can hold an instant. */
export const fits64 = (instant: bigint): boolean => instant > NAT && instant <= MAX_INT64

/** Packs instants in 64 bits if all fit. */
export const packInstants = (instants: bigint[]): BigInt64Array | bigint[] =>
  instants.every((instant) => instant === NAT || fits64(instant)) ? BigInt64Array.from(instants) : instants

/**
 * Returns an instant as a number of units since the reference, rounded to the nearest float; NaN for a
 * missing time.
 */
export function unitsSince(instant: bigint, { unit, reference }: { readonly unit: bigint; readonly reference: bigint }): number {
  const away = instant - reference
  return instant === NAT ? Number.NaN : Number(away / unit) + Number(away % unit) / Number(unit)
}

const SEASONS = ['DJF', 'MAM', 'JJA', 'SON'] as const
export type Season = (typeof SEASONS)[number]

/** Returns the season of a month. December, January and February form one. */
export const toSeason = (month: number): Season => SEASONS[Math.floor(month / 3) % 4]!

/** Components of a time. Months and days start at 1. */
export interface TimeParts {
  readonly year: number
  readonly month?: number
  readonly day?: number
  readonly hour?: number
  readonly minute?: number
  readonly second?: number
  readonly nanosecond?: number
}

/** All components of a time. */
export interface TimeFields extends Required<TimeParts> {
  /** Day of the year, starting at 1. */
  readonly dayOfYear: number
  readonly season: Season
}

/**
 * Splits an instant into days since 1970-01-01 and nanoseconds since midnight, which are exact as a number.
 */
export function splitInstant(instant: bigint): { days: number; nanoseconds: number } {
  const rest = instant % NS_PER_DAY
  const nanoseconds = rest < 0n ? rest + NS_PER_DAY : rest
  return { days: Number((instant - nanoseconds) / NS_PER_DAY), nanoseconds: Number(nanoseconds) }
}

/**
 * Returns the components of an instant.
 * @throws InvalidArgumentError for {@link NAT}, and for years beyond 292 000
 */
export function timeFields(instant: bigint, calendar: Calendar): TimeFields {
  if (instant === NAT) invalidArgument('NaT is not a time, so it has no fields', instant)
  const { days, nanoseconds } = splitInstant(instant)
  const { year, month, day, dayOfYear } = dateFromDays(calendar, days)
  const seconds = Math.floor(nanoseconds / 1e9)
  return {
    year,
    month,
    day,
    dayOfYear,
    hour: Math.floor(seconds / 3600),
    minute: Math.floor(seconds / 60) % 60,
    second: seconds % 60,
    nanosecond: nanoseconds % 1e9,
    season: toSeason(month),
  }
}

/**
 * Returns the instant of a time. Omitted components are the first possible ones.
 * @throws InvalidArgumentError for times that the calendar does not have
 */
export function toInstant(parts: TimeParts, calendar: Calendar): bigint {
  const { year, month = 1, day = 1, hour = 0, minute = 0, second = 0, nanosecond = 0 } = parts
  const isWithin = (value: number, stop: number): boolean => Number.isInteger(value) && value >= 0 && value < stop
  if (!(isWithin(hour, 24) && isWithin(minute, 60) && isWithin(second, 60) && isWithin(nanosecond, 1e9)))
    invalidArgument(`no day has a time of ${hour} h, ${minute} min, ${second} s and ${nanosecond} ns`, parts)
  const days = BigInt(daysFromDate(calendar, year, month, day))
  return days * NS_PER_DAY + BigInt(hour * 3600 + minute * 60 + second) * NS_PER_SECOND + BigInt(nanosecond)
}

/**
 * Formats an instant as ISO 8601 without a zone, omitting trailing zeros: `1998-01-16T12:00`,
 * `1998-01-16T12:00:00.5`; `NaT` for a missing time.
 * @param options.midnight false formats midnight as the day alone: `1998-01-16`
 */
export function showInstant(instant: bigint, calendar: Calendar, { midnight = true } = {}): string {
  if (instant === NAT) return 'NaT'
  const { year, month, day, hour, minute, second, nanosecond } = timeFields(instant, calendar)
  const date = showDay(year, month, day)
  if (!midnight && hour === 0 && minute === 0 && second === 0 && nanosecond === 0) return date
  const two = (value: number): string => String(value).padStart(2, '0')
  const decimals =
    nanosecond === 0
      ? ''
      : `.${String(nanosecond)
          .padStart(9, '0')
          .replace(/0{1,9}$/, '')}`
  return `${date}T${two(hour)}:${two(minute)}${second === 0 && decimals === '' ? '' : `:${two(second)}${decimals}`}`
}

/**
 * A time of a calendar that `Date` cannot represent, such as February 30th. Times of one calendar are
 * compared by their `instant`.
 */
export class CFTime extends Printable implements Required<TimeParts> {
  /** Calendar of the time. */
  readonly calendar: Calendar
  /** Nanoseconds since 1970-01-01T00:00 of the calendar. */
  readonly instant: bigint
  /** Year. */
  readonly year: number
  /** Month, starting at 1. */
  readonly month: number
  /** Day of the month, starting at 1. */
  readonly day: number
  /** Hour, starting at 0. */
  readonly hour: number
  /** Minute, starting at 0. */
  readonly minute: number
  /** Second, starting at 0. */
  readonly second: number
  /** Nanoseconds within the second. */
  readonly nanosecond: number

  /**
   * @param time instant, or components of the time; omitted ones are the first possible ones
   * @throws InvalidArgumentError for times that the calendar does not have
   */
  constructor(time: bigint | TimeParts, calendar: Calendar) {
    super()
    this.calendar = calendar
    this.instant = typeof time === 'bigint' ? time : toInstant(time, calendar)
    const fields = timeFields(this.instant, calendar)
    this.year = fields.year
    this.month = fields.month
    this.day = fields.day
    this.hour = fields.hour
    this.minute = fields.minute
    this.second = fields.second
    this.nanosecond = fields.nanosecond
  }

  /** Formats the time as ISO 8601 without a zone: `1998-02-30T12:00`. */
  override toString(): string {
    return showInstant(this.instant, this.calendar)
  }

  /** Returns the same text as {@link toString}. */
  toJSON(): string {
    return this.toString()
  }

  /**
   * Refuses the conversion to a number that `<` and `-` request.
   * @throws InvalidArgumentError always, because numbers of Dates count differently and would compare wrongly
   */
  override valueOf(): never {
    return invalidArgument(`compare times of calendars by their 'instant', not ${this} itself`, this)
  }
}

/** Day from which `standard` and `proleptic_gregorian` agree. */
const GREGORIAN_START = -141_427n * NS_PER_DAY

/** Whether a `Date` is equivalent to an instant of this calendar. */
export const isGregorian = (instant: bigint, calendar: Calendar): boolean =>
  calendar === 'proleptic_gregorian' || (calendar === 'standard' && instant >= GREGORIAN_START)

const DURATION = /^(\d+(?:\.\d+)?)?\s*(D|h|min|s|ms|us|ns)$/

/** Returns the nanoseconds of a text like `6h`, `1D` or `30min`; undefined for other values. */
export function parseDuration(text: unknown): bigint | undefined {
  const [, count = '1', unit = ''] = (typeof text === 'string' && DURATION.exec(text)) || []
  return unit === '' ? undefined : BigInt(Math.round(Number(count) * Number(DURATIONS[unit])))
}
