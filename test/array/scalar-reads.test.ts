import { afterEach, describe, expect, test, vi } from 'vitest'
import { broadcast, concat, generate } from '../../src/array/combine.ts'
import { DiskArray } from '../../src/array/disk-array.ts'
import type { ScalarMode } from '../../src/array/source.ts'
import { openDataset } from '../../src/runtime/dataset.ts'
import { create, linear, MemoryStore, open, openTree, points, slice } from '../../src/runtime/index.ts'
import { openNetcdf } from '../../src/runtime/netcdf.ts'
import { createZarr, openZarr } from '../../src/runtime/zarr.ts'
import { countAccesses } from '../../src/testing/index.ts'
import { writeNetcdf } from '../support/netcdf-writer.ts'

const numbers = (scalar?: ScalarMode) =>
  new DiskArray(
    generate((i, j) => 10 * i + j, { dtype: 'int32', shape: [4, 5], chunks: [2, 5], dimensionNames: ['y', 'x'] }).source,
    {
      scalar,
    },
  )

const NETCDF = writeNetcdf({
  dimensions: [
    ['y', 4],
    ['x', 5],
  ],
  variables: [{ name: 'x', type: 'float', dimensions: ['y', 'x'], values: Array.from({ length: 20 }, (_, i) => i) }],
})

const refused = { tag: 'ScalarReadError', message: expect.stringContaining('get([slice(from, to), slice(from, to)])') }

/** Selections of a single element of a 4 x 5 array. */
const SINGLE = [[1, 2], [-1, -1], { y: 1, x: 2 }, [points([1, 2])], linear(7)] as never[]
/** Selections of one element that keep an axis, and of several. */
const OTHERS = [[slice(1, 2), 2], [1], [[1], [2]], [points([[1, 2]])], linear([7]), null, [1, 2, '...']] as never[]

afterEach(() => vi.restoreAllMocks())

describe('reads of single elements', () => {
  test('are refused by name, other reads are not', async () => {
    const array = numbers('refuse')
    for (const selection of SINGLE) await expect(array.get(selection)).rejects.toMatchObject(refused)
    await expect(array.get([1, 2], { as: 'float64' })).rejects.toMatchObject(refused)
    const out = { data: new Int32Array(1), shape: [], stride: [], offset: 0 }
    await expect(array.get([1, 2], { out })).rejects.toMatchObject(refused)
    for (const selection of OTHERS) expect(await array.get(selection)).toEqual(await numbers().get(selection))
    expect([await array.sum(), (await array.values()).length, (await array.plan([1, 2])).chunks]).toEqual([340, 20, 1])
    expect(await array.argMax()).toBe(19)
  })

  test('are refused in arrays derived from one that refuses them, whose elements can be read together', async () => {
    const [array, free] = [numbers('refuse'), numbers()]
    const derived = [
      array.view([slice(1, 3)]),
      array.view([points([[0, 1], [2, 3]])]), // biome-ignore format: one line
      array.transpose(),
      array.map((x) => 2 * x),
      array.rechunk([4, 1]),
      array.cache(),
      array.pad(1, {}),
      array.astype('float32'),
      array.view([1, 2]),
      concat([array, free]),
      broadcast((a, b) => a + b, free, array),
    ]
    for (const each of derived as DiskArray[]) {
      await expect(each.get(each.shape.map(() => 0))).rejects.toMatchObject({ tag: 'ScalarReadError' })
      expect((await each.values()).length).toBe(each.size)
    }
    // Its own rule comes before that of the array below.
    expect(await new DiskArray(array.source, { scalar: 'read' }).get([1, 2])).toBe(12)
  })

  test('give a warning after 1000 of them on one array, once', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const [array, other] = [numbers('warn'), numbers('warn')]
    await other.get([0, 0])
    for (let i = 0; i < 998; i++) await array.get([i % 4, i % 5])
    expect(await array.view([1]).get([2])).toBe(12)
    for (let i = 0; i < 5; i++) await array.get([slice(0, 2)])
    expect(warn).not.toHaveBeenCalled()
    expect(await array.get([1, 2])).toBe(12)
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/1000 elements were read one by one.*get\(\[points\(\[\[i, j\], …\]\)\]\)/)],
    ])
    for (let i = 0; i < 2000; i++) await array.get([0, 0])
    expect(warn).toHaveBeenCalledTimes(1)
  })

  test('are counted apart by countAccesses, with any rule', async () => {
    for (const scalar of [undefined, 'refuse'] as const) {
      const source = countAccesses(generate((i) => i, { dtype: 'int8', shape: [6], chunks: [2] }).source)
      const array = new DiskArray(source, { scalar })
      await array.get([slice(0, 1)])
      for (let i = 0; i < 3; i++) await array.get([i]).catch(() => undefined)
      await array.view([slice(2)]).get([0]).catch(() => undefined) // biome-ignore format: one line
      expect([source.scalarReads.count, source.reads.length]).toEqual(scalar === undefined ? [4, 5] : [4, 1])
    }
  })

  test('of stored arrays without axes are read with any rule', async () => {
    const store = new MemoryStore()
    await using file = await create({ store, path: 'a.af' })
    await file.createArray('x', { dtype: 'float32', shape: [] }).set(null, 5)
    await file.flush()
    await using again = await open({ store, path: 'a.af' }, { scalar: 'refuse' })
    expect(await again.array('x').get()).toBe(5)
  })

  test('are refused in arrays of every format that is opened so, and read by default', async () => {
    const store = new MemoryStore()
    await using file = await create({ store, path: 'a.af' })
    const values = Float32Array.from({ length: 20 }, (_, i) => i)
    await file.createArray('x', { dtype: 'float32', shape: [4, 5], dimensionNames: ['y', 'x'] }).set(null, values)
    await file.flush()
    const group = await createZarr({ store, path: 'a.zarr' })
    await (await group.createArray('x', { dtype: 'float32', shape: [4, 5], dimensionNames: ['y', 'x'] })).set(null, values)
    await store.put('a.nc', NETCDF)
    const paths = ['a.af', 'a.zarr', 'a.nc']
    for (const path of paths)
      for (const scalar of [undefined, 'read', 'refuse'] as const) {
        await using tree = await openTree({ store, path }, { scalar })
        await using ds = await openDataset({ store, path }, { scalar })
        if (tree.root.kind === 'array') throw new Error('a group is expected')
        const own = path === 'a.af' ? (await open({ store, path }, { scalar })).array('x') : path === 'a.nc' ? (await openNetcdf({ store, path }, { scalar })).variable('x') : await (await openZarr({ store, path }, { scalar, kind: 'group' })).array('x') // biome-ignore format: one line
        const reads = [
          async () => own.get([1, 2]),
          async () => (await (tree.root as Extract<typeof tree.root, { kind: 'group' }>).array('x')).array.get([1, 2]),
          () => ds.get('x').isel({ y: 1, x: 2 }).get(),
        ]
        for (const read of reads)
          if (scalar === 'refuse') await expect(read()).rejects.toMatchObject({ tag: 'ScalarReadError' })
          else expect(await read()).toBe(7)
        // A reduction has a single value, which is no read of an element.
        expect(await ds.get('x').mean().get()).toBe(9.5)
      }
  })

  test('have no rule of another name', () => {
    expect(() => numbers('never' as ScalarMode)).toThrow(/scalar cannot be "never"/)
  })
})
