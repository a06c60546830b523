import { member } from '../../core/member.ts'
import { unsupported } from './document.ts'

const NANOSECONDS: Readonly<Record<string, bigint>> = {
  W: 604_800_000_000_000n,
  D: 86_400_000_000_000n,
  h: 3_600_000_000_000n,
  m: 60_000_000_000n,
  s: 1_000_000_000n,
  ms: 1_000_000n,
  us: 1_000n,
  μs: 1_000n,
  ns: 1n,
}
const MONTHS: Readonly<Record<string, bigint>> = { Y: 12n, M: 1n }
const PARTS: Readonly<Record<string, bigint>> = { ps: 1_000n, fs: 1_000_000n, as: 1_000_000_000n }

export const TIME_UNITS = [...Object.keys({ ...MONTHS, ...NANOSECONDS, ...PARTS }), 'generic']

/** Value that numpy uses for "not a time", in every unit. */
export const NOT_A_TIME = -(2n ** 63n)

/** Converts times of a unit to nanoseconds. A month has no fixed length, so units of months have `months`. */
export interface TimeScale {
  /** Factor and divisor that convert a time to nanoseconds. */
  readonly multiply: bigint
  readonly divide: bigint
  /** Number of months in the unit; undefined for units of fixed length. */
  readonly months: bigint | undefined
}

/**
 * Parses a unit as numpy writes it, such as `s` or `10ms`.
 * @throws UnsupportedError for the unit `generic`, which does not define a length
 */
export function timeScale(unit: string): TimeScale {
  const [, count = '', name = ''] = /^(\d*)(.*)$/s.exec(unit) ?? []
  const times = count === '' ? 1n : BigInt(count)
  const [months, parts] = [member(MONTHS, name), member(PARTS, name)]
  if (months !== undefined) return { multiply: 1n, divide: 1n, months: times * months }
  if (parts !== undefined) return { multiply: times, divide: parts, months: undefined }
  const multiply = member(NANOSECONDS, name) ?? unsupported(`times of the unit '${unit}' cannot be read`, unit)
  return { multiply: times * multiply, divide: 1n, months: undefined }
}

/**
 * Returns the nanoseconds since 1970 of a datetime that is stored as `time` in a unit.
 * @throws UnsupportedError if they do not fit a `timestamp_ns`
 */
export function toNanoseconds(time: bigint, unit: string, { multiply, divide, months } = timeScale(unit)): bigint {
  if (time === NOT_A_TIME) return time
  const scaled = months === undefined ? time * multiply : monthStart(time * months)
  const nanoseconds = scaled / divide
  if (nanoseconds * divide === scaled && nanoseconds > NOT_A_TIME && nanoseconds < 2n ** 63n) return nanoseconds
  return unsupported(`the datetime ${time} in units of ${unit} is not a whole number of nanoseconds within 64 bits`, time)
}

/** Returns the nanoseconds since 1970 of the first day of a month, counted from January 1970. */
function monthStart(month: bigint): bigint {
  // Nanoseconds of 64 bits span 600 years. Date covers far more months than that, but does not take bigints.
  if (month < -10_000n || month > 10_000n) return 2n ** 63n
  return BigInt(Date.UTC(1970, Number(month), 1)) * NANOSECONDS['ms']!
}
