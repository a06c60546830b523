import { afterAll, describe, expect, test } from 'vitest'
import {
  countedYear,
  dateFromDays,
  daysFromDate,
  daysInMonth,
  hasYearZero,
  parseCalendar,
  yearCounted,
} from '../../../src/dataset/time/calendar.ts'
import { startTimes } from '../../support/times.ts'
import { CALENDARS, integer, seeded } from './arbitraries.ts'

const peer = startTimes()
afterAll(() => peer?.close())

describe.each(CALENDARS)('%s', (calendar) => {
  test.skipIf(peer === undefined)('days are those of cftime, from the year -9999 to 9999', async () => {
    const random = seeded(1)
    const days = Array.from({ length: 3000 }, () => integer(random, -4_300_000, 2_900_000))
    // Around the beginning of eras, centuries, leap years and the Gregorian reform.
    for (const [year, month, day] of [
      [-4, 2, 27],
      [-1, 12, 30],
      [1, 1, 1],
      [1500, 2, 27],
      [1582, 9, 30],
      [1582, 10, 15],
      [1899, 12, 30],
      [2000, 2, 27],
    ] as const) {
      const first = daysFromDate(calendar, year, month, day)
      for (let i = -4; i < 20; i++) days.push(first + i)
    }
    const expected = await peer!.decode(days, 'days since 1970-01-01', calendar, 'i8')
    const dates = days.map((day) => dateFromDays(calendar, day))
    expect(dates.map(({ year, month, day, dayOfYear }) => [year, month, day, dayOfYear])).toEqual(
      expected.map((fields) => [...fields!.slice(0, 3), fields![7]]),
    )
    expect(dates.map(({ year, month, day }) => daysFromDate(calendar, year, month, day))).toEqual(days)
  })

  test.skipIf(peer === undefined)('days that cftime does not have are refused', async () => {
    const random = seeded(2)
    const near = [
      [1582, 10, 4],
      [1582, 10, 5],
      [1582, 10, 14],
      [1582, 10, 15],
      [0, 3, 1],
      [0, 1, 1],
      [-1, 2, 29],
      [-4, 2, 29],
      [1900, 2, 29],
      [1500, 2, 29],
      [2000, 0, 1],
      [2000, 1, 0],
    ]
    const dates = [
      ...near,
      ...Array.from({ length: 3000 }, () => [integer(random, -9999, 9999), integer(random, 0, 13), integer(random, 26, 33)]),
    ]
    const isThere = ([year, month, day]: readonly number[]): boolean => {
      try {
        daysFromDate(calendar, year!, month!, day!)
        return true
      } catch (error) {
        expect(error).toMatchObject({ tag: 'InvalidArgumentError', message: expect.stringContaining(calendar) })
        return false
      }
    }
    expect(dates.map(isThere)).toEqual(await peer!.exists(dates, calendar))
  })

  test('every day comes after the one before, to the ends of what is counted', () => {
    for (const start of [-3_650_000, -142_000, -720_000, -1000, 2_000_000, -100_000_000, 100_000_000]) {
      let before = dateFromDays(calendar, start)
      for (let i = 1; i < 3000; i++) {
        const date = dateFromDays(calendar, start + i)
        const isNext =
          date.year === before.year &&
          date.month === before.month &&
          date.day === before.day + 1 &&
          date.dayOfYear === before.dayOfYear + 1
        const months = [before, date].map(({ year, month }) => countedYear(calendar, year) * 12 + month)
        const isFirst =
          date.day === 1 && months[1] === months[0]! + 1 && before.day === daysInMonth(calendar, before.year, before.month)
        const isReform = calendar === 'standard' && date.year === 1582 && date.month === 10 && date.day === 15 && before.day === 4
        if (!(isNext || isFirst || isReform)) expect.fail(`${JSON.stringify(before)} before ${JSON.stringify(date)}`)
        before = date
      }
    }
    expect(dateFromDays(calendar, 0)).toMatchObject({ year: 1970, month: 1, day: 1, dayOfYear: 1 })
  })

  test('years are counted on across the beginning of the era', () => {
    for (const year of [-9999, -2, -1, 1, 2, 9999]) expect(yearCounted(calendar, countedYear(calendar, year))).toBe(year)
    expect(countedYear(calendar, 1) - countedYear(calendar, -1)).toBe(hasYearZero(calendar) ? 2 : 1)
  })
})

test('what is no integer, and years that nobody counts, are refused', () => {
  const refused = { tag: 'InvalidArgumentError' }
  for (const date of [
    [1.5, 1, 1],
    [1998, 1.5, 1],
    [1998, 1, 1.5],
    [Number.NaN, 1, 1],
    [300_000, 1, 1],
    [-300_000, 1, 1],
  ] as [number, number, number][])
    expect(() => daysFromDate('noleap', ...date)).toThrow(expect.objectContaining(refused))
  for (const days of [0.5, Number.NaN, 2e8, -2e8])
    expect(() => dateFromDays('noleap', days)).toThrow(expect.objectContaining(refused))
})

test('calendars are known by all names of CF, in any case', () => {
  expect(
    [
      undefined,
      'Gregorian',
      ' STANDARD ',
      '365_day',
      'NoLeap',
      '366_day',
      'all_leap',
      '360_DAY',
      'julian',
      'proleptic_gregorian',
    ].map((name) => parseCalendar(name)),
  ).toEqual([
    'standard',
    'standard',
    'standard',
    'noleap',
    'noleap',
    'all_leap',
    'all_leap',
    '360_day',
    'julian',
    'proleptic_gregorian',
  ])
})

test('an empty calendar is the standard one', () => {
  for (const name of ['', ' ', undefined]) expect(parseCalendar(name)).toBe('standard')
})

test('calendars without dates, and others, are refused by name', () => {
  for (const name of ['none', 'tai', 'lunar', 'toString', 365, null])
    expect(() => parseCalendar(name, { array: 'time' })).toThrow(
      expect.objectContaining({
        tag: 'UnsupportedError',
        details: expect.objectContaining({ array: 'time', actual: name }),
        message: expect.stringContaining(`calendar ${JSON.stringify(name)}`),
      }),
    )
})
