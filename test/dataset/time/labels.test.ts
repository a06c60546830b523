import { afterAll, describe, expect, test } from 'vitest'
import type { Calendar } from '../../../src/dataset/time/calendar.ts'
import { CFTime, NAT, showInstant, toInstant } from '../../../src/dataset/time/instant.ts'
import { parseTimeLabel, type TimeLabel } from '../../../src/dataset/time/labels.ts'
import { startTimes } from '../../support/times.ts'
import { CALENDARS, integer, seeded } from './arbitraries.ts'

const peer = startTimes()
afterAll(() => peer?.close())

const two = (value: number): string => String(value).padStart(2, '0')

/** Both ends, as they are shown, without midnights. */
function span(label: TimeLabel, calendar: Calendar = 'standard'): string {
  const { start, stop, exact } = parseTimeLabel(label, calendar)
  const [from, to] = [start, stop].map((instant) => showInstant(instant, calendar, { midnight: false }))
  return `${from} ${to}${exact ? ' exact' : ''}`
}

const refused = (...texts: string[]): unknown =>
  expect.objectContaining({ tag: 'InvalidArgumentError', message: expect.stringMatching(texts.join('.*')) })

describe.each(CALENDARS)('%s', (calendar) => {
  test.skipIf(peer === undefined)('partial dates mean what they mean in xarray', async () => {
    const random = seeded(6)
    const texts = [
      '1582-10',
      '1582-10-04',
      '1582-10-10',
      '1582',
      '1999-02-29',
      '2000-02-29',
      '1998-02-30',
      '1998-13',
      '1998-00',
      '1998-01-16T24',
      '1998-01-16T23:60',
    ]
    for (let i = 0; i < 500; i++) {
      const parts = [
        `-${two(integer(random, 1, 12))}`,
        `-${two(integer(random, 1, 31))}`,
        `T${two(integer(random, 0, 23))}`,
        `:${two(integer(random, 0, 59))}`,
        `:${two(integer(random, 0, 59))}`,
      ]
      texts.push(String(integer(random, 1, 9998)).padStart(4, '0') + parts.slice(0, integer(random, 0, 5)).join(''))
    }
    const instant = ([year, month, day, hour, minute, second, micros]: number[]): bigint =>
      toInstant(
        { year: year!, month: month!, day: day!, hour: hour!, minute: minute!, second: second!, nanosecond: micros! * 1000 },
        calendar,
      )
    for (const [i, expected] of (await peer!.spans(texts, calendar)).entries()) {
      const text = texts[i]!
      if (expected === null)
        expect(() => parseTimeLabel(text, calendar), text).toThrow(refused('has no day|no day has|is not a time'))
      else
        expect(parseTimeLabel(text, calendar), text).toEqual({
          start: instant(expected[0]),
          stop: instant(expected[1]) + 1000n,
          exact: text.length === 19,
        })
    }
  })
})

test('whole dates with decimals are times of that precision', () => {
  expect(span('1998-01-16T12:00:30')).toBe('1998-01-16T12:00:30 1998-01-16T12:00:31 exact')
  expect(span('1998-01-16 12:00:30.25')).toBe('1998-01-16T12:00:30.25 1998-01-16T12:00:30.26 exact')
  expect(span(' 1998-01-16T12:00:30,123456789 ')).toBe('1998-01-16T12:00:30.123456789 1998-01-16T12:00:30.12345679 exact')
})

test('zones are converted to UTC', () => {
  expect(span('1998-01-16T12Z')).toBe('1998-01-16T12:00 1998-01-16T13:00')
  expect(span('1998-01-16T12:30+05:30')).toBe('1998-01-16T07:00 1998-01-16T07:01')
  expect(span('1998-01-16t00:00:00-0130', '360_day')).toBe('1998-01-16T01:30 1998-01-16T01:30:01 exact')
})

