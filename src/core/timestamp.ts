import { HyperslabError } from './errors.ts'
import { quoted } from './quoted.ts'

const NS_PER_MS = 1_000_000n
const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n

/** An object with nanoseconds: a `Temporal.Instant` or a `Temporal.ZonedDateTime`. */
export interface InstantLike {
  readonly epochNanoseconds: bigint
}

/** Date and time with an offset; nothing is guessed. */
const ISO = /^([+-]\d{6}|\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:([Zz])|([+-])(\d\d):?(\d\d)))?$/

/**
 * Converts a point in time to an element of a `timestamp_ns` array: nanoseconds since 1970-01-01T00:00Z.
 * @param time a `Date`, a `Temporal.Instant`, or an ISO 8601 string: a date, which begins at midnight UTC,
 *   or date and time with `Z` or an offset and up to nine decimals of a second
 * @throws InvalidArgumentError for an invalid time, or one before 1677-09-21T00:12:43.145224192Z or after
 *   2262-04-11T23:47:16.854775807Z
 * @example
 * console.log(toTimestamp('2024-01-01T00:00Z')) // 1704067200000000000n
 */
export function toTimestamp(time: Date | InstantLike | string): bigint {
  const nanoseconds = typeof time === 'string' ? parse(time) : isDate(time) ? ofDate(time) : time?.epochNanoseconds
  if (typeof nanoseconds !== 'bigint') wrong(time, 'is not a time')
  if (nanoseconds < MIN || nanoseconds > MAX) {
    const text = `is beyond what 64 bits of nanoseconds reach, ${toISO(MIN)} to ${toISO(MAX)}`
    wrong(typeof time === 'string' ? time : `${nanoseconds} ns`, text, [MIN, MAX])
  }
  return nanoseconds
}

/**
 * Converts a timestamp to a `Date`, rounded down to the millisecond.
 * @throws InvalidArgumentError if the timestamp is not a 64-bit integer
 */
export function toDate(timestamp: bigint): Date {
  return new Date(Number(split(timestamp).milliseconds))
}

/**
 * Formats a timestamp in ISO 8601, in UTC, with as many decimals (0, 3, 6 or 9) as all nanoseconds need.
 * `toTimestamp` and `Temporal.Instant.from` read it back.
 * @throws InvalidArgumentError if the timestamp is not a 64-bit integer
 */
export function toISO(timestamp: bigint): string {
  const { milliseconds, rest } = split(timestamp)
  const iso = new Date(Number(milliseconds)).toISOString().slice(0, -1)
  const decimals = `${iso.slice(-3)}${String(rest).padStart(6, '0')}`.replace(/(000){1,3}$/, '')
  return `${iso.slice(0, -4)}${decimals === '' ? '' : `.${decimals}`}Z`
}

/** Whether a value is a Date of any realm. */
const isDate = (time: unknown): time is Date => Object.prototype.toString.call(time) === '[object Date]'

function split(timestamp: bigint): { milliseconds: bigint; rest: bigint } {
  if (typeof timestamp !== 'bigint' || timestamp < MIN || timestamp > MAX)
    wrong(timestamp, 'is not a timestamp_ns value', [MIN, MAX])
  const rest = ((timestamp % NS_PER_MS) + NS_PER_MS) % NS_PER_MS
  return { milliseconds: (timestamp - rest) / NS_PER_MS, rest }
}

function ofDate(date: Date): bigint {
  const milliseconds = date.getTime()
  return Number.isNaN(milliseconds) ? wrong(date, 'is not a time') : BigInt(milliseconds) * NS_PER_MS
}

function parse(text: string): bigint {
  const match = ISO.exec(text) ?? wrong(text, 'is not an ISO 8601 date, or date and time with an offset')
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as Fields
  const [decimals = '', , sign, offsetHours = '0', offsetMinutes = '0'] = match.slice(7)
  if (decimals.length > 9) wrong(text, `has ${decimals.length} decimals of a second; there are nine to a nanosecond`, 9)
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  const inCalendar = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  if (!inCalendar || match[1] === '-000000' || hour > 23 || minute > 59 || second > 59) wrong(text, 'is not a time there is')
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) wrong(text, 'has an offset that no clock has')
  const offset = Number(`${sign ?? ''}1`) * (Number(offsetHours) * 60 + Number(offsetMinutes))
  date.setUTCHours(hour, minute - offset, second)
  return ofDate(date) + BigInt(decimals.padEnd(9, '0'))
}

type Fields = [number, number, number, number, number, number]

function wrong(actual: unknown, why: string, expected?: unknown): never {
  const shown = quoted(actual)
  throw new HyperslabError('InvalidArgumentError', `${shown} ${why}`, { actual, ...(expected === undefined ? {} : { expected }) })
}
