import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import ts from 'typescript'
import { expect, test } from 'vitest'
import type { HyperslabError } from '../../src/core/errors.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { parseJson, writeJson } from '../../src/core/json.ts'
import { runs } from '../support/budget.ts'

/** A long integer beside a text lets the exact parser read it. */
const exactly = (text: string): string => `[${text},12345678901234567890]`

/** Long integers as JSON.parse has them. */
function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, rounded(part)]))
}

/** Returns the value that was read, or `refused`. */
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

test('values are counted before any of them is allocated', () => {
  const bounded = (text: string): string => {
    try {
      parseJson(text, 'it', { maxBytes: 2 ** 16 })
      return 'parsed'
    } catch (error) {
      return (error as HyperslabError).tag
    }
  }
  const most = 2 ** 13 + 1024
  for (const value of ['{}', '[]', '0', '""', '{"9":0}', '[[[]]]'])
    for (const wrap of [(text: string) => text, exactly]) {
      const text = wrap(`[${`${value},`.repeat(2 ** 15 / value.length)}0]`)
      if (text.split(/[[{,]/).length > most) expect(bounded(text)).toBe('TooLargeError')
    }
  expect(() => parseJson(`[${'0,'.repeat(most)}0]`, 'it', { maxBytes: 2 ** 16, limit: 'limits.metadataBytes' })).toThrow(
    `it has more than ${most} values, which documents of up to 65536 bytes may have`,
  )
  expect(bounded(`[${'0,'.repeat(most - 3)}0]`)).toBe('parsed')
  // Signs within texts are none.
  expect(bounded(`["${'[{,'.repeat(2 ** 13)}\\"${',['.repeat(2 ** 10)}"]`)).toBe('parsed')
  expect(() => parseJson(' '.repeat(2 ** 16 + 1), 'it', { maxBytes: 2 ** 16 })).toThrow(
    'it has 65537 bytes; up to 65536 are read',
  )
})

/** The parser, and the command for JSON that it wrote itself. */
const PARSERS = [join('core', 'json.ts'), join('cli', 'show', 'text.ts')]

test('nothing but this parser calls JSON.parse', () => {
  const root = new URL('../../src/', import.meta.url).pathname
  const calls = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => {
    if (!file.endsWith('.ts') || file.endsWith('.generated.ts') || PARSERS.includes(file)) return false
    const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true)
    // `JSON` by any way but `JSON.stringify`: a method that is taken out of it is a call, too.
    const parses = (node: ts.Node): boolean =>
      (ts.isIdentifier(node) && node.text === 'JSON' && node.parent.getText() !== 'JSON.stringify') ||
      (ts.isPropertyAccessExpression(node) && node.name.text === 'json' && ts.isCallExpression(node.parent)) ||
      ts.forEachChild(node, parses) === true
    return parses(source)
  })
  expect(calls).toEqual([])
})
