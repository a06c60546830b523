import { afterAll, describe, expect, test } from 'vitest'
import type { Calendar } from '../../../src/dataset/time/calendar.ts'
import { NAT, timeFields, toInstant } from '../../../src/dataset/time/instant.ts'
import { decodeTimes, decodeTimestamp, encodeTimes, parseTimeUnits, type TimeUnits } from '../../../src/dataset/time/units.ts'
import { type PeerFields, startTimes } from '../../support/times.ts'
import { CALENDARS, integer, seeded } from './arbitraries.ts'

const peer = startTimes()
afterAll(() => peer?.close())

const units = (text: string, calendar: Calendar = 'standard'): TimeUnits => parseTimeUnits(text, calendar)!

/** Year to microsecond, as cftime has them. */
function dateOf(instant: bigint, calendar: Calendar): number[] | null {
  if (instant === NAT) return null
  const { year, month, day, hour, minute, second, nanosecond } = timeFields(instant, calendar)
  expect(nanosecond % 1000).toBe(0)
  return [year, month, day, hour, minute, second, nanosecond / 1000]
}
const instantOfPeer = ([year, month, day, hour, minute, second, micros]: PeerFields, calendar: Calendar): bigint =>
  toInstant({ year, month, day, hour, minute, second, nanosecond: micros * 1000 }, calendar)
const datesOf = (instants: ArrayLike<bigint>, calendar: Calendar): (number[] | null)[] =>
  Array.from(instants, (instant) => dateOf(instant, calendar))

const UNITS: Record<string, number> = {
  days: 1e6,
  Day: 1e6,
  d: 1e6,
  hours: 2e7,
  hour: 2e7,
  hrs: 2e7,
  hr: 2e7,
  h: 2e7,
  minutes: 1e9,
  mins: 1e9,
  min: 1e9,
  seconds: 1e11,
  second: 1e11,
  secs: 1e11,
  sec: 1e11,
  s: 1e11,
  milliseconds: 1e13,
  millisec: 1e13,
  msecs: 1e13,
  ms: 1e13,
  microseconds: 1e15,
  microsecs: 1e15,
}
const REFERENCES = [
  '1850-01-01',
  '1-1-1',
  '0001-01-01 00:00:00',
  '1970-01-01T00:00:00Z',
  '1900-1-1 6:30',
  '1582-10-15 12:00:00.25',
  '1998-02-28 23:59:59.999999',
  '2000-06-15 00:00:00 +02:00',
  '2000-06-15T12:34:56-0530',
  '1992-10-08 15:15:42.5 -06:00',
  '-4713-01-01 12:00',
]

