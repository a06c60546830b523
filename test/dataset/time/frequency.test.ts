import { afterAll, describe, expect, test } from 'vitest'
import type { Calendar } from '../../../src/dataset/time/calendar.ts'
import { parseFrequency, resampleBins } from '../../../src/dataset/time/frequency.ts'
import { NAT, parseDuration, showInstant, timeFields, toInstant } from '../../../src/dataset/time/instant.ts'
import { parseTimeLabel } from '../../../src/dataset/time/labels.ts'
import { decodeTimes, parseTimeUnits } from '../../../src/dataset/time/units.ts'
import { startTimes } from '../../support/times.ts'
import { CALENDARS, integer, seeded } from './arbitraries.ts'

const peer = startTimes()
afterAll(() => peer?.close())

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']

/** A frequency, and about how many hours one bin has. */
function someFrequency(random: () => number): [string, number] {
  const pick = <T>(list: readonly T[]): T => list[integer(random, 0, list.length - 1)]!
  const count = random() < 0.4 ? 1 : integer(random, 2, 7)
  const anchor = random() < 0.5 ? '' : `-${pick(MONTHS)}`
  const [name, hours] = pick<[string, number]>([
    ['MS', 730],
    ['ME', 730],
    [`QS${anchor}`, 2191],
    [`QE${anchor}`, 2191],
    [`YS${anchor}`, 8766],
    [`YE${anchor}`, 8766],
    ['D', 24],
    ['h', 1],
    ['min', 1 / 60],
    ['s', 1 / 3600],
  ])
  return [`${count === 1 ? '' : count}${name}`, hours * count]
}

describe.each(CALENDARS)('%s', (calendar) => {
  // In `standard` and `proleptic_gregorian` xarray does it by pandas, in the others by its own code.
  test.skipIf(peer === undefined)('bins are those of xarray, named as there, empty ones, too', async () => {
    const random = seeded(8)
    const types = new Set<string>()
    for (let i = 0; i < 80; i++) {
      const [frequency, hours] = someFrequency(random)
      const date = [integer(random, 1700, 2200), integer(random, 1, 12), integer(random, 1, 28)].join('-')
      const units = `minutes since ${date} ${integer(random, 0, 3) * 6}:00`
      const span = Math.ceil(hours * 60 * integer(random, 1, 12))
      // Gaps of several bins, several times in one, and midnights, where bins begin and end.
      const step = random() < 0.5 ? 1 : 360
      const values = Array.from(
        { length: integer(random, 1, 20) },
        () => Math.floor(integer(random, 0, span) / step) * step,
      ).sort((a, b) => a - b)
      const unique = [...new Set(values)]
      const expected = await peer!.resample(unique, units, calendar, frequency)
      types.add(expected.type)
      const { labels, bins } = resampleBins(
        decodeTimes(unique, parseTimeUnits(units, calendar)!),
        parseFrequency(frequency),
        calendar,
      )
      const context = `${frequency} of ${unique} ${units}`
      const counts = new Array(labels.length).fill(0)
      for (const bin of bins) counts[bin]++
      expect({ labels: Array.from(labels, (label) => parts(label, calendar)), counts }, context).toEqual({
        labels: expected.labels,
        counts: expected.counts,
      })
      expect(Array.from(bins), context).toEqual(Array.from(bins).sort((a, b) => a - b))
    }
    expect([...types]).toEqual([calendar === 'standard' || calendar === 'proleptic_gregorian' ? 'DatetimeIndex' : 'CFTimeIndex'])
  })
})

describe.each(CALENDARS)('edges of %s', (calendar) => {
  test.skipIf(peer === undefined)('bins with a closed side, a labelled side and an offset are those of xarray', async () => {
    const random = seeded(9)
    const pick = <T>(list: readonly T[]): T => list[integer(random, 0, list.length - 1)]!
    for (let i = 0; i < 80; i++) {
      const isWeekly = random() < 0.3 && (calendar === 'standard' || calendar === 'proleptic_gregorian')
      const weeks = pick(['W', 'W-WED', '2W', '3W-SAT'])
      const [frequency, hours] = isWeekly ? ([weeks, 168 * 2] as [string, number]) : someFrequency(random)
      const isStep = /^\d*(D|h|min|s)$/.test(frequency)
      const offset = isStep && random() < 0.5 ? pick(['1h', '-30min', '6h', '7s']) : undefined
      const options = {
        ...(random() < 0.8 && { closed: pick(['left', 'right'] as const) }),
        ...(random() < 0.8 && { label: pick(['left', 'right'] as const) }),
      }
      const date = [integer(random, 1700, 2200), integer(random, 1, 12), integer(random, 1, 28)].join('-')
      const units = `minutes since ${date} ${integer(random, 0, 3) * 6}:00`
      const step = random() < 0.5 ? 1 : 360
      const values = [
        ...new Set(
          Array.from({ length: integer(random, 1, 20) }, () => Math.floor(integer(random, 0, hours * 300) / step) * step),
        ),
      ].sort((a, b) => a - b)
      const given = { ...options, ...(offset && { offset }) }
      const expected = await peer!.resample(values, units, calendar, frequency, given)
      const { labels, bins } = resampleBins(
        decodeTimes(values, parseTimeUnits(units, calendar)!),
        parseFrequency(frequency),
        calendar,
        { ...options, offset: offset === undefined ? undefined : nanoseconds(offset) },
      )
      const counts = new Array(labels.length).fill(0)
      for (const bin of bins) counts[bin]++
      // pandas adds an empty bin before or after some edges.
      const first = expected.counts.findIndex((count) => count > 0)
      const last = expected.counts.findLastIndex((count) => count > 0) + 1
      expect(
        { labels: Array.from(labels, (label) => parts(label, calendar)), counts },
        `${frequency} ${JSON.stringify(given)} of ${values} ${units}`,
      ).toEqual({ labels: expected.labels.slice(first, last), counts: expected.counts.slice(first, last) })
    }
  })
})

