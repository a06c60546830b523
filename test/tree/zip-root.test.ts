import { zipSync } from 'fflate'
import { expect, test } from 'vitest'
import { copyTree } from '../../src/copy/copy-tree.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { openZarr, type ZarrGroup } from '../../src/runtime/zarr.ts'
import { MemoryStore } from '../../src/store/memory.ts'

const json = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
const layout = {
  zarr_format: 2,
  shape: [2],
  chunks: [2],
  dtype: '|i1',
  order: 'C',
  fill_value: null,
  compressor: null,
  filters: null,
}
/** A store whose array `v` has two values. */
const store = (folder: string, values = [1, 2]): Record<string, Uint8Array> => ({
  [`${folder}.zgroup`]: json({ zarr_format: 2 }),
  [`${folder}v/.zarray`]: json(layout),
  [`${folder}v/.zattrs`]: json({ _ARRAY_DIMENSIONS: ['x'] }),
  [`${folder}v/0`]: Uint8Array.from(values),
})
const MACOS = {
  '__MACOSX/._data.zarr': Uint8Array.of(0, 5, 22, 7),
  '__MACOSX/data.zarr/._.zgroup': Uint8Array.of(0, 5, 22, 7),
  '.DS_Store': Uint8Array.of(0, 0, 0, 1),
}

async function archive(files: Record<string, Uint8Array>, level: 0 | 9 = 0): Promise<{ store: MemoryStore; path: string }> {
  const memory = new MemoryStore()
  await memory.put('a.zip', zipSync(files, { level }))
  return { store: memory, path: 'a.zip' }
}

test.each([
  ['at its root', store('')],
  ['at its root, beside a folder', { ...store(''), 'notes/readme.txt': json('') }],
  ['in one folder', store('data.zarr/')],
  ['in folders in each other', store('home/me/data.zarr/')],
  ['in one folder, packed by macOS', { ...store('data.zarr/'), ...MACOS }],
  ['beside a folder of another kind', { ...store('data.zarr/'), 'notes/readme.txt': json('') }],
] as const)('a store in an archive is found %s, by the dataset and by the store', async (_, files) => {
  const place = await archive(files)
  await using ds = await openDataset(place)
  expect(Array.from((await ds.get('v').values()) as ArrayLike<number>)).toEqual([1, 2])
  const group = (await openZarr(place)) as ZarrGroup
  expect([...((await (await group.array('v')).get()) as { data: Iterable<number> }).data]).toEqual([1, 2])
})

test('an archive of two stores is refused, and the error names both', async () => {
  const place = await archive({ ...store('b.zarr/'), ...store('a.zarr/', [3, 4]), ...MACOS })
  const error = { tag: 'InvalidArgumentError', message: expect.stringMatching(/2 Zarr stores, 'a\.zarr', 'b\.zarr'/) }
  await expect(openDataset(place)).rejects.toMatchObject(error)
  await expect(openZarr(place)).rejects.toMatchObject(error)
})

test('a compressed archive opens, and the dataset, its selections and what is written of it warn of the cost', async () => {
  const place = await archive({ ...store('data.zarr/'), ...MACOS }, 9)
  await using ds = await openDataset(place)
  expect(Array.from((await ds.get('v').values()) as ArrayLike<number>)).toEqual([1, 2])
  const warning = expect.stringMatching(/^memory:a\.zip compresses \d of 4 files .*fetched and inflated/s)
  expect(ds.warnings).toEqual([warning])
  expect(ds.isel({ x: 0 }).warnings).toEqual([warning])
  const memory = new MemoryStore()
  const { warnings } = await ds.write({ store: memory, path: 'out.zarr' })
  expect(warnings).toEqual([warning])
  await using stored = await openDataset(await archive(store('data.zarr/')))
  expect(stored.warnings).toEqual([])
})

test('what macOS adds to folders and archives does not go along with a copy', async () => {
  const files = {
    ...store('data.zarr/'),
    'data.zarr/.DS_Store': json(1),
    'data.zarr/v/.DS_Store': json(1),
    'data.zarr/v/._0': json(1),
    'data.zarr/__MACOSX/._v': json(1),
  }
  const folder = new MemoryStore()
  for (const [key, bytes] of Object.entries(files)) await folder.put(key, bytes)
  for (const from of [{ store: folder, path: 'data.zarr' }, await archive(files), await archive(files, 9)]) {
    const target = new MemoryStore()
    await copyTree(from, { store: target, path: 'out.zarr' })
    const copied = (await target.list('')).sort()
    expect(copied).toEqual(Object.keys(store('out.zarr/')).sort())
  }
})