describe.each(CALENDARS)('%s', (calendar) => {
  test.skipIf(peer === undefined)('numbers in all units are the times of cftime', async () => {
    const random = seeded(3)
    for (const [unit, range] of Object.entries(UNITS)) {
      const text = `${unit} since ${REFERENCES[integer(random, 0, REFERENCES.length - 1)]}`
      const wholes = Array.from({ length: 100 }, () => integer(random, -range, range))
      expect(datesOf(decodeTimes(wholes, units(text, calendar)), calendar), text).toEqual(
        (await peer!.decode(wholes, text, calendar, 'i8')).map((fields) => fields!.slice(0, 7)),
      )
      const floats = wholes.map((whole) => (whole / range) * 10 ** integer(random, 0, Math.log10(range)))
      // cftime multiplies numbers of 64 bits, which is a microsecond off where the result is about a half.
      const expected = (await peer!.decode(floats, text, calendar, 'f8')).map((fields) => instantOfPeer(fields!, calendar))
      const differences = Array.from(decodeTimes(floats, units(text, calendar)), (instant, i) => Number(instant - expected[i]!))
      expect(Math.max(...differences.map(Math.abs)), text).toBeLessThanOrEqual(1000)
      expect(differences.filter((difference) => difference !== 0).length, text).toBeLessThan(3)
    }
  })

  test.skipIf(peer === undefined)('references are those of cftime', async () => {
    for (const reference of [
      ...REFERENCES,
      '1500-02-29',
      '0000-01-01',
      '1999-02-29',
      '1998-02-30',
      '1582-10-10',
      '2000-01-01 24:00',
      '2000-13-01',
    ]) {
      const text = `hours since ${reference}`
      const expected = await peer!.decode([0, 1], text, calendar, 'i8').catch((error: Error) => error)
      if (expected instanceof Error)
        expect(() => units(text, calendar), text).toThrow(
          expect.objectContaining({
            tag: 'UnsupportedError',
            message: expect.stringContaining(`times in '${text}', calendar ${calendar}`),
          }),
        )
      else
        expect(datesOf(decodeTimes([0, 1], units(text, calendar)), calendar), text).toEqual(
          expected.map((fields) => fields!.slice(0, 7)),
        )
    }
  })

  test.skipIf(peer === undefined)('times are encoded as cftime encodes them', async () => {
    const random = seeded(4)
    for (const unit of ['days', 'hours', 'minutes', 'seconds', 'milliseconds']) {
      const text = `${unit} since 1850-01-01 06:00`
      const dates = Array.from({ length: 60 }, () => [
        integer(random, 1, 3000),
        integer(random, 1, 12),
        integer(random, 1, 28),
        integer(random, 0, 23),
        ...[integer(random, 0, 59), integer(random, 0, 59), integer(random, 0, 999_999)].map((value) =>
          random() < 0.5 ? 0 : value,
        ),
      ]).filter(([year, month]) => year !== 1582 || month !== 10)
      const instants = dates.map(([year, month, day, hour, minute, second, micros]) =>
        toInstant(
          { year: year!, month: month!, day: day!, hour: hour!, minute: minute!, second: second!, nanosecond: micros! * 1000 },
          calendar,
        ),
      )
      const expected = await peer!.encode(dates, text, calendar)
      const encoded = encodeTimes(instants, units(text, calendar), { as: 'float64' })
      for (const [i, value] of expected.entries())
        expect(Math.abs(Number(encoded[i]) - value)).toBeLessThanOrEqual(Number.isInteger(value) ? 0 : Math.abs(value) * 2 ** -52)
      // Within a thousand years in milliseconds, a float64 has a precision of about 8 microseconds. Smaller
      // numbers have a better one.
      const decoded = decodeTimes(encoded, units(text, calendar))
      for (const [i, instant] of instants.entries()) expect(Math.abs(Number(decoded[i]! - instant))).toBeLessThanOrEqual(8000)
    }
  })

  test('what is encoded exactly decodes to itself', () => {
    const random = seeded(5)
    for (const unit of ['days', 'h', 'min', 's', 'ms', 'microseconds', 'nanoseconds']) {
      const time = units(`${unit} since 1850-01-01T01:02:03.004005006`, calendar)
      const values = BigInt64Array.from({ length: 50 }, () => BigInt(integer(random, -60_000, 60_000)))
      const instants = decodeTimes(values, time)
      expect(instants).toBeInstanceOf(BigInt64Array)
      expect(encodeTimes(instants, time)).toEqual(values)
    }
  })
})

test('zones are subtracted from the reference, by all their spellings', () => {
  for (const zone of ['-6', '-6:00', ' -6:00', ' -06', '-0600', ' -600'])
    expect(units(`s since 1970-01-01 00:00${zone}`).reference, zone).toBe(6n * 3_600_000_000_000n)
  for (const zone of ['Z', ' UTC', ' utc', ' GMT', '+0', ' +00:00', '-00:00', ''])
    expect(units(`s since 1970-01-01T00:00:00${zone}`).reference, zone).toBe(0n)
  expect(units('s since 1970-01-01 +5:30').reference).toBe(-19_800_000_000_000n)
})

test('an underscore stands between a date and its time, as some models write', () => {
  expect(units('seconds since 1970-01-02_03:04:05').reference).toBe(97_445_000_000_000n)
  expect(units('seconds since 1970-01-02_03:04:05Z').reference).toBe(97_445_000_000_000n)
})

test.each([
  ['2000/01/31', '2000-01-31'],
  ['2000/1/3 12:30', '2000-01-03 12:30'],
  ['20000131', '2000-01-31'],
  ['20000131T06:00Z', '2000-01-31T06:00Z'],
  ['31-JAN-2000', '2000-01-31'],
  ['3-Feb-2000 00:00:00', '2000-02-03'],
])('the reference date %s has one meaning, and is read', (date, same) => {
  expect(units(`days since ${date}`).reference).toBe(units(`days since ${same}`).reference)
})

