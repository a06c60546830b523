import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readFrame } from '../../apps/viewer/src/frame.ts'
import { Hierarchy } from '../../apps/viewer/src/hierarchy.ts'
import type { Plane } from '../../apps/viewer/src/plane.ts'
import { FORMATS } from '../adapters/hdf5/support.ts'
import { RoundServer } from '../support/round-server.ts'

let server: RoundServer
beforeAll(async () => {
  server = await RoundServer.start()
})
afterAll(() => server.stop())

const { signal } = new AbortController()

test('groups of a NetCDF-4 file are listed, and opened', async () => {
  const place = server.serve('groups.nc', join(FORMATS, 'hdf5/made_groups_types.nc'))
  const hierarchy = new Hierarchy(place, false, { signal })
  const paths = await hierarchy.paths()
  expect(paths[0]).toBe('')
  expect(paths.length).toBeGreaterThan(1)
  for (const path of paths) {
    const group = await hierarchy.group(path)
    const dataset = await group.dataset(0)
    expect(group.levels).toBe(1)
    expect(Object.keys(dataset.variables).length + Object.keys(dataset.coords).length, path).toBeGreaterThan(0)
  }
  await hierarchy.close()
})

test('levels of a TIFF are read alone, by as many bytes as they have', { timeout: 60_000 }, async () => {
  const place = server.serve('cog.tif', join(FORMATS, 'tiff/cog.tif'))
  const hierarchy = new Hierarchy(place, true, { signal })
  const group = await hierarchy.group('')
  expect(group.levels).toBe(5)
  expect(await group.lengths('image', 'x')).toEqual([2658, 1329, 665, 333, 167])
  server.take()
  const bytes: number[] = []
  for (const level of [4, 3, 2, 1, 0]) {
    const array = (await group.dataset(level)).get('image')
    server.take()
    const [rows, columns] = array.shape as [number, number]
    const plane = { level, y: { dim: 'y' }, x: { dim: 'x' } } as Plane
    const region = { from: [0, 0], size: [rows, columns], steps: [1, 1] } as const
    const frame = await readFrame(array, { plane, region, of: 'image' }, signal)
    expect([frame.rows, frame.columns]).toEqual([rows, columns])
    bytes.push(server.take().bytes)
  }
  // Opening has read the coarsest levels. The file has 800 kB, of which the finest level takes most.
  expect(bytes.slice(0, 2)).toEqual([0, 0])
  expect(bytes[2]).toBeLessThan(100_000)
  expect(bytes[3]).toBeLessThan(250_000)
  expect(bytes[4]).toBeGreaterThan(300_000)
  expect(bytes[4]).toBeLessThan(700_000)
  await hierarchy.close()
})

test('a file without groups is not opened again to list them', async () => {
  const place = server.serve('flat.nc', join(FORMATS, 'netcdf3/made_classic.nc'))
  const hierarchy = new Hierarchy(place, false, { signal })
  await (await hierarchy.group('')).dataset(0)
  server.take()
  expect(await hierarchy.paths()).toEqual([''])
  expect(server.take().requests).toBe(0)
  await hierarchy.close()
})
