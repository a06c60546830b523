import { type ErrorDetails, HyperslabError, invalidArgument, messageOf } from '../../core/errors.ts'
import { type Calendar, showDay } from './calendar.ts'
import { fits64, NAT, NS_PER_DAY, NS_PER_SECOND, showInstant, timeFields, toInstant, unitsSince } from './instant.ts'

/** Units of times in a calendar, such as `days since 1850-01-01`. */
export interface TimeUnits {
  /** Original text. */
  readonly text: string
  readonly calendar: Calendar
  /** Length of one unit in nanoseconds. */
  readonly unit: bigint
  /** Instant from which times are counted. */
  readonly reference: bigint
}

/** Names of units in lower case, with their lengths in nanoseconds. */
const UNITS: readonly (readonly [RegExp, bigint])[] = [
  [/^(nanoseconds?|nanosecs?|nsecs?|ns)$/, 1n],
  [/^(microseconds?|microsecs?)$/, 1000n],
  [/^(milliseconds?|millisecs?|msecs?|ms)$/, 1_000_000n],
  [/^(seconds?|secs?|s)$/, NS_PER_SECOND],
  [/^(minutes?|mins?)$/, 60n * NS_PER_SECOND],
  [/^(hours?|hrs?|h)$/, 3600n * NS_PER_SECOND],
  [/^(days?|d)$/, NS_PER_DAY],
]

/** Units with a fixed length in one calendar only. */
const UNITS_OF: Partial<Record<Calendar, typeof UNITS>> = {
  '360_day': [[/^months?$/, 30n * NS_PER_DAY]],
  noleap: [[/^common_years?$/, 365n * NS_PER_DAY]],
}

/**
 * A date, maybe partial, with an optional time of day and an optional zone. A zone in hours comes after a
 * time, or after a whole date and a space: in `1970-123`, the digits are no zone. As in UDUNITS, `-600` is
 * `-6:00`.
 */
const REFERENCE =
  /^(?<year>\d{1,4}|[+-]\d{1,6})(?:-(?<month>\d{1,2})(?:-(?<day>\d{1,2}))?)?(?:(?:\s*T|\s|_)\s*(?<hour>\d{1,2})(?::(?<minute>\d{1,2})(?::(?<second>\d{1,2})(?:\.(?<fraction>\d*))?)?)?)?(?<space>\s*)(?:Z|UTC|GMT|(?<sign>[+-])(?<hours>[01]?\d|2[0-3])(?::?(?<minutes>[0-5]\d))?)?$/i

/** A date that ends with the year, and the text after it. */
const YEAR_LAST = /^(\d{1,2})-(\d{1,2})-(\d{4})(?!\d)(.*)$/s

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/**
 * Other dates that have one meaning, with the text after them: `2000/01/31`, `20000131` and `31-JAN-2000`.
 */
const YEAR_FIRST = /^(\d{4})(?:\/(\d{1,2})\/(\d{1,2})|(\d{2})(\d{2}))(?!\d)(.*)$/s
const NAMED_MONTH = /^(\d{1,2})[- ]([a-z]{3})[- ](\d{4})(?!\d)(.*)$/is

/** Returns a date with its year first and hyphens, if it is one of the other dates. */
function withHyphens(date: string): string {
  const first = YEAR_FIRST.exec(date)
  if (first !== null) return `${first[1]}-${first[2] ?? first[4]}-${first[3] ?? first[5]}${first[6]}`
  const named = NAMED_MONTH.exec(date)
  const month = named === null ? 0 : MONTHS.indexOf(named[2]!.toLowerCase()) + 1
  return month === 0 ? date : `${named![3]}-${month}-${named![1]}${named![4]}`
}

/**
 * Whether units are those of a duration, such as `hours`: days or smaller units, without a reference date.
 */
export const isDurationUnit = (units: string): boolean => UNITS.some(([names]) => names.test(units.trim().toLowerCase()))

/**
 * Parses the units of a coordinate of time; returns `undefined` if they are not `… since …`. Accepts the
 * units of cftime, and nanoseconds: days and smaller units, by name or abbreviation; months in `360_day`,
 * common years in `noleap`. The reference is a date with an optional time of day and zone. Default zone: UTC.
 * The year may come last if day and month are equal: `1-1-1970`. The dates `2000/01/31`, `20000131` and
 * `31-JAN-2000` are read, too.
 * @param label the file and array of the attribute
 * @throws UnsupportedError for other units, for months and years in calendars where their lengths vary, and
 *   for a reference date that the calendar does not have
 */