test.each(['2000011', '200001311', '2000/13/01', '20001301', '01-FOO-2000', '1/2/2000', '2000/01'])(
  'the reference date %s is refused',
  (date) => {
    expect(() => units(`days since ${date}`)).toThrow(/cannot be decoded/)
  },
)

test('a year that comes last is read where day and month are equal, and refused with both readings elsewhere', () => {
  expect(units('seconds since 1-1-1970').reference).toBe(0n)
  expect(units('hours since 02-02-1970 06:00:00 +01:00').reference).toBe((32n * 24n + 5n) * 3_600_000_000_000n)
  for (const text of ['2-1-1970', '02-01-1970 00:00:00', '2-1-1970T06'])
    expect(() => units(`days since ${text}`)).toThrow(/may mean 1970-01-02 \(the day first\) or 1970-02-01 \(the month first\)/)
  expect(() => units('days since 25-12-1970')).toThrow(/1970-12-25 \(the day first\) or 1970-25-12/)
  // The year 1.
  expect(units('days since 1-1-1').reference).toBe(units('days since 0001-01-01').reference)
})

test('parts of a date stand for their beginning, and hours need no minutes', () => {
  const reference = (text: string): bigint => units(`days since ${text}`).reference
  expect([reference('2000'), reference('2000-1')]).toEqual(Array(2).fill(reference('2000-01-01T00:00:00')))
  expect(reference('2000-01-01 6')).toBe(reference('2000-01-01T06:00'))
  expect(reference('2000-01-01 0:0:0.')).toBe(reference('2000-01-01'))
  expect(reference('1-1-1')).toBe(reference('0001-01-01'))
})

test('what is not since anything is no time', () => {
  for (const text of ['days', 'K', '', 'since 1970-01-01', 'days before 1970-01-01', undefined, 5])
    expect(parseTimeUnits(text, 'standard')).toBeUndefined()
})

test('months and years are taken where all are of one length, as cftime does', () => {
  expect(units('Months since 1970-01-01', '360_day').unit).toBe(30n * 86_400_000_000_000n)
  expect(units('common_years since 1970-01-01', 'noleap').unit).toBe(365n * 86_400_000_000_000n)
})

test('units of no fixed length, other units and references that are no dates are refused', () => {
  for (const [text, calendar] of [
    ['months since 1970-01-01', 'standard'],
    ['months since 1970-01-01', 'noleap'],
    ['years since 1970-01-01', '360_day'],
    ['common_years since 1970-01-01', 'all_leap'],
    ['weeks since 1970-01-01', 'standard'],
    ['K since 1970-01-01', 'standard'],
    ['days since the beginning', 'standard'],
    ['days since 200001011', 'standard'],
    ['hours since 1970-001', 'standard'],
    ['hours since 1970-123', 'standard'],
    ['hours since 1970-1200', 'standard'],
    ['hours since 1970+5', 'standard'],
    ['hours since 1970-01 +05', 'standard'],
    ['hours since 1970-01-0130', 'standard'],
    ['hours since 1970-01-01-0130', 'standard'],
    ['hours since 1970-01-01 00:00 +5:3', 'standard'],
    ['hours since 1970-01-01 00:00 +2460', 'standard'],
    ['hours since 1970-01-01 00:00 +05300', 'standard'],
    ['days since 2000-01-01 00:00 CET', 'standard'],
    ['days since 2000-01-01 00:00 +24', 'standard'],
    ['days since 2000-01-01 00:00 +1:60', 'standard'],
    ['days since 2000-01-01 00:00:60', 'standard'],
    ['days since 0-1-1', 'julian'],
  ] as const)
    expect(() => parseTimeUnits(text, calendar, { array: 'time' }), text).toThrow(
      expect.objectContaining({
        tag: 'UnsupportedError',
        message: expect.stringContaining(`array 'time': times in '${text}', calendar ${calendar}, cannot be decoded`),
      }),
    )
})

