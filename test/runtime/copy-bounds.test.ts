import { expect, test } from 'vitest'
import { copyTree } from '../../src/copy/copy-tree.ts'
import { MemoryStore } from '../../src/store/memory.ts'

test('a copy from a place without listings refuses an array of 2^40 chunks before it requests one', async () => {
  const metadata = {
    zarr_format: 3,
    node_type: 'array',
    shape: [2 ** 40],
    data_type: 'int8',
    chunk_grid: { name: 'regular', configuration: { chunk_shape: [1] } },
    chunk_key_encoding: { name: 'default' },
    fill_value: 0,
    codecs: [{ name: 'bytes' }],
  }
  const store = new MemoryStore()
  await store.put('a.zarr/zarr.json', new TextEncoder().encode(JSON.stringify(metadata)))
  const asked: string[] = []
  const source = Object.assign(Object.create(store) as MemoryStore, {
    list: undefined,
    describe: (key: string) => key,
    stat: (key: string) => {
      asked.push(key)
      return store.stat(key)
    },
    get: (key: string) => store.get(key),
    getRange: (key: string, offset: number, length: number) => store.getRange(key, offset, length),
  })
  const copy = copyTree({ store: source, path: 'a.zarr' }, { store: new MemoryStore(), path: 'b.zarr' })
  await expect(copy).rejects.toMatchObject({ tag: 'TooLargeError', details: { actual: 2 ** 40, expected: 1_000_000 } })
  expect(asked.filter((key) => key.includes('/c/'))).toEqual([])
})
