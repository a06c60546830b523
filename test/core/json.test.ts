import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isHyperslabError } from '../../src/core/errors.ts'
import { parseJson, writeJson } from '../../src/core/json.ts'
import { runs } from '../support/runs.ts'

/** A long integer beside a text lets the exact parser read it. */
const exactly = (text: string): string => `[${text},12345678901234567890]`

/** Long integers as JSON.parse has them. */
function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, rounded(part)]))
}

/** What reading gives, or that it is refused. */
function outcome(read: () => unknown): unknown {
  try {
    return { value: rounded(read()) }
  } catch (error) {
    return error instanceof SyntaxError || isHyperslabError(error, 'FormatError') ? 'refused' : error
  }
}

test('JSON is read as the runtime reads it, but for long integers', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(parseJson(exactly(text), 'it')).toHaveProperty('1', 12345678901234567890n)
      expect(outcome(() => parseJson(exactly(text), 'it'))).toEqual({ value: JSON.parse(exactly(text)) })
      expect(outcome(() => parseJson(text, 'it'))).toEqual({ value: JSON.parse(text) })
    }),
  )
})

test('what the runtime refuses is refused', () => {
  const damage = fc.tuple(
    fc.json(),
    fc.nat(),
    fc.constantFrom('', '"', '\\', ',', ':', '[', '}', '0', '-', '.', 'e', 'u', '\n', '\u00a0', 'tru'),
  )
  fc.assert(
    fc.property(damage, ([text, place, piece]) => {
      const at = place % text.length
      const damaged = exactly(text.slice(0, at) + piece + text.slice(at + 1))
      expect(outcome(() => parseJson(damaged, 'it'))).toEqual(outcome(() => JSON.parse(damaged)))
    }),
    { numRuns: runs(1000) },
  )
})

test('integers and words are kept, and written as they are read', () => {
  const text =
    '{"a":[-9223372036854775808,18446744073709551615,9007199254740992,NaN,-Infinity,-0],"__proto__":{"x":1},"b":"ä\\n"}'
  const value = parseJson(text, 'it') as Record<string, unknown>
  expect(value['a']).toEqual([-(2n ** 63n), 2n ** 64n - 1n, 9007199254740992n, Number.NaN, Number.NEGATIVE_INFINITY, -0])
  expect(Object.keys(value)).toEqual(['a', '__proto__', 'b'])
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  expect(writeJson(value)).toBe(text)
})

test('bytes that are no UTF-8, what nests too deep, and endless numbers', () => {
  expect(outcome(() => parseJson(Uint8Array.of(0x22, 0xff, 0x22), 'it'))).toBe('refused')
  expect(outcome(() => parseJson('', 'it'))).toBe('refused')
  expect(outcome(() => parseJson('[[1],2', 'it'))).toBe('refused')
  for (const wrap of [(text: string) => text, exactly]) {
    expect(outcome(() => parseJson(wrap('['.repeat(190) + ']'.repeat(190)), 'it'))).toHaveProperty('value')
    expect(outcome(() => parseJson(wrap('['.repeat(201) + ']'.repeat(201)), 'it'))).toBe('refused')
    expect(outcome(() => parseJson(wrap('['.repeat(1e6)), 'it'))).toBe('refused')
    expect(outcome(() => parseJson(wrap('{"a":'.repeat(1e5) + '1' + '}'.repeat(1e5)), 'it'))).toBe('refused')
  }
  expect(parseJson('9'.repeat(1e6), 'it')).toBe(Number.POSITIVE_INFINITY)
  expect(parseJson(`[${'9'.repeat(41)}]`, 'it')).toEqual([1e41])
})
