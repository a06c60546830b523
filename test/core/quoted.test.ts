import { expect, test } from 'vitest'
import { quoted } from '../../src/core/quoted.ts'
import { DiskArray } from '../../src/runtime/index.ts'

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

test('odd axes, paddings and tensors are refused', async () => {
  const array = new DiskArray({ dtype: 'int8', shape: [4], chunks: [2], readBlock: (_, out) => void out.data.fill(1) })
  const odd = [null, undefined, 5n, Symbol('x'), Object.create(null), {}, [], Number.NaN, -0.5]
  for (const each of odd.slice(2)) expect(() => array.flip([each] as never), String(typeof each)).toThrow(/there is no axis/)
  for (const each of odd.slice(0, 6)) expect(() => array.pad(each as never)).toThrow(/paddings are a number/)
  for (const each of odd.slice(0, 6)) expect(() => array.reshape(each as never)).toThrow(/list of numbers|non-negative integers/)
  await expect(array.get({ data: 1, shape: 2 } as never)).rejects.toMatchObject({ tag: 'InvalidSelectionError' })
})
