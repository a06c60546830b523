import { type ErrorDetails, HyperslabError, invalidArgument, messageOf } from '../../core/errors.ts'
import { type Calendar, showDay } from './calendar.ts'
import { fieldsOf, fits64, instantOf, NAT, NS_PER_DAY, NS_PER_SECOND, showInstant, unitsSince } from './instant.ts'

/** What `days since 1850-01-01` says, in a calendar. */
export interface TimeUnits {
  /** As it is written. */
  readonly text: string
  readonly calendar: Calendar
  /** Nanoseconds of one unit. */
  readonly unit: bigint
  /** The instant from which times are counted. */
  readonly reference: bigint
}

/** Names of units, in lower case, and their nanoseconds. */
const UNITS: readonly (readonly [RegExp, bigint])[] = [
  [/^(nanoseconds?|nanosecs?|nsecs?|ns)$/, 1n],
  [/^(microseconds?|microsecs?)$/, 1000n],
  [/^(milliseconds?|millisecs?|msecs?|ms)$/, 1_000_000n],
  [/^(seconds?|secs?|s)$/, NS_PER_SECOND],
  [/^(minutes?|mins?)$/, 60n * NS_PER_SECOND],
  [/^(hours?|hrs?|h)$/, 3600n * NS_PER_SECOND],
  [/^(days?|d)$/, NS_PER_DAY],
]

/** Units that are of one length in one calendar only. */
const UNITS_OF: Partial<Record<Calendar, typeof UNITS>> = {
  '360_day': [[/^months?$/, 30n * NS_PER_DAY]],
  noleap: [[/^common_years?$/, 365n * NS_PER_DAY]],
}

/** A date, or its beginning; then perhaps a time of the day, then perhaps a zone. */
const REFERENCE =
  /^(\d{1,4}|[+-]\d{1,6})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:(?:\s*T|\s|_)\s*(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?)?\s*(?:Z|UTC|GMT|([+-])([01]?\d|2[0-3])(?::?([0-5]\d))?)?$/i

/** A date that ends with the year, and the text after it. */
const YEAR_LAST = /^(\d{1,2})-(\d{1,2})-(\d{4})(?!\d)(.*)$/s

/**
 * Whether units are those of a duration, such as `hours`: days or smaller units, without a reference date.
 */
export const isDurationUnit = (units: string): boolean => UNITS.some(([names]) => names.test(units.trim().toLowerCase()))

/**
 * Parses the units of a coordinate of time; returns `undefined` if they are not `… since …`. Accepts the
 * units of cftime, and nanoseconds: days and smaller units, by name or abbreviation; months in `360_day`,
 * common years in `noleap`. The reference is a date with an optional time of day and zone. Default zone: UTC.
 * The year may come last if day and month are equal: `1-1-1970`.
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
  if (unit === undefined) return refuse(`'${match[1]}' has no fixed length there, or is no unit of time`)
  const last = YEAR_LAST.exec(match[2]!)
  if (last !== null && Number(last[1]) !== Number(last[2])) {
    const [first, second, year] = [Number(last[1]), Number(last[2]), Number(last[3])]
    const readings = `${showDay(year, second, first)} (the day first) or ${showDay(year, first, second)} (the month first)`
    return refuse(`'${match[2]}' may mean ${readings}; a date with the year first is read`)
  }
  const parts = REFERENCE.exec(last === null ? match[2]! : `${last[3]}-${last[2]}-${last[1]}${last[4]}`)
  if (parts === null) return refuse(`'${match[2]}' is no date, or date and time`)
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts
    .slice(1, 7)
    .map((part) => (part === undefined ? undefined : Number(part)))
  const nanosecond = Number((parts[7] ?? '').slice(0, 9).padEnd(9, '0'))
  const offset = (parts[8] === '-' ? -60 : 60) * (Number(parts[9] ?? 0) * 60 + Number(parts[10] ?? 0))
  try {
    const local = instantOf({ year, month, day, hour, minute, second, nanosecond }, calendar)
    return { text, calendar, unit, reference: local - BigInt(offset) * NS_PER_SECOND }
  } catch (error) {
    return refuse(messageOf(error), error)
  }
}

/**
 * The instants of stored times. Integers are exact; values with a fraction are rounded to the microsecond, as
 * cftime does, and those that are one microsecond from a second to that second. Values that are not finite,
 * that `isMissing` says are missing, or the smallest int64, which is how numpy stores it, become {@link NAT}.
 * @returns a `BigInt64Array` where all instants fit 64 bits, else an array of bigints
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
    // Of sums and products that are cut to 64 bits the engine makes machine arithmetic.
    else instants[i] = BigInt.asIntN(64, BigInt.asIntN(64, BigInt(value) * unit) + reference)
  }
  return instants
}

/**
 * One stored time as an element of a `timestamp_ns` array; what is missing is for the caller to tell.
 * @throws UnsupportedError for times that 64 bits of nanoseconds do not hold, beyond the years 1678 to 2261
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
    fieldsOf(decode(value, units), units.calendar)
  } catch (cause) {
    const text = `${value} in '${units.text}', calendar ${units.calendar}, is beyond all times that can be counted`
    throw new HyperslabError('UnsupportedError', text, { actual: value, cause })
  }
}

/** Bits behind the point that fractions are multiplied with, more than count in the largest unit. */
const FRACTION_BITS = 113n
const FRACTION_ONE = 2 ** 113
const HALF = 1n << 112n

/**
 * Nanoseconds of a fraction of a unit, by exact arithmetic: what is decimal is often a half but for its last
 * bit.
 */
function roundFraction(fraction: number, whole: number, unit: bigint): bigint {
  const grain = unit < 1000n ? 1n : 1000n
  const grains = unit / grain
  const exact = BigInt(Math.trunc(fraction * FRACTION_ONE)) * grains
  const below = exact >> FRACTION_BITS
  const rest = exact - (below << FRACTION_BITS)
  // Halves go to the even number.
  const isOdd = ((below + (grains === 1n ? BigInt(whole) : 0n)) & 1n) === 1n
  const rounded = rest > HALF || (rest === HALF && isOdd) ? below + 1n : below
  const fromSecond = grains < 1_000_000n ? 0n : (rounded + grains) % 1_000_000n
  if (fromSecond === 1n) return below * grain
  return (fromSecond === 999_999n && rest > 0n ? below + 1n : rounded) * grain
}

/** How times are stored. */
export interface EncodeTimesOptions {
  /** `int64`, which has to be exact, by default; or `float64`, which is the nearest number. */
  readonly as?: 'int64' | 'float64' | undefined
  /** What is stored for {@link NAT}; NaN by default where it is `float64`. */
  readonly missing?: number | bigint | undefined
}

/**
 * Instants as they are stored: numbers of units since the reference.
 * @throws InvalidArgumentError for instants that are no whole number of units, where integers are asked for,
 *   that do not fit 64 bits, and for {@link NAT} where nothing says how it is stored
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
      invalidArgument(`no time at position ${i}: 'missing' has to say which integer is stored for it`, instant)
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
