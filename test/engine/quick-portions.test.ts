import * as fs from 'node:fs'
import { rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openNetcdf } from '../../src/runtime/netcdf.ts'
import { FileStore } from '../../src/store/fs/file.ts'
import { QuickReads } from '../../src/store/fs/quick-reads.ts'
import { folderInMemory } from '../support/folder.ts'
import { writeNetcdf } from '../support/netcdf-writer.ts'

const SHAPE = [20, 30, 40] as const
const VALUES = Array.from({ length: 20 * 30 * 40 }, (_, i) => (i * 7) % 5003)
const ENOUGH = new Error('enough')

let folder: string
let path: string
beforeAll(async () => {
  folder = await folderInMemory('quick-portions')
  path = join(folder, 'x.nc')
  const dimensions = SHAPE.map((length, i) => [`d${i}`, length] as [string, number])
  const variables = [{ name: 'x', type: 'int' as const, dimensions: ['d0', 'd1', 'd2'], values: VALUES }]
  await writeFile(path, writeNetcdf({ dimensions, variables }))
})
afterAll(() => rm(folder, { recursive: true }))

/** Opens the file with a clock that stands still, after a read that finds out where the file lies. */
async function opened(place = path) {
  const seen = { sync: 0, async: 0 }
  const readSync = (...args: Parameters<typeof fs.readSync>): number => {
    seen.sync++
    return fs.readSync(...args)
  }
  const read = (...args: Parameters<typeof fs.read>): void => {
    seen.async++
    fs.read(...args)
  }
  const quick = new QuickReads(() => 0)
  const statfs = (_: string, done: (error: unknown, stats?: object) => void): void => done(null, { type: 0xef53 })
  const file = await openNetcdf({ store: new FileStore({}, { ...fs, readSync, read, statfs }, quick), path: place })
  const array = file.variable('x')
  await array.get([0, 0, 0])
  Object.assign(seen, { sync: 0, async: 0 })
  return { file, array, quick, seen }
}

const column = (y: number, x: number): number[] => Array.from({ length: 20 }, (_, i) => VALUES[(i * 30 + y) * 40 + x]!)

test('all ranges of a portion are read in one turn', async () => {
  const { file, array, seen } = await opened()
  expect([...(await array.get([null, 3, 5])).data]).toEqual(column(3, 5))
  expect(seen.async).toBe(0)
  expect(seen.sync).toBeGreaterThan(0)
  const { data } = await array.get([null, { start: 2, stop: 9, step: 3 }, { start: 1, stop: 38, step: 5 }])
  expect([...data].slice(0, 8)).toEqual([1, 6, 11, 16, 21, 26, 31, 36].map((x) => VALUES[2 * 40 + x]))
  expect(seen.async).toBe(0)
  await file.close()
})

test('a box of 1.3 MB is read in portions that a turn has time for', async () => {
  const shape = [64, 256, 128] as const
  const values = Int32Array.from({ length: 64 * 256 * 128 }, (_, i) => i * 2654435)
  const large = join(folder, 'large.nc')
  const dimensions = shape.map((length, i) => [`d${i}`, length] as [string, number])
  const variables = [{ name: 'x', type: 'int' as const, dimensions: ['d0', 'd1', 'd2'], values: [...values] }]
  await writeFile(large, writeNetcdf({ dimensions, variables }))
  const { file, array, quick, seen } = await opened(large)
  const ready = vi.spyOn(quick, 'ready')
  const { data } = await array.get([null, { start: 10, stop: 50, step: 1 }, { start: 20, stop: 60, step: 1 }])
  const expected: number[] = []
  for (let i = 0; i < 64; i++)
    for (let y = 10; y < 50; y++) for (let x = 20; x < 60; x++) expected.push(values[(i * 256 + y) * 128 + x]!)
  expect(Buffer.compare(Buffer.from((data as Int32Array).buffer), Buffer.from(Int32Array.from(expected).buffer))).toBe(0)
  // One read of 20 128 bytes a map, 52 of them in a portion of 1 MiB.
  expect(seen).toEqual({ sync: 64, async: 0 })
  expect(ready).toHaveBeenCalledTimes(2)
  await file.close()
})

test.each([
  ['rows above a portion', [3, 4, 100_000], [null, null, null], 6],
  ['a whole of exactly one portion', [4, 256, 256], [null, null, null], 1],
  ['a whole of one element more', [4, 1, 65_537], [null, null, null], 2],
  ['gaps that are read', [200, 10, 1024], [null, { start: 2, stop: 4, step: 1 }, null], 8],
  [
    'a box that ends within a portion',
    [9, 300, 400],
    [{ start: 1, stop: 8, step: 1 }, { start: 3, stop: 290, step: 1 }, null],
    4,
  ],
] as const)('portions of 1 MiB: %s', async (name, shape, selection, portions) => {
  const size = shape[0] * shape[1] * shape[2]
  const values = Int32Array.from({ length: size }, (_, i) => Math.imul(i, 2_654_435))
  const place = join(folder, `${name}.nc`)
  const dimensions = shape.map((length, i) => [`d${i}`, length] as [string, number])
  const variables = [{ name: 'x', type: 'int' as const, dimensions: ['d0', 'd1', 'd2'], values: [...values] }]
  await writeFile(place, writeNetcdf({ dimensions, variables }))
  const { file, array, quick, seen } = await opened(place)
  const ready = vi.spyOn(quick, 'ready')
  const { data } = await array.get(selection as never)
  const [a, b, c] = shape.map((length, axis) => selection[axis] ?? { start: 0, stop: length })
  const expected: number[] = []
  for (let i = a!.start; i < a!.stop; i++)
    for (let y = b!.start; y < b!.stop; y++)
      for (let x = c!.start; x < c!.stop; x++) expected.push(values[(i * shape[1] + y) * shape[2] + x]!)
  expect(Buffer.compare(Buffer.from((data as Int32Array).buffer), Buffer.from(Int32Array.from(expected).buffer))).toBe(0)
  expect(seen.async).toBe(0)
  expect(ready).toHaveBeenCalledTimes(portions)
  await file.close()
})

test('an abort while a portion waits for its turn ends the read', async () => {
  const { file, array, quick, seen } = await opened()
  const controller = new AbortController()
  vi.spyOn(quick, 'ready').mockImplementationOnce(async () => controller.abort(ENOUGH))
  await expect(array.get([null, 3, 5], { signal: controller.signal })).rejects.toBe(ENOUGH)
  expect(seen).toEqual({ sync: 0, async: 0 })
  await file.close()
})

test('a portion whose group is cut short is read again, asynchronously', async () => {
  const { file, array, quick, seen } = await opened()
  const readAll = quick.readAll.bind(quick)
  let count = 0
  vi.spyOn(quick, 'readAll').mockImplementation((...args) => ++count < 1 && readAll(...args))
  expect([...(await array.get([null, 3, 5])).data]).toEqual(column(3, 5))
  expect(count).toBe(1)
  expect(seen.async + seen.sync).toBeGreaterThan(0)
  await file.close()
})

test('a file that changes during a group is refused', async () => {
  const { file, array, quick } = await opened()
  const readAll = quick.readAll.bind(quick)
  vi.spyOn(quick, 'readAll').mockImplementation((...args) => {
    fs.utimesSync(path, 1, 1)
    return readAll(...args)
  })
  await expect(array.get([null, 3, 5])).rejects.toMatchObject({ tag: 'ConflictError' })
  await file.close()
  await utimes(path, 2, 2)
})
