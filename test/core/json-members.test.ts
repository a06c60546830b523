import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseJson } from '../../src/core/json.ts'
import { JsonMembers } from '../../src/core/json-members.ts'
import { runs } from '../support/budget.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const read = (text: string, most = 1000, inner?: string) => JsonMembers.read(encode(text), 'it', { most, inner })

test('members are those that the parser finds, whatever is written between them', async () => {
  const spaced = fc.tuple(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(undefined, 1, '\t'))
  await fc.assert(
    fc.asyncProperty(spaced, async ([object, indent]) => {
      const text = JSON.stringify(object, undefined, indent)
      const expected = parseJson(text, 'it') as Record<string, unknown>
      const members = await read(text)
      expect([...members.names].sort()).toEqual(Object.keys(expected).sort())
      for (const name of members.names) expect(members.get(name)).toEqual(expected[name])
    }),
    { numRuns: runs(500) },
  )
})

test('a name that comes twice counts as it comes last, and `__proto__` is a name', async () => {
  const members = await read('\ufeff {"a":1,"__proto__":{"b":[2]},"\\u0061":{"c":"}"}}', 10, 'a')
  expect([...members.names]).toEqual(['a', '__proto__'])
  expect(members.get('__proto__')).toEqual({ b: [2] })
  expect(members.inner('a')!.get('c')).toBe('}')
  expect((await read('{"a":{"c":1},"a":2}', 10, 'a')).inner('a')).toBeUndefined()
})

test.each([
  ['[]', /must be an object/],
  ['', /ends early/],
  ['{', /ends early/],
  ['{"a"', /ends early/],
  ['{"a":1', /ends early/],
  ['{"a":1,}', /unexpected "}"/],
  ['{"a":1 2}', /unexpected "2"/],
  ['{"a" 1}', /unexpected "1"/],
  ['{"a":"x', /does not end/],
  ['{"a":[1', /ends early/],
  ['{"a":1}x', /unexpected "x" at 7/],
  ['{a:1}', /unexpected "a"/],
  [`{"a":${'['.repeat(1e6)}`, /nests deeper than 200/],
  [`{"a":${'1'.repeat(1e4)}}`, /unexpected/],
])('%s is refused', async (text, reason) => {
  await expect(read(text)).rejects.toThrow(reason)
})

test('no more members are read than are asked for, and no values that are too large', async () => {
  await expect(read('{"a":1,"b":2,"c":3}', 2)).rejects.toThrow('it has more than 2 members')
  await expect(read(`{"a":[${'1,'.repeat(9e6)}1]}`)).rejects.toThrow('it has a list or object of more than 16777216 bytes')
  expect((await read(`{"a":"${'x'.repeat(2e7)}"}`)).get('a')).toHaveLength(2e7)
  const members = await read('{"a":[1,,2],"b":1}')
  expect(members.get('b')).toBe(1)
  expect(() => members.get('a')).toThrow("it, 'a' is not JSON")
})

test('other work runs while names are read', async () => {
  const text = `{${Array.from({ length: 1e5 }, (_, i) => `"k${i}":[${i}]`).join()}}`
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  await read(text, 1e6)
  clearInterval(timer)
  expect(turns).toBeGreaterThan(3)
})
