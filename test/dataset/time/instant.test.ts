import { inspect } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Calendar, daysFromDate } from '../../../src/dataset/time/calendar.ts'
import { toDateOrCFTime } from '../../../src/dataset/time/dates.ts'
import { CFTime, NAT, showInstant, timeFields, toInstant, toSeason } from '../../../src/dataset/time/instant.ts'
import { runs } from '../../support/budget.ts'
import { CALENDARS } from './arbitraries.ts'

const DAY = 86_400_000_000_000n
const calendars = fc.constantFrom(...CALENDARS)
/** Instants of the years -9999 to 9999. */
const instants = fc.oneof(
  fc.bigInt(-3_600_000n * DAY, 2_900_000n * DAY),
  fc.bigInt(-(10n ** 15n), 10n ** 15n),
  fc.bigInt(-140_000n, 30_000n).map((days) => days * DAY),
)

test('fields give back their instant', () => {
  fc.assert(
    fc.property(instants, calendars, (instant, calendar) => {
      expect(toInstant(timeFields(instant, calendar), calendar)).toBe(instant)
    }),
    { numRuns: runs(2000) },
  )
})

test('fields of the proleptic Gregorian calendar are those of a Date', () => {
  fc.assert(
    fc.property(instants, (instant) => {
      const { year, month, day, hour, minute, second, nanosecond } = timeFields(instant, 'proleptic_gregorian')
      const date = toDateOrCFTime(instant, 'proleptic_gregorian') as Date
      expect([year, month, day, hour, minute, second, Math.floor(nanosecond / 1e6)]).toEqual([
        date.getUTCFullYear(),
        date.getUTCMonth() + 1,
        date.getUTCDate(),
        date.getUTCHours(),
        date.getUTCMinutes(),
        date.getUTCSeconds(),
        date.getUTCMilliseconds(),
      ])
      expect(BigInt(nanosecond)).toBe(((instant % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n)
    }),
  )
})

test('what is left out of a time is the first there is', () => {
  expect(toInstant({ year: 1970 }, 'noleap')).toBe(0n)
  expect(toInstant({ year: 1970, month: 2, hour: 1, nanosecond: 1 }, '360_day')).toBe(30n * DAY + 3_600_000_000_001n)
})

test('times that no day has are refused', () => {
  const refused = expect.objectContaining({ tag: 'InvalidArgumentError' })
  for (const wrong of [{ hour: 24 }, { minute: 60 }, { second: 60 }, { second: -1 }, { nanosecond: 1e9 }, { second: 0.5 }])
    expect(() => toInstant({ year: 2000, ...wrong }, 'standard')).toThrow(refused)
  expect(() => toInstant({ year: 1999, month: 2, day: 29 }, 'standard')).toThrow(refused)
  expect(() => timeFields(NAT, 'standard')).toThrow(refused)
})

test('December, January and February are one season', () => {
  expect([12, 1, 2, 3, 5, 6, 8, 9, 11].map(toSeason).join()).toBe('DJF,DJF,DJF,MAM,MAM,JJA,JJA,SON,SON')
  expect(timeFields(toInstant({ year: 1999, month: 12 }, 'julian'), 'julian').season).toBe('DJF')
})

test('instants are shown as short as they keep all', () => {
  const show = (time: Parameters<typeof toInstant>[0], options?: { midnight?: boolean }): string =>
    showInstant(toInstant(time, '360_day'), '360_day', options)
  expect(show({ year: 1998, month: 2, day: 30, hour: 12 })).toBe('1998-02-30T12:00')
  expect(show({ year: 1998, second: 7 })).toBe('1998-01-01T00:00:07')
  expect(show({ year: 1998, nanosecond: 500_000_000 })).toBe('1998-01-01T00:00:00.5')
  expect(show({ year: 1998, nanosecond: 1 }, { midnight: false })).toBe('1998-01-01T00:00:00.000000001')
  expect(show({ year: 1998, hour: 1 }, { midnight: false })).toBe('1998-01-01T01:00')
  expect(show({ year: 1998 }, { midnight: false })).toBe('1998-01-01')
  expect(show({ year: 1998 })).toBe('1998-01-01T00:00')
  expect(['7', '0', '-1', '12000'].map((year) => show({ year: Number(year) }, { midnight: false }))).toEqual([
    '0007-01-01',
    '0000-01-01',
    '-000001-01-01',
    '+012000-01-01',
  ])
  expect(showInstant(NAT, 'standard')).toBe('NaT')
})

test('a time of a calendar shows itself and is compared by its instant', () => {
  const time = new CFTime({ year: 1998, month: 2, day: 30, hour: 6 }, '360_day')
  const fields = { calendar: '360_day', year: 1998, month: 2, day: 30, hour: 6, minute: 0, second: 0, nanosecond: 0 }
  expect({ ...time }).toEqual({ ...fields, instant: BigInt(28 * 360 + 59) * DAY + DAY / 4n })
  expect(new CFTime(time.instant, '360_day').day).toBe(30)
  expect([`${time}`, JSON.stringify(time), inspect(time)]).toEqual(['1998-02-30T06:00', '"1998-02-30T06:00"', '1998-02-30T06:00'])
  expect(() => (time as unknown as number) < 5).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
  expect(() => new CFTime({ year: 1998, month: 2, day: 30 }, 'noleap')).toThrow('the calendar noleap has no day 1998-02-30')
})

test('a Date is given only where it means the same', () => {
  const at = (calendar: Calendar, year: number, month: number, day: number): unknown =>
    toDateOrCFTime(BigInt(daysFromDate(calendar, year, month, day)) * DAY, calendar)
  expect(at('standard', 1582, 10, 15)).toEqual(new Date('1582-10-15'))
  expect(at('standard', 1582, 10, 4)).toEqual(new CFTime({ year: 1582, month: 10, day: 4 }, 'standard'))
  expect(at('proleptic_gregorian', 1582, 10, 4)).toEqual(new Date('1582-10-04'))
  for (const calendar of ['noleap', 'all_leap', '360_day', 'julian'] as const)
    expect(at(calendar, 2000, 1, 1)).toBeInstanceOf(CFTime)
  expect(at('proleptic_gregorian', 275760, 9, 13)).toEqual(new Date(8.64e15))
  expect(at('proleptic_gregorian', 275760, 9, 14)).toBeInstanceOf(CFTime)
  expect(at('proleptic_gregorian', -271821, 4, 19)).toBeInstanceOf(CFTime)
  expect(toDateOrCFTime(-1n, 'standard')).toEqual(new Date(-1))
  expect(toDateOrCFTime(NAT, 'standard')).toBeUndefined()
})