export function parseTimeUnits(units: unknown, calendar: Calendar, label?: ErrorDetails): TimeUnits | undefined {
  const text = typeof units === 'string' ? units.trim() : ''
  const match = /^(\S+)\s+since\s+(.+)$/is.exec(text)
  if (match === null) return undefined
  const refuse = (why: string, cause?: unknown): never => {
    const message = `times in '${text}', calendar ${calendar}, cannot be decoded: ${why}`
    throw new HyperslabError('UnsupportedError', message, { ...label, actual: units, ...(cause === undefined ? {} : { cause }) })
  }
  const name = match[1]!.toLowerCase()
  const unit = [...UNITS, ...(UNITS_OF[calendar] ?? [])].find(([names]) => names.test(name))?.[1]
  if (unit === undefined) return refuse(`'${match[1]}' has no fixed length there, or is not a unit of time`)
  const date = withHyphens(match[2]!)
  const last = YEAR_LAST.exec(date)
  if (last !== null && Number(last[1]) !== Number(last[2])) {
    const [first, second, year] = [Number(last[1]), Number(last[2]), Number(last[3])]
    const readings = `${showDay(year, second, first)} (the day first) or ${showDay(year, first, second)} (the month first)`
    return refuse(`'${match[2]}' may mean ${readings}; a date with the year first is read`)
  }
  const parts = REFERENCE.exec(last === null ? date : `${last[3]}-${last[2]}-${last[1]}${last[4]}`)
  const given = parts?.groups
  if (given === undefined || (given['sign'] !== undefined && given['hour'] === undefined && !(given['day'] && given['space'])))
    return refuse(`'${match[2]}' is not a date, or date and time`)
  const field = (name: string, absent: number): number => Number(given[name] ?? absent)
  const [year, month, day] = [field('year', 0), field('month', 1), field('day', 1)]
  const [hour, minute, second] = [field('hour', 0), field('minute', 0), field('second', 0)]
  const nanosecond = Number((given['fraction'] ?? '').slice(0, 9).padEnd(9, '0'))
  const offset = (given['sign'] === '-' ? -60 : 60) * (60 * field('hours', 0) + field('minutes', 0))
  try {
    const local = toInstant({ year, month, day, hour, minute, second, nanosecond }, calendar)
    return { text, calendar, unit, reference: local - BigInt(offset) * NS_PER_SECOND }
  } catch (error) {
    return refuse(messageOf(error), error)
  }
}

/**
 * Decodes stored times to instants. Integers are exact. Fractions are rounded to the microsecond, as in
 * cftime, and times within a microsecond of a second to that second. {@link NAT} replaces values that are not
 * finite, that `isMissing` reports, and the smallest int64, which is numpy's missing time.
 * @returns a `BigInt64Array` if all instants fit in 64 bits, otherwise an array of bigints
 * @throws UnsupportedError for times beyond the years ±292 000, such as fill values that were not masked
 */
export function decodeTimes(
  values: ArrayLike<number | bigint>,
  units: TimeUnits,
  { isMissing }: { isMissing?: ((value: number | bigint) => boolean) | undefined } = {},
): BigInt64Array | bigint[] {
  const { unit, reference } = units
  const isTime = (value: number | bigint): boolean =>
    (typeof value === 'bigint' ? value !== NAT : Number.isFinite(value)) && isMissing?.(value) !== true
  let [lowest, highest]: (number | bigint)[] = [Infinity, -Infinity]
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (!isTime(value)) continue
    if (value < lowest!) lowest = value
    if (value > highest!) highest = value
  }
  const ends = lowest! > highest! ? [] : [lowest!, highest!]
  for (const value of ends) checkReach(value, units)
  const isShort = ends.every((value) => fits64(decode(value, units)))
  const instants = isShort ? new BigInt64Array(values.length) : new Array<bigint>(values.length)
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (!isTime(value)) instants[i] = NAT
    else if (!isShort || !(typeof value === 'bigint' || Number.isInteger(value))) instants[i] = decode(value, units)
    // V8 compiles sums and products within asIntN(64, …) to native arithmetic.
    else instants[i] = BigInt.asIntN(64, BigInt.asIntN(64, BigInt(value) * unit) + reference)
  }
  return instants
}