test('values that are missing become NaT', () => {
  const time = units('days since 1970-01-01')
  const day = 86_400_000_000_000n
  expect(decodeTimes([1, Number.NaN, Infinity, -Infinity, 2.5], time)).toEqual(
    BigInt64Array.of(day, NAT, NAT, NAT, (5n * day) / 2n),
  )
  expect(decodeTimes(BigInt64Array.of(1n, NAT), time)).toEqual(BigInt64Array.of(day, NAT))
  expect(decodeTimes([9.96921e36, 1], time, { isMissing: (value) => (value as number) > 1e30 })).toEqual(
    BigInt64Array.of(NAT, day),
  )
  expect(decodeTimes([Number.NaN], time)).toEqual(BigInt64Array.of(NAT))
  expect(decodeTimes([], time)).toEqual(new BigInt64Array(0))
  expect(Array.from(decodeTimes([Number.NaN, 3e6], time))).toEqual([NAT, 3_000_000n * day])
})

test('times beyond what is counted are refused, such as fill values', () => {
  for (const value of [9.96921e36, -1e9, 2n ** 62n])
    expect(() => decodeTimes([0, value], units('days since 1970-01-01', 'noleap'))).toThrow(
      expect.objectContaining({ tag: 'UnsupportedError', message: expect.stringContaining(String(value)) }),
    )
})

test('timestamps are those times that 64 bits hold', () => {
  const time = units('days since 0001-01-01')
  expect(decodeTimestamp(719_164.5, time)).toBe(43_200_000_000_000n)
  for (const value of [0, 2_000_000n, 1e12])
    expect(() => decodeTimestamp(value, time)).toThrow(
      expect.objectContaining({ tag: 'UnsupportedError', message: expect.stringMatching('days since 0001-01-01.* is beyond') }),
    )
})

test('64 bits are used as far as they reach', () => {
  const time = units('nanoseconds since 1970-01-01', '360_day')
  expect(decodeTimes([2n ** 63n - 1n, NAT + 1n], time)).toEqual(BigInt64Array.of(2n ** 63n - 1n, NAT + 1n))
  expect(decodeTimes([2n ** 63n, 0n], time)).toEqual([2n ** 63n, 0n])
  expect(decodeTimes([-106_752, 1], units('days since 1970-01-01'))).toEqual([
    -106_752n * 86_400_000_000_000n,
    86_400_000_000_000n,
  ])
})

test('fractions are rounded to the microsecond, halves to the even one, and to a second that is near', () => {
  const micros = (value: number, text: string): number => Number(decodeTimes([value], units(text))[0]! / 1000n)
  expect([0.5, 1.5, 2.5, -0.5, -1.5].map((value) => micros(value, 'microseconds since 1970-01-01'))).toEqual([0, 2, 2, 0, -2])
  // The floats nearest to 0.0005 and 0.0025 are a little larger, those nearest to 0.0055 and 0.0075 a little
  // smaller.
  expect([0.0005, 0.0025, 0.0055, 0.0075, 0.25, 1000.0625].map((value) => micros(value, 'ms since 1970-01-01'))).toEqual([
    1, 3, 5, 7, 250, 1_000_062,
  ])
  expect([1.0000006, 0.9999993, 1.0000016, -1.0000006].map((value) => micros(value, 'seconds since 1970-01-01'))).toEqual([
    1_000_000, 1_000_000, 1_000_002, -1_000_000,
  ])
  expect([0.4, 0.5, 1.5, 2.7].map((value) => decodeTimes([value], units('ns since 1970-01-01'))[0])).toEqual([0n, 0n, 2n, 3n])
})

test('integers that would not be exact are refused, and so is NaT where nothing stands for it', () => {
  const time = units('days since 1970-01-01')
  const wrong = (text: string): unknown =>
    expect.objectContaining({ tag: 'InvalidArgumentError', message: expect.stringContaining(text) })
  expect(() => encodeTimes([1n], time)).toThrow(wrong('1970-01-01T00:00:00.000000001'))
  expect(() => encodeTimes([2n ** 63n], units('ns since 1970-01-01'))).toThrow(wrong('64 bits'))
  expect(() => encodeTimes([0n, NAT], time)).toThrow(wrong('position 1'))
  expect(encodeTimes([0n, NAT], time, { missing: -1 })).toEqual(BigInt64Array.of(0n, -1n))
  expect(encodeTimes([NAT, 43_200_000_000_000n], time, { as: 'float64' })).toEqual(Float64Array.of(Number.NaN, 0.5))
  expect(encodeTimes([NAT], time, { as: 'float64', missing: -999 })).toEqual(Float64Array.of(-999))
})