test('years of any sign are those of the calendar', () => {
  expect(span('-000001', 'julian')).toBe('-000001-01-01 0001-01-01')
  expect(span('-000001', 'noleap')).toBe('-000001-01-01 0000-01-01')
  expect(span('0000-12', 'noleap')).toBe('0000-12-01 0001-01-01')
  expect(span('+012000-12-30', '360_day')).toBe('+012000-12-30 +012001-01-01')
  expect(() => span('0000', 'standard')).toThrow(refused('standard', '0000'))
})

test('what shows itself reads itself', () => {
  const random = seeded(7)
  for (let i = 0; i < 500; i++) {
    const calendar = CALENDARS[i % CALENDARS.length]!
    const time = new CFTime(
      BigInt(integer(random, -4e6, 4e6)) * 86_400_000_000_000n + BigInt(integer(random, 1, 8.6e13)),
      calendar,
    )
    expect(parseTimeLabel(String(time), calendar).start).toBe(time.instant)
  }
})

test('dates and instants of the real world are theirs after the Gregorian reform', () => {
  const noon = new Date('1998-01-16T12:00Z')
  expect(span(noon)).toBe('1998-01-16T12:00 1998-01-16T12:00:00.001 exact')
  expect(span(noon, 'proleptic_gregorian')).toBe('1998-01-16T12:00 1998-01-16T12:00:00.001 exact')
  expect(span({ epochNanoseconds: 1n }, 'standard')).toBe('1970-01-01T00:00:00.000000001 1970-01-01T00:00:00.000000002 exact')
  expect(span(new Date('1500-01-01'), 'proleptic_gregorian')).toBe('1500-01-01 1500-01-01T00:00:00.001 exact')
})

test('dates are the same days in calendars that only models have', () => {
  for (const calendar of ['noleap', 'all_leap', '360_day'] as const)
    expect(span(new Date('1998-01-16'), calendar)).toBe('1998-01-16 1998-01-16T00:00:00.001 exact')
  expect(() => span(new Date('2000-02-29'), 'noleap')).toThrow(refused('noleap', '2000-02-29'))
  expect(() => span(new Date('2000-01-31'), '360_day')).toThrow(refused('360_day', '2000-01-31'))
})

test('dates that may mean two days are refused', () => {
  expect(() => span(new Date('1998-01-16'), 'julian')).toThrow(refused('julian', 'CFTime'))
  expect(() => span(new Date('1582-10-14'), 'standard')).toThrow(refused('standard', 'CFTime'))
})

test('times of a calendar are theirs, and none of another', () => {
  const time = new CFTime({ year: 1998, month: 2, day: 30 }, '360_day')
  expect(span(time, '360_day')).toBe('1998-02-30 1998-02-30T00:00:00.000000001 exact')
  expect(() => span(time, 'noleap')).toThrow(refused('1998-02-30T00:00', '360_day', 'noleap'))
  expect(span(-1n, 'noleap')).toBe('1969-12-31T23:59:59.999999999 1970-01-01 exact')
})

test('what is no time is refused, with what is one', () => {
  for (const wrong of [1998, null, undefined, {}, true, Symbol('now')])
    expect(() => parseTimeLabel(wrong as never, 'standard')).toThrow(refused('is not a time: give', 'bigint'))
  for (const text of [
    '',
    'now',
    '98',
    '1998-1',
    '199801',
    '1998-01-16T',
    '1998-01-16T12:00:00.1234567890',
    '1998-01Z',
    '1998-01-16T00:00+24:00',
    '01-16-1998',
    '1998-01-16T1:00',
  ])
    expect(() => parseTimeLabel(text, 'standard'), text).toThrow(
      refused(JSON.stringify(text).replaceAll('+', '\\+'), "give '1998'"),
    )
  expect(() => parseTimeLabel(new Date(Number.NaN), 'standard')).toThrow(refused('invalid Date'))
  expect(() => parseTimeLabel(NAT, 'standard')).toThrow(refused('NaT'))
})