const nanoseconds = (text: string): bigint => (text.startsWith('-') ? -parseDuration(text.slice(1))! : parseDuration(text)!)

function parts(instant: bigint, calendar: Calendar): number[] {
  const { year, month, day, hour, minute, second, nanosecond } = timeFields(instant, calendar)
  return [year, month, day, hour, minute, second, nanosecond / 1000]
}

/** The name of the bin of each time. */
function binned(frequency: string, calendar: Calendar, ...times: string[]): string[] {
  const { labels, bins } = resampleBins(
    times.map((time) => parseTimeLabel(time, calendar).start),
    parseFrequency(frequency),
    calendar,
  )
  return Array.from(bins, (bin) => showInstant(labels[bin]!, calendar, { midnight: false }))
}

test('the last moment of a month belongs to it', () => {
  const times = ['1999-12-31T23:59:59.999999999', '2000-01-01', '2000-02-29T23:59:59.999999999', '2000-03-01']
  expect(binned('ME', 'standard', ...times)).toEqual(['1999-12-31', '2000-01-31', '2000-02-29', '2000-03-31'])
  expect(binned('MS', 'standard', ...times)).toEqual(['1999-12-01', '2000-01-01', '2000-02-01', '2000-03-01'])
  expect(binned('ME', '360_day', '1999-12-30T12', '2000-02-30')).toEqual(['1999-12-30', '2000-02-30'])
})

test('parts of a second are counted from midnight', () => {
  expect(binned('250ms', 'julian', '1998-01-16T12:00:00.3', '1998-01-16T12:00:00.999')).toEqual([
    '1998-01-16T12:00:00.25',
    '1998-01-16T12:00:00.75',
  ])
  expect(binned('7us', 'julian', '1998-01-16T00:00:00.000015', '1998-01-16T00:00:00.000020999')).toEqual([
    '1998-01-16T00:00:00.000014',
    '1998-01-16T00:00:00.000014',
  ])
  expect(binned('2ns', 'julian', '1998-01-16T00:00:00.000000003')).toEqual(['1998-01-16T00:00:00.000000002'])
})

test('times need no order, and go across the beginning of the era', () => {
  expect(binned('YS', 'julian', '0001-06-01', '-000001-06-01')).toEqual(['0001-01-01', '-000001-01-01'])
  expect(binned('QS-DEC', 'noleap', '0000-02-01', '-000001-12-01', '0000-03-01')).toEqual([
    '-000001-12-01',
    '-000001-12-01',
    '0000-03-01',
  ])
  expect(binned('2YE', 'noleap', '0001-06-01', '0000-06-01', '-000001-06-01')).toEqual([
    '0001-12-31',
    '0001-12-31',
    '-000001-12-31',
  ])
})

test('where there is no time there is no bin', () => {
  const { labels, bins } = resampleBins([NAT, 5n, NAT], parseFrequency('us'), 'standard')
  expect([Array.from(labels), Array.from(bins)]).toEqual([[0n], [-1, 0, -1]])
  expect(resampleBins([NAT], parseFrequency('MS'), 'standard')).toEqual({ labels: new BigInt64Array(0), bins: Int32Array.of(-1) })
  expect(resampleBins([], parseFrequency('D'), 'standard')).toEqual({ labels: new BigInt64Array(0), bins: new Int32Array(0) })
})

test('more bins than anybody wants are refused before they are made', () => {
  const instants = ['1000-01-01', '2000-01-01'].map((date) => parseTimeLabel(date, 'noleap').start)
  expect(() => resampleBins(instants, parseFrequency('s'), 'noleap')).toThrow(
    expect.objectContaining({ tag: 'TooLargeError', message: expect.stringContaining("'s' makes 31536000001 bins") }),
  )
})

test('labels that 64 bits do not hold are bigints', () => {
  const { labels } = resampleBins([toInstant({ year: 1 }, 'noleap')], parseFrequency('MS'), 'noleap')
  expect(labels).toEqual([toInstant({ year: 1 }, 'noleap')])
})

test('older names of pandas are refused with those of today', () => {
  for (const [old, now] of Object.entries({
    M: 'ME',
    '2M': '2ME',
    'Q-NOV': 'QE-NOV',
    'A-JUN': 'YE-JUN',
    Y: 'YE',
    AS: 'YS',
    'AS-JUL': 'YS-JUL',
    H: 'h',
    '6H': '6h',
    T: 'min',
    S: 's',
    L: 'ms',
    U: 'us',
    N: 'ns',
    '7d': '7D',
  }))
    expect(() => parseFrequency(old)).toThrow(
      expect.objectContaining({ tag: 'InvalidArgumentError', message: `frequency "${old}" is unknown: write '${now}'` }),
    )
})

test('what is no frequency is refused with those there are', () => {
  for (const wrong of [
    '',
    'WE',
    'W-JAN',
    'B',
    'BME',
    'SMS',
    '0MS',
    '0D',
    '-1D',
    '1.5h',
    'MS-JAN',
    'QS-dec',
    'QS-FOO',
    'D-JAN',
    'YSE',
    'toString',
    'day',
    '3',
    ' D',
    '9999999999D',
  ])
    expect(() => parseFrequency(wrong), wrong).toThrow(
      expect.objectContaining({ tag: 'InvalidArgumentError', message: expect.stringContaining('it is none of MS, ME, QS') }),
    )
})
