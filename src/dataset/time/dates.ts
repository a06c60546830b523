import type { Calendar } from './calendar.ts'
import { CFTime, isGregorian, NAT, splitInstant } from './instant.ts'
import { decodeTimes, type TimeUnits } from './units.ts'

/** Range of a `Date`, in ns before and after 1970. */
const MAX_DATE = 8_640_000_000_000_000n * 1_000_000n

/**
 * Converts an instant to a `Date` without fractions of a millisecond, or to a {@link CFTime} if no `Date` is
 * equivalent. `undefined` for {@link NAT}.
 */
export function toDateOrCFTime(instant: bigint, calendar: Calendar): Date | CFTime | undefined {
  if (instant === NAT) return undefined
  if (!isGregorian(instant, calendar) || instant < -MAX_DATE || instant > MAX_DATE) return new CFTime(instant, calendar)
  const { days, nanoseconds } = splitInstant(instant)
  return new Date(days * 86_400_000 + Math.floor(nanoseconds / 1e6))
}

/**
 * Returns times as Dates or {@link CFTime}s, and missing ones as null.
 * @param counted units of values that are not converted to instants yet, and their missing values
 */
export function toDates(
  values: ArrayLike<bigint | number>,
  calendar: Calendar,
  counted?: { readonly times: TimeUnits; readonly isMissing: ((value: number | bigint) => boolean) | undefined },
): (Date | CFTime | null)[] {
  const instants = counted === undefined ? (values as ArrayLike<bigint>) : decodeTimes(values, counted.times, counted)
  return Array.from(instants, (instant) => toDateOrCFTime(instant, calendar) ?? null)
}
