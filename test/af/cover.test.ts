import { expect, test } from 'vitest'
import { create, MemoryStore, open } from '../../src/runtime/index.js'
import { FaultyStore } from '../support/faulty-store.js'

const OPTIONS = { dtype: 'int32' as const, shape: [6], chunkShape: [2], fillValue: -1 }
const place = () => ({ store: new MemoryStore(), path: 'a.af' })

test('an array defined anew stores fill wherever a layer has a chunk of the old one, once a shape', async () => {
  const where = place()
  await using file = await create(where, { codec: 'none' })
  await file.define('x', { ...OPTIONS, shape: [7] }).set(null, [1, 2, 3, 4, 5, 6, 7])
  await file.flush()
  file.delete('x')
  await file.define('x', { ...OPTIONS, shape: [7] }).set([2], 9)
  await file.flush()
  expect(file.layers().at(-1)).toMatchObject({ chunks: 4, uncompressedBytes: 8 + 8 + 4 })
  await using reader = await open(where)
  expect((await reader.array('x').get()).data).toEqual(Int32Array.of(-1, -1, 9, -1, -1, -1, -1))
  expect(await reader.stats('x')).toEqual({ min: 9, max: 9, nullCount: 6, rowCount: 7 })
  await reader.array('x').set([0], 8)
  await reader.flush()
  expect(reader.layers().at(-1)).toMatchObject({ chunks: 1 })
  await reader.compact()
  expect((await reader.array('x').get()).data).toEqual(Int32Array.of(8, -1, 9, -1, -1, -1, -1))
})

test('what another writer adds before a second try is covered too', async () => {
  const where = place()
  await using first = await create(where, { codec: 'none' })
  await first.define('x', OPTIONS).set([0], 1)
  await first.flush()
  await using second = await open(where)
  first.delete('x')
  await first.flush()
  await second.refresh()
  second.define('x', { ...OPTIONS, fillValue: -2 })
  await first.define('y', OPTIONS).set([0], 1)
  await first.flush()
  await expect(second.flush()).rejects.toMatchObject({ tag: 'ConflictError' })
  await second.refresh()
  await second.flush()
  expect(second.layers().at(-1)).toMatchObject({ chunks: 1, uncompressedBytes: 8 })
  expect((await second.array('x').get()).data).toEqual(new Int32Array(6).fill(-2))
})

test('a flush that only deletes writes the statistics of the others again', async () => {
  const where = place()
  await using file = await create(where)
  await file.define('x', OPTIONS).set([0], 1)
  await file.define('y', OPTIONS).set([0], 2)
  await file.flush()
  file.delete('y')
  await file.flush()
  const store = new FaultyStore(where.store as never)
  await using reader = await open({ store, path: where.path })
  expect(await reader.stats('x')).toEqual({ min: 1, max: 1, nullCount: 5, rowCount: 6 })
  expect(reader.readCost.blocks).toBe(0)
})
