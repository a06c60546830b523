import { expect, test } from 'vitest'
import { batched } from '../../src/core/batched.ts'

const batches = (sizes: number[], maxBytes: number) => [...batched(sizes, maxBytes, (size) => size)]

test('as many at once as fit, in their order', () => {
  expect(batches([], 10)).toEqual([])
  expect(batches([4, 6, 1, 9, 5, 6], 10)).toEqual([[4, 6], [1, 9], [5], [6]])
})

test('what is larger comes alone, but for items of nothing', () => {
  expect(batches([1, 11, 1, 0, 12, 0, 0], 10)).toEqual([[1], [11], [1, 0], [12], [0, 0]])
  expect(batches([Infinity, Infinity, Infinity], 10)).toEqual([[Infinity], [Infinity], [Infinity]])
})
