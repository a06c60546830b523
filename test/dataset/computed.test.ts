import { expect, test } from 'vitest'
import { tensorOf } from '../../src/core/tensor.ts'
import { computedOnce } from '../../src/dataset/computed.ts'

test('what several read is computed once, also when the first of them gives up', async () => {
  let count = 0
  let finish: () => void = () => undefined
  const array = computedOnce([], 'float64', [2], async () => {
    count++
    await new Promise<void>((resolve) => {
      finish = resolve
    })
    return tensorOf('float64', [2], Float64Array.of(1, 2))
  })
  const first = new AbortController()
  const given = array.get(null, { signal: first.signal })
  const other = array.get()
  first.abort(new Error('given up'))
  await expect(given).rejects.toThrow('given up')
  finish()
  expect((await other).data).toEqual(Float64Array.of(1, 2))
  expect(await array.get([1])).toBe(2)
  expect(count).toBe(1)
})

test('what has failed is computed anew', async () => {
  let count = 0
  const array = computedOnce([], 'float64', [], async () => {
    if (++count === 1) throw new Error('once')
    return tensorOf('float64', [], Float64Array.of(3))
  })
  await expect(array.get([])).rejects.toThrow('once')
  expect(await array.get([])).toBe(3)
})
