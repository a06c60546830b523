import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPlace } from '../../src/cli/commands/place.ts'
import { Dataset, openDataset, openDatasets } from '../../src/runtime/dataset.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { plainZip } from '../support/plain-zip.ts'
import { RudeServer } from '../support/rude-server.ts'

let rude: RudeServer
let folder: string
const places = new Map<string, string>()

const labelled = (): Dataset =>
  new Dataset({ v: { dims: ['x'], data: Float32Array.of(1, 2, 3) } }, { coords: { x: [10, 20, 30] } })

/** The files of a folder, by their paths from there. */
async function filesIn(root: string): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>()
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name)
      files.set(relative(root, path).replaceAll('\\', '/'), await readFile(path))
    }
  return files
}

beforeAll(async () => {
  rude = await RudeServer.start()
  folder = await mkdtemp(join(tmpdir(), 'entry-points-'))
  const zarr = join(folder, 'a.zarr')
  await labelled().write(zarr)
  await labelled().write(join(folder, 'below', 'deep', 'b.zarr'))
  await cp(zarr, join(folder, 'unnamed'), { recursive: true })
  await labelled().write(join(folder, 'a.af'))
  const files = await filesIn(zarr)
  await writeFile(join(folder, 'a.zip'), plainZip([...files]))
  await writeFile(join(folder, 'one.zip'), plainZip([...files].map(([name, bytes]) => [`a.zarr/${name}`, bytes] as const)))
  const refs = Object.fromEntries([...files].map(([name, bytes]) => [name, `base64:${Buffer.from(bytes).toString('base64')}`]))
  await writeFile(join(folder, 'refs.json'), JSON.stringify({ version: 1, refs }))
  let url = ''
  for (const [name, bytes] of files) url = rude.put(`a.zarr/${name}`, bytes).replace(`/${name}`, '')
  for (const [name, path] of [
    ['a folder', zarr],
    ['a folder with a slash', `${zarr}/`],
    ['a nested folder', join(folder, 'below', 'deep', 'b.zarr')],
    ['a folder without an extension', join(folder, 'unnamed')],
    ['the metadata of a folder', join(zarr, 'zarr.json')],
    ['a zip archive', join(folder, 'a.zip')],
    ['a zip archive with one folder', join(folder, 'one.zip')],
    ['references', join(folder, 'refs.json')],
    ['a URL', url],
    ['a URL with a slash', `${url}/`],
    ['the URL of metadata', `${url}/zarr.json`],
    ['a container', join(folder, 'a.af')],
  ] as const)
    places.set(name, path)
})
afterAll(async () => {
  await rude.stop()
  await rm(folder, { recursive: true })
})

const ENTRIES: Record<string, (place: string) => Promise<unknown>> = {
  openDataset: async (place) => {
    const ds = await openDataset(place)
    try {
      return Array.from(await ds.get('v').values())
    } finally {
      await ds.close()
    }
  },
  openDatasets: async (place) => {
    const ds = await openDatasets([place])
    try {
      return Array.from(await ds.get('v').values())
    } finally {
      await ds.close()
    }
  },
  openZarr: async (place) => {
    await using group = await openZarr(place, { kind: 'group' })
    return [...((await (await group.array('v')).get([null])) as { data: Float32Array }).data]
  },
  command: async (place) => {
    await using opened = await openPlace(place, {})
    const { array } = await opened.array('v')
    return [...((await array.get([null])) as { data: Float32Array }).data]
  },
}

test.each([
  'a folder',
  'a folder with a slash',
  'a nested folder',
  'a folder without an extension',
  'the metadata of a folder',
  'a zip archive',
  'a zip archive with one folder',
  'references',
  'a URL',
  'a URL with a slash',
  'the URL of metadata',
  'a container',
])('every entry point finds the same arrays in %s', async (name) => {
  for (const [entry, read] of Object.entries(ENTRIES)) {
    if (name === 'a container' && entry === 'openZarr')
      await expect(read(places.get(name)!)).rejects.toMatchObject({ name: expect.stringMatching(/Error$/) })
    else expect([entry, await read(places.get(name)!)]).toEqual([entry, [1, 2, 3]])
  }
})
