import { afterAll, describe, expect, test } from 'vitest'
import { NO_COMPONENT, type TimeComponent, timeComponent } from '../../../src/dataset/time/components.ts'
import { NAT } from '../../../src/dataset/time/instant.ts'
import { decodeTimes, parseTimeUnits } from '../../../src/dataset/time/units.ts'
import { startTimes } from '../../support/times.ts'
import { CALENDARS, integer, seeded } from './arbitraries.ts'

const peer = startTimes()
afterAll(() => peer?.close())

const NAMES: readonly TimeComponent[] = [
  'year',
  'quarter',
  'month',
  'day',
  'dayofyear',
  'weekday',
  'dayofweek',
  'days_in_month',
  'daysinmonth',
  'hour',
  'minute',
  'second',
  'microsecond',
  'season',
]

describe.each(CALENDARS)('%s', (calendar) => {
  test.skipIf(peer === undefined)('components are those of xarray', async () => {
    const random = seeded(9)
    const units = 'milliseconds since 1950-01-01'
    const values = Array.from({ length: 300 }, () => integer(random, -(10 ** 12), 9 * 10 ** 12))
    // Several times of one day.
    values.push(...values.slice(0, 20).map((value) => value + 1000))
    const instants = decodeTimes(values, parseTimeUnits(units, calendar)!)
    // xarray asks pandas for quarters, which other calendars do not have there.
    const isPandas = calendar === 'standard' || calendar === 'proleptic_gregorian'
    for (const name of NAMES.filter((each) => isPandas || each !== 'quarter'))
      expect(Array.from<unknown>(timeComponent(instants, calendar, name)), name).toEqual(
        await peer!.components(values, units, calendar, name),
      )
  })
})

test('nanoseconds are those of a microsecond', () => {
  expect(Array.from(timeComponent([1_234_567n, -1n], 'noleap', 'nanosecond'))).toEqual([567, 999])
})

test('where there is no time there is no component', () => {
  expect(Array.from(timeComponent([NAT, 0n], '360_day', 'year'))).toEqual([NO_COMPONENT, 1970])
  expect(timeComponent([NAT, 0n], '360_day', 'season')).toEqual([undefined, 'DJF'])
})

test('components that times do not have are refused with those they have', () => {
  for (const wrong of ['week', 'toString', ''])
    expect(() => timeComponent([0n], 'standard', wrong as 'year')).toThrow(
      expect.objectContaining({
        tag: 'InvalidArgumentError',
        message: expect.stringContaining(`times have no '${wrong}', but year, quarter`),
      }),
    )
})

test('quarters are of three months in any calendar', () => {
  const months = Array.from({ length: 12 }, (_, month) => BigInt(month) * 30n * 86_400_000_000_000n)
  expect(Array.from(timeComponent(months, '360_day', 'quarter'))).toEqual([1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4])
})
