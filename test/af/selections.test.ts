import { expect, test } from 'vitest'
import { ArrayFile } from '../../src/af/file.ts'
import { points } from '../../src/grid/selectors.ts'
import { slice } from '../../src/grid/slice.ts'
import { MemoryStore } from '../../src/store/memory.ts'

test('the boxes of a selection share blocks: each is fetched once, as planned', async () => {
  const store = new MemoryStore()
  const writer = await ArrayFile.create(store, 'a.af', { blockBytes: 4096 })
  const shape = [60, 60]
  const values = Float64Array.from({ length: 3600 }, (_, i) => i)
  await writer.createArray('x', { dtype: 'float64', shape, chunks: [5, 5] }).set(null, values)
  await writer.flush()
  const selections = [
    [
      [0, 59, 31, 31, 7],
      [2, 58],
    ],
    [slice(null, null, 7), [55, 1, 30, 31]],
    [points([[59, 59], [0, 0], [30, 30], [1, 2]])], // biome-ignore format: one line
    [Array.from({ length: 60 }, (_, i) => i % 11 === 0 || i === 1), null],
  ]
  for (const selection of selections) {
    const file = await ArrayFile.open(store, 'a.af', { cacheBytes: 0 })
    const array = file.array('x', 'float64')
    const { requests, transfers } = await array.plan(selection)
    expect(transfers.length).toBeGreaterThan(1)
    const before = file.readCost.blocks
    await array.get(selection)
    expect(file.readCost.blocks - before).toBe(requests)
  }
  const file = await ArrayFile.open(store, 'a.af')
  const points4 = await file.array('x', 'float64').get(selections[2] as never)
  expect(points4).toMatchObject({ data: Float64Array.of(3599, 0, 1830, 62) })
  const edited = file.array('x', 'float64')
  await edited.set([[3, 50], [50, 3]], [[1, 2], [3, 4]]) // biome-ignore format: one line
  expect((await edited.get([[50, 3], [3, 50]])).data).toEqual(Float64Array.of(4, 3, 2, 1)) // biome-ignore format: one line
})
