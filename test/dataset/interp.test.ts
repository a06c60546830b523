import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Dataset } from '../../src/dataset/dataset.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { DiskArray } from '../../src/runtime/index.ts'
import { ChunkGrid } from '../../src/runtime/plan.ts'
import { CountingSource } from '../support/counting-source.ts'
import { datasetsIn } from '../support/dataset-peer.ts'
import { expectPeer, valuesOf } from '../support/labelled.ts'

const { peer, folder } = datasetsIn('interp', (folder, peer) => peer?.writeParts(folder))

describe.skipIf(peer === undefined)('as xarray interpolates', () => {
  const cases = {
    'one place': { lat: 52.3, lon: 13.4 },
    lists: { lat: [-59.9, 52.3, 0.1], lon: [13.4, 299, 61] },
    'labels that are there': { lat: [60, 30, -60], lon: [0, 300] },
    outside: { lat: [75, 52.3, -60.001] },
    times: { time: ['1998-01-05T06:00', '1998-01-01T00:00', '1998-02-01T00:00'] },
    'a time and a list': { time: '1998-01-05T18:00', lon: [100, 200] },
  }
  const files = ['packed0.nc', 'packed1.v2.zarr', 'packed0.v3.zarr', 'levels0.nc']
  test.each(files.flatMap((file) => (file === 'levels0.nc' ? [] : Object.keys(cases).map((name) => [name, file] as const))))(
    '%s, of %s',
    async (name, file) => {
      // biome-ignore format: one line
      const path = join(folder, file)
      await using ds = await openDataset(path)
      const labels: Record<string, unknown> = cases[name as keyof typeof cases]
      const all = await ds.interp(labels as never)
      for (const variable of ['tas', 'count', 'orog', 'age']) {
        const own = Object.fromEntries(Object.entries(labels).filter(([dim]) => ds.get(variable).dims.includes(dim)))
        if (Object.keys(own).length === 0) continue
        // Values that are missing beside an exact label have no effect here. In xarray they have one in
        // several dimensions.
        if (variable === 'tas' && name !== 'one place' && name !== 'lists' && name !== 'outside') continue
        const theirs = await peer!.run(path, variable, [['interp', own]])
        if ('refused' in theirs) throw new Error(theirs.refused)
        await expectPeer(all.get(variable), theirs, 1e-11)
        await expectPeer(await ds.get(variable).interp(own as never), theirs, 1e-11)
      }
    },
  )

  test.each(['.nc', '.v3.zarr'])('float32, along levels that descend, of levels0%s', async (form) => {
    const path = join(folder, `levels0${form}`)
    await using ds = await openDataset(path)
    const theirs = await peer!.run(path, 'ua', [['interp', { level: [900, 860, 1001], lat: [3, -7] }]])
    if ('refused' in theirs) throw new Error(theirs.refused)
    const own = await ds.get('ua').interp({ level: [900, 860, 1001], lat: [3, -7] })
    expect(own.dtype).toBe('float32')
    await expectPeer(own, theirs, 1e-6)
  })
})

const line = (labels: readonly number[], values: readonly number[], units?: string) =>
  new Dataset({ t: { dims: ['lon'], data: Float64Array.from(values) } }, { coords: { lon: { dims: ['lon'], data: labels as number[], attrs: units ? { units } : {} } } }) // biome-ignore format: one line
const at = async (ds: Dataset, lon: number | number[]) => valuesOf(await ds.get('t').interp({ lon }))

