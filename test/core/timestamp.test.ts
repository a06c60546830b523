import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toDate, toISO, toTimestamp } from '../../src/core/timestamp.ts'

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n
const timestamps = fc.oneof(
  fc.bigInt(MIN, MAX),
  fc.bigInt(-(10n ** 12n), 10n ** 12n),
  fc.bigInt(-9223372036854n, 9223372036854n).map((ms) => ms * 1_000_000n),
)

describe('timestamps', () => {
  test('survive being written in ISO 8601, to the nanosecond', () => {
    fc.assert(
      fc.property(timestamps, (timestamp) => {
        expect(toTimestamp(toISO(timestamp))).toBe(timestamp)
      }),
    )
  })

  test('agree with Date to the millisecond', () => {
    fc.assert(
      fc.property(timestamps, (timestamp) => {
        const date = toDate(timestamp)
        const rest = timestamp - BigInt(date.getTime()) * 1_000_000n
        expect(rest >= 0n && rest < 1_000_000n).toBe(true)
        expect(toISO(timestamp).slice(0, 19)).toBe(date.toISOString().slice(0, 19))
        if (rest === 0n) expect(toTimestamp(date)).toBe(timestamp)
      }),
    )
    fc.assert(
      fc.property(fc.date({ min: new Date(-9e12), max: new Date(9e12), noInvalidDate: true }), (date) => {
        expect(toTimestamp(date)).toBe(BigInt(date.getTime()) * 1_000_000n)
        expect(toTimestamp(date.toISOString())).toBe(toTimestamp(date))
        expect(toDate(toTimestamp(date))).toEqual(date)
      }),
    )
  })

  test.each<[string, bigint]>([
    ['1970-01-01', 0n],
    ['1970-01-01T00:00Z', 0n],
    ['1970-01-01T00:00:00.000000001Z', 1n],
    ['1969-12-31T23:59:59.999999999Z', -1n],
    ['1970-01-01T01:00:00,5+01:00', 500_000_000n],
    ['1969-12-31T18:30:00-0530', 0n],
    ['2024-02-29 12:00:00z', 1_709_208_000_000_000_000n],
    ['+002024-02-29T12:00Z', 1_709_208_000_000_000_000n],
    ['2262-04-11T23:47:16.854775807Z', MAX],
    ['1677-09-21T00:12:43.145224192Z', MIN],
  ])('%s', (text, timestamp) => expect(toTimestamp(text)).toBe(timestamp))

  test.each<[bigint, string]>([
    [0n, '1970-01-01T00:00:00Z'],
    [-1n, '1969-12-31T23:59:59.999999999Z'],
    [1_500_000_000n, '1970-01-01T00:00:01.500Z'],
    [1_000n, '1970-01-01T00:00:00.000001Z'],
    [MAX, '2262-04-11T23:47:16.854775807Z'],
    [MIN, '1677-09-21T00:12:43.145224192Z'],
  ])('%s is %s', (timestamp, text) => expect(toISO(timestamp)).toBe(text))

  test('take what has nanoseconds of its own', () => expect(toTimestamp({ epochNanoseconds: 5n })).toBe(5n))

  test.each<[string, unknown, RegExp]>([
    ['a local time', '2024-01-01T00:00', /offset/],
    ['a word', 'yesterday', /"yesterday" is not an ISO 8601/],
    ['a day there is not', '2023-02-29', /not a time there is/],
    ['a month there is not', '2023-13-01', /not a time there is/],
    ['an hour there is not', '2023-01-01T24:00Z', /not a time there is/],
    ['a leap second', '2016-12-31T23:59:60Z', /not a time there is/],
    ['an offset there is not', '2023-01-01T00:00+24:00', /offset/],
    ['smaller parts', '2023-01-01T00:00:00.0000000001Z', /10 decimals/],
    ['one nanosecond too late', '2262-04-11T23:47:16.854775808Z', /2262-04-11T23:47:16.854775807Z/],
    ['one nanosecond too early', '1677-09-21T00:12:43.145224191Z', /1677-09-21T00:12:43.145224192Z/],
    ['a date too late', new Date(8.64e15), /64 bits/],
    ['an invalid date', new Date(Number.NaN), /not a time/],
    ['a number', 5, /not a time/],
  ])('refuse %s', (_, time, words) => {
    expect(() => toTimestamp(time as string)).toThrow(words)
    expect(() => toTimestamp(time as string)).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
  })

  test.each([[2n ** 63n], [5], [undefined]])('%s is none', (timestamp) => {
    for (const show of [toISO, toDate]) {
      expect(() => show(timestamp as bigint)).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
    }
  })
})
