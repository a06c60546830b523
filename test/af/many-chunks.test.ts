import { expect, test } from 'vitest'
import { ArrayFile } from '../../src/af/file.ts'
import type { Tensor } from '../../src/core/tensor.ts'
import { slice } from '../../src/grid/slice.ts'
import { MemoryStore } from '../../src/store/memory.ts'

// Files of strangers may claim as many chunks as elements.
test('what would list more chunks than memory holds is refused; other reads of the same array are not', async () => {
  const file = await ArrayFile.create(new MemoryStore(), 'many.af')
  const array = file.createArray('x', { dtype: 'uint8', shape: [2, 2 ** 23], chunks: [1, 1], fillValue: 7 })
  const tagOf = async (work: () => Promise<unknown>): Promise<unknown> =>
    work().then(
      () => 'done',
      (error: { tag?: string }) => error.tag,
    )
  expect(await tagOf(() => array.cache().get([1]))).toBe('TooLargeError')
  expect(await tagOf(async () => array.reshape([2 ** 24]))).toBe('TooLargeError')
  expect(await array.sum({ skipMissing: false })).toBe(7 * 2 ** 24)
  const { shape, data } = (await array.get([[1, 0], slice(null)])) as Tensor<'uint8'>
  expect([shape, data.every((value) => value === 7)]).toEqual([[2, 2 ** 23], true])
  expect(await array.cache().get([1, 2 ** 23 - 1])).toBe(7)
})