/**
 * Decodes one stored time to an element of a `timestamp_ns` array. The caller handles missing times.
 * @throws UnsupportedError for times beyond 64 bits of nanoseconds, outside the years 1678 to 2261
 */
export function decodeTimestamp(value: number | bigint, units: TimeUnits): bigint {
  const instant = decode(value, units)
  if (fits64(instant)) return instant
  checkReach(value, units)
  const text = `${showInstant(instant, units.calendar)}, of '${units.text}', is beyond 64 bits of nanoseconds, 1677-09-21 to 2262-04-11`
  throw new HyperslabError('UnsupportedError', text, { actual: value })
}

function decode(value: number | bigint, { unit, reference }: TimeUnits): bigint {
  if (typeof value === 'bigint') return value * unit + reference
  const whole = Math.trunc(value)
  const instant = BigInt(whole) * unit + reference
  return whole === value ? instant : instant + roundFraction(value - whole, whole, unit)
}

function checkReach(value: number | bigint, units: TimeUnits): void {
  try {
    timeFields(decode(value, units), units.calendar)
  } catch (cause) {
    const text = `${value} in '${units.text}', calendar ${units.calendar}, is beyond all times that can be counted`
    throw new HyperslabError('UnsupportedError', text, { actual: value, cause })
  }
}

/** Fractional bits of the multiplication, more than the largest unit needs. */
const FRACTION_BITS = 113n
const FRACTION_ONE = 2 ** 113
const HALF = 1n << 112n

/**
 * Converts a fraction of a unit to nanoseconds by exact arithmetic, because decimal fractions often miss a
 * half by their last bit.
 */
function roundFraction(fraction: number, whole: number, unit: bigint): bigint {
  const grain = unit < 1000n ? 1n : 1000n
  const grains = unit / grain
  const exact = BigInt(Math.trunc(fraction * FRACTION_ONE)) * grains
  const below = exact >> FRACTION_BITS
  const rest = exact - (below << FRACTION_BITS)
  // Halves round to even.
  const isOdd = ((below + (grains === 1n ? BigInt(whole) : 0n)) & 1n) === 1n
  const rounded = rest > HALF || (rest === HALF && isOdd) ? below + 1n : below
  const fromSecond = grains < 1_000_000n ? 0n : (rounded + grains) % 1_000_000n
  if (fromSecond === 1n) return below * grain
  return (fromSecond === 999_999n && rest > 0n ? below + 1n : rounded) * grain
}

/** Options of {@link encodeTimes}. */
export interface EncodeTimesOptions {
  /** Stored type: `int64` (default), which must be exact, or `float64`, which rounds. */
  readonly as?: 'int64' | 'float64' | undefined
  /** Stored value of {@link NAT}. Default for `float64`: NaN. */
  readonly missing?: number | bigint | undefined
}

/**
 * Encodes instants as numbers of units since the reference.
 * @throws InvalidArgumentError for `int64`, if an instant is not a whole number of units or exceeds 64 bits,
 *   or for {@link NAT} without `missing`
 */
export function encodeTimes(
  instants: ArrayLike<bigint>,
  { unit, reference, text, calendar }: TimeUnits,
  { as = 'int64', missing }: EncodeTimesOptions = {},
): BigInt64Array | Float64Array {
  const encoded = as === 'int64' ? new BigInt64Array(instants.length) : new Float64Array(instants.length)
  for (let i = 0; i < encoded.length; i++) {
    const instant = instants[i]!
    const units = (instant - reference) / unit
    const rest = (instant - reference) % unit
    if (instant === NAT && missing === undefined && as === 'int64')
      invalidArgument(`no time at position ${i}: 'missing' must be the integer to store for it`, instant)
    if (instant === NAT) encoded[i] = as === 'int64' ? BigInt(missing!) : Number(missing ?? Number.NaN)
    else if (as === 'float64') encoded[i] = unitsSince(instant, { unit, reference })
    else if (rest === 0n && BigInt.asIntN(64, units) === units) encoded[i] = units
    else
      invalidArgument(
        `${showInstant(instant, calendar)} is no whole number, of 64 bits, in '${text}'; float64 stores it`,
        instant,
      )
  }
  return encoded
}