describe('interpolating', () => {
  test('gives what two neighbours do in proportion, along two axes, and reads these alone', async () => {
    const axis = fc.uniqueArray(fc.integer({ min: -30, max: 30 }), { minLength: 2, maxLength: 9 })
    const wanted = fc.array(fc.double({ min: -32, max: 32, noNaN: true }).map((x) => Math.round(x * 4) / 4), { minLength: 1, maxLength: 6 }) // biome-ignore format: one line
    await fc.assert(
      fc.asyncProperty(
        axis,
        axis,
        fc.boolean(),
        wanted,
        wanted,
        fc.integer({ min: 0, max: 80 }),
        async (ys, xs, down, at, bt, hole) => {
          const [y, x] = [[...ys].sort((a, b) => (down ? b - a : a - b)), [...xs].sort((a, b) => a - b)]
          const data = Float64Array.from({ length: y.length * x.length }, (_, i) => (i === hole ? Number.NaN : Math.sin(7 * i)))
          const source = new CountingSource({ dtype: 'float64', shape: [y.length, x.length], data }, ChunkGrid.regular([y.length, x.length], [2, 2])) // biome-ignore format: one line
          const array = new DiskArray(source) as DiskArray
          const ds = new Dataset({ t: { dims: ['y', 'x'], data: array } }, { coords: { y, x } })
          const part = await ds.get('t').interp({ y: at, x: bt })
          expect(source.reads).toHaveLength(0)
          const values = await valuesOf(part)
          const used = new Set<string>()
          const between = (labels: readonly number[], label: number): [number, number][] => {
            const same = labels.indexOf(label)
            if (same >= 0) return [[same, 1]]
            const [low, high] = [labels.filter((each) => each < label), labels.filter((each) => each > label)]
            if (low.length === 0 || high.length === 0) return []
            const [a, b] = [Math.max(...low), Math.min(...high)]
            return [[labels.indexOf(a), (b - label) / (b - a)], [labels.indexOf(b), (label - a) / (b - a)]] // biome-ignore format: one line
          }
          for (const [i, a] of at.entries())
            for (const [j, b] of bt.entries()) {
              const [rows, columns] = [between(y, a), between(x, b)]
              const cells = rows.flatMap(([row, p]) => columns.map(([column, q]) => [row, column, p * q] as const))
              for (const [row, column] of cells) used.add([Math.floor(row / 2), Math.floor(column / 2)].join())
              const naive =
                cells.length === 0
                  ? Number.NaN
                  : cells.reduce((sum, [row, column, weight]) => sum + data[row * x.length + column]! * weight, 0)
              const own = values[i * bt.length + j] as number
              if (Number.isNaN(naive)) expect(own).toBeNaN()
              else expect(own).toBeCloseTo(naive, 10)
            }
          // Lists along both axes select their product.
          const rows = new Set([...used].map((each) => each.split(',')[0]!))
          for (const [one] of source.reads) expect(rows.has(String(Math.floor(one!.start / 2)))).toBe(true)
          expect(source.reads.length > 0).toBe(used.size > 0)
        },
      ),
      { numRuns: 80 },
    )
  })

  test('goes around the globe where labels do, and over no gap', async () => {
    const globe = line([0, 90, 180, 270], [0, 10, 20, 40], 'degrees_east')
    expect(await at(globe, [315, -45, 359.99999999999994, -90, 450])).toEqual([20, 20, expect.closeTo(0, 9), 40, 10])
    const down = line([90, 0, -90, -180], [40, 20, 10, 0], 'degrees_east')
    expect(await at(down, [135, 270, -225])).toEqual([20, 10, 20])
    const part = line([0, 10, 20], [1, 2, 3], 'degrees_east')
    expect(await at(part, [-5, 15, 25, 375])).toEqual([Number.NaN, 2.5, Number.NaN, 2.5])
    const x = new Dataset({ t: { dims: ['x'], data: [0, 10, 20, 40] } }, { coords: { x: [0, 90, 180, 270] } })
    expect(await valuesOf(await x.get('t').interp({ x: [315, 45] }))).toEqual([Number.NaN, 5])
    // The labels are those that were asked for.
    expect(await valuesOf((await globe.get('t').interp({ lon: [-45] })).coords['lon']!)).toEqual([-45])
  })

  test('takes the value itself at a label, whatever is beside it, and one that differs by rounding', async () => {
    const ds = line([0, 1, 2, 3], [Number.NaN, 10, Number.NaN, 30])
    expect(await at(ds, [1, 3, 0.5, 1.5, 3 + 2 ** -51])).toEqual([10, 30, Number.NaN, Number.NaN, 30])
  })

  test('leaves one value where there is one label, with its coordinate', async () => {
    const one = await line([0, 10], [1, 3]).get('t').interp({ lon: 2.5 })
    expect(await one.get()).toBe(1.5)
    expect(one.dims).toEqual([])
    expect(await valuesOf(one.coords['lon']!)).toEqual([2.5])
  })

  test('refuses what has no between', async () => {
    const ds = new Dataset(
      { t: { dims: ['x'], data: [1, 2, 3] }, name: { dims: ['x'], data: ['a', 'b', 'c'] } },
      { coords: { x: [1, 3, 2] } },
    )
    await expect(ds.get('t').interp({ x: 2 })).rejects.toThrow(/neither ascend nor descend/)
    await expect(ds.get('t').interp({ y: 2 })).rejects.toThrow(/"y" is not a dimension with labels: labels are along x/)
    await expect(ds.get('t').interp({ x: '2' })).rejects.toThrow(/finite numbers/)
    await expect(ds.get('t').interp({ x: Number.NaN })).rejects.toThrow(/finite numbers/)
    await expect(ds.get('t').interp(2 as never)).rejects.toThrow(/takes labels by dimension/)
    await expect(ds.isel({ x: [0, 2] }).interp({ x: 1.5 })).rejects.toThrow(/nothing between string values/)
    await expect(ds.get('t').interp({ x: 2 }, { method: 'cubic' as never })).rejects.toThrow(/method cannot be/)
  })
})
