import { expect, test } from 'vitest'
import { quoted } from '../../src/core/quoted.ts'

test('any value has a text in messages', () => {
  const loop: unknown[] = []
  loop.push(loop)
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const values = [
    'a"',
    5n,
    -0,
    Number.NaN,
    Symbol('x'),
    undefined,
    null,
    { a: 2n ** 60n },
    [1n],
    loop,
    proxy,
    Object.create(null),
  ]
  expect(values.map(quoted)).toEqual([
    ...['"a\\""', '5n', '0', 'NaN', 'Symbol(x)', 'undefined', 'null'],
    ...[`{"a":"${2n ** 60n}n"}`, '["1n"]', 'an object', 'an object', '{}'],
  ])
  expect(quoted(new Array(1000).fill(1))).toHaveLength(101)
})
