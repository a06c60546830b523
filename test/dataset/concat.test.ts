import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HyperslabError } from '../../src/core/errors.ts'
import { between } from '../../src/dataset/between.ts'
import { concatDatasets } from '../../src/dataset/concat-datasets.ts'
import type { DataArray } from '../../src/dataset/data-array.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import type { DatasetFile } from '../../src/dataset/dataset-file.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { openDatasets } from '../../src/dataset/open/open-datasets.ts'
import { create, DiskArray, MemoryStore } from '../../src/runtime/index.ts'
import { ChunkGrid } from '../../src/runtime/plan.ts'
import { CountingSource } from '../support/counting-source.ts'
import { datasetsIn, type Step } from '../support/dataset-peer.ts'
import { expectPeer, valuesOf } from '../support/labelled.ts'

const { peer, folder } = datasetsIn('concat', (folder, peer) => peer?.writeParts(folder))

describe.skipIf(peer === undefined)('as xarray joins them', () => {
  const FORMS = [['.nc', '.nc', '.nc'], ['.v2.zarr', '.v2.zarr', '.v2.zarr'], ['.v3.zarr', '.v3.zarr', '.v3.zarr'], ['.nc', '.v2.zarr', '.v3.zarr']] // biome-ignore format: one line
  const own: Record<string, (array: DataArray) => DataArray> = {
    whole: (array) => array,
    'over the border': (array) => array.sel({ time: between('1998-01-30', '1998-02-02'), lat: 30 }),
    'a month': (array) => array.sel({ time: '1998-02' }).mean({ axis: ['time', 'lon'] }),
    groups: (array) => array.groupBy('time.month').mean(),
    mean: (array) => array.mean({ axis: ['time'] }),
  }
  const steps: Record<string, readonly Step[]> = {
    whole: [],
    'over the border': [['sel', { labels: { time: { between: ['1998-01-30', '1998-02-02'] }, lat: 30 } }]],
    'a month': [
      ['sel', { labels: { time: '1998-02' } }],
      ['reduce', { kind: 'mean', axis: ['time', 'lon'] }],
    ],
    groups: [['groupBy', { key: 'time.month', kind: 'mean' }]],
    mean: [['reduce', { kind: 'mean', axis: ['time'] }]],
  }

  // Given in another order than that of their labels.
  const pathsOf = (name: string, forms: readonly string[]) => [2, 0, 1].map((n, i) => join(folder, `${name}${n}${forms[i]}`))

  test.each(FORMS)('months of one series, packed on their own, with origins of their own: %s %s %s', async (...forms) => {
    const paths = pathsOf('packed', forms)
    await using ds = await openDatasets(paths)
    expect(ds.attrs['title']).toBe('part 0')
    for (const name of Object.keys(steps)) {
      const theirs = await peer!.run(paths, 'tas', steps[name]!)
      if ('refused' in theirs) throw new Error(theirs.refused)
      await expectPeer(own[name]!(ds.get('tas')), theirs)
    }
    for (const variable of ['count', 'orog', 'age', 'height']) {
      const theirs = await peer!.run(paths, variable, [])
      if ('refused' in theirs) throw new Error(theirs.refused)
      await expectPeer(ds.get(variable), theirs)
    }
    // The packing of one file does not fit the others.
    expect(ds.get('tas').encoding).not.toHaveProperty('scale_factor')
    expect(ds.get('time').encoding).toMatchObject({ units: 'days since 1998-01-01' })
  })

  test.each(FORMS)('years of another calendar, and levels: %s %s %s', async (...forms) => {
    for (const [name, variables] of [
      ['noleap', ['tas', 'seen']],
      ['levels', ['ua']],
    ] as const) {
      // biome-ignore format: one line
      const paths = pathsOf(name, forms)
      await using ds = await openDatasets(paths, name === 'levels' ? { gaps: 'keep' } : {})
      for (const variable of variables) {
        const theirs = await peer!.run(paths, variable, [])
        if ('refused' in theirs) throw new Error(theirs.refused)
        await expectPeer(ds.get(variable), theirs)
      }
    }
  })

  test('what one file lacks is a gap, what two have an overlap', async () => {
    await expect(openDatasets([0, 2].map((n) => join(folder, `packed${n}.nc`)))).rejects.toThrow(
      /missing between .*packed0.nc, which ends at 1998-01-31T00:00, and .*packed2.nc, which begins at 1998-03-01T00:00/,
    )
    await expect(openDatasets([0, 2].map((n) => join(folder, `noleap${n}.nc`)))).rejects.toThrow(/missing between/)
    await cp(join(folder, 'packed0.nc'), join(folder, 'again.nc'))
    await expect(openDatasets(['packed0.nc', 'again.nc'].map((n) => join(folder, n)), { dim: 'time' })).rejects.toThrow(/overlap/) // biome-ignore format: one line
    await using kept = await openDatasets([0, 2].map((n) => join(folder, `packed${n}.nc`)), { gaps: 'keep' }) // biome-ignore format: one line
    expect(kept.dims['time']).toBe(62)
  })

  test('calendars that differ are refused, with their files', async () => {
    await expect(openDatasets(['packed0.nc', 'noleap0.nc'].map((n) => join(folder, n)))).rejects.toThrow(
      /calendar (standard|proleptic_gregorian) in .*packed0.nc, of noleap in .*noleap0.nc/,
    )
  })
})

const DAY = 864e5
/** Days from one of 1998 on, with values that tell which. */
const days = (first: number, count: number, value = 0, more: Record<string, unknown> = {}) =>
  new Dataset(
    {
      t: { dims: ['time'], data: Float64Array.from({ length: count }, (_, i) => value + first + i), attrs: { units: 'K' } },
      ...more,
    },
    { coords: { time: Array.from({ length: count }, (_, i) => new Date(Date.UTC(1998, 0, 1) + (first + i) * DAY)) } },
  )
const along = (labels: readonly number[] | readonly string[], value: number) =>
  new Dataset(
    { t: { dims: ['x'], data: Float64Array.from({ length: labels.length }, (_, i) => value + i) } },
    { coords: { x: labels } },
  )

const joined = async (ds: Promise<Dataset>) => valuesOf((await ds).get('t'))

describe('labels that several have', () => {
  test('are taken from the one given first or last, label by label', async () => {
    const parts = [days(0, 5), days(3, 5, 100), days(4, 2, 200)]
    await expect(concatDatasets(parts)).rejects.toThrow(/labels along time overlap: dataset 0 has 1998-01-01T00:00 to/)
    expect(await joined(concatDatasets(parts, 'time', { overlap: 'first' }))).toEqual([0, 1, 2, 3, 4, 105, 106, 107])
    expect(await joined(concatDatasets(parts, 'time', { overlap: 'last' }))).toEqual([0, 1, 2, 103, 204, 205, 106, 107])
    expect(await joined(concatDatasets([parts[2]!, parts[0]!], 'time', { overlap: 'first' }))).toEqual([0, 1, 2, 3, 204, 205])
  })

  test('are taken as a search label by label takes them, up or down', async () => {
    const part = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { minLength: 2, maxLength: 5 }),
        fc.boolean(),
        fc.constantFrom('first', 'last', 'error'),
        async (lists, down, overlap) => {
          const sorted = lists.map((list) => [...list].sort((a, b) => (down ? b - a : a - b)))
          // Single labels alone tell no direction.
          const isDown = down && sorted.some((list) => list.length > 1)
          const owner = new Map<number, number>()
          for (const [at, list] of sorted.entries())
            for (const label of list) if (!owner.has(label) || overlap === 'last') owner.set(label, at)
          const labels = [...owner.keys()].sort((a, b) => (isDown ? b - a : a - b))
          const parts = sorted.map((list, at) => new Dataset({ t: { dims: ['x'], data: list.map((label) => 100 * at + label) } }, { coords: { x: list } })) // biome-ignore format: one line
          const result = concatDatasets(parts, 'x', { overlap: overlap as 'first', gaps: 'keep' })
          const ends = sorted.map((list) => [Math.min(...list), Math.max(...list)] as const)
          const isApart = ends.every(([low, high], i) => ends.every(([from, to], k) => i === k || high < from || to < low))
          if (overlap === 'error' && !isApart) {
            await expect(result).rejects.toThrow(/overlap/)
            return
          }
          const joined = await result
          expect(await valuesOf(joined.get('x'))).toEqual(labels)
          expect(await valuesOf(joined.get('t'))).toEqual(labels.map((label) => 100 * owner.get(label)! + label))
          // Labels find what belongs to them.
          expect(
            await joined
              .get('t')
              .sel({ x: labels.at(-1)! })
              .get(),
          ).toBe(100 * owner.get(labels.at(-1)!)! + labels.at(-1)!)
        },
      ),
    )
  })

  test('are those that are as good as equal, and parts may reach into one another', async () => {
    const parts = [along([0, 2, 0.3], 0), along([1, 3, 0.1 + 0.2], 10)].map((ds) => ds.isel({ x: [2, 0, 1].slice(1) }))
    expect(await joined(concatDatasets(parts, 'x', { overlap: 'first', gaps: 'keep' }))).toEqual([0, 10, 1, 11])
    const near = [along([0, 0.3], 0), along([0.1 + 0.2, 0.6], 10)]
    await expect(concatDatasets(near)).rejects.toThrow(/overlap/)
    expect(await joined(concatDatasets(near, 'x', { overlap: 'last' }))).toEqual([0, 10, 11])
  })

  test('descend where they do; single ones ascend; text stays as it is given', async () => {
    expect(await joined(concatDatasets([along([20, 10], 0), along([40, 30], 10)]))).toEqual([10, 11, 0, 1])
    expect(await joined(concatDatasets([along([3], 0), along([1], 10), along([2], 20)]))).toEqual([10, 20, 0])
    expect(await joined(concatDatasets([along(['b', 'c'], 0), along(['a'], 10)]))).toEqual([0, 1, 10])
    await expect(concatDatasets([along(['b', 'c'], 0), along(['b'], 10)])).rejects.toThrow(/the label b along x is in dataset 0/)
    expect(await joined(concatDatasets([along(['b', 'c'], 0), along(['b'], 10)], 'x', { overlap: 'last' }))).toEqual([1, 10])
    await expect(concatDatasets([along([1, 2], 0), along([4, 3], 10)])).rejects.toThrow(
      /run one way in dataset 0, and the other way/,
    )
    await expect(concatDatasets([along([1, 3, 2], 0), along([4], 10)])).rejects.toThrow(
      /in dataset 0, labels along x neither ascend nor descend/,
    )
  })
})

describe('labels that none has', () => {
  const months = (first: number, count: number) =>
    new Dataset(
      { t: { dims: ['time'], data: new Float64Array(count) } },
      { coords: { time: Array.from({ length: count }, (_, i) => new Date(Date.UTC(1998, first + i, 1))) } },
    )
  test.each<[string, readonly Dataset[], boolean]>([
    ['days', [days(0, 3), days(3, 3)], false],
    ['days, one missing', [days(0, 3), days(4, 3)], true],
    ['one day each', [0, 1, 2, 3].map((n) => days(n, 1)), false],
    ['one day each, one missing', [0, 1, 2, 4].map((n) => days(n, 1)), true],
    ['months', [months(0, 3), months(3, 2), months(5, 7)], false],
    ['months, one missing', [months(0, 3), months(4, 3)], true],
    ['one month each, two missing', [0, 1, 2, 5].map((n) => months(n, 1)), true],
    ['a year with a day that is missing within', [days(0, 9).isel({ time: [0, 1, 2, 3, 5, 6] }), days(7, 3)], false],
    ['numbers', [along([0, 0.1, 0.2], 0), along([0.30000000000000004, 0.4], 0)], false],
    ['numbers, one missing', [along([0, 0.1, 0.2], 0), along([0.4, 0.5], 0)], true],
    ['uneven numbers', [along([1000, 850, 700, 300], 0), along([100, 10], 0)], false],
  ])('%s', async (_, parts, isGap) => {
    const result = concatDatasets(parts)
    if (isGap) await expect(result).rejects.toThrow(/are missing between dataset \d, which ends at/)
    const sum = (list: readonly Dataset[]): number => list.reduce((total, ds) => total + ds.get('t').shape[0]!, 0)
    const whole = isGap ? concatDatasets(parts, undefined, { gaps: 'keep' }) : result
    expect((await whole).get('t').shape).toEqual([sum(parts)])
  })
})

describe('a new dimension', () => {
  const member = (offset: number) =>
    new Dataset(
      { t: { dims: ['lat'], data: [1 + offset, 2 + offset] }, orog: { dims: ['lat'], data: [7, 8], attrs: { units: 'm' } } },
      { coords: { lat: [50, 55] } },
    )

  test.each<[readonly (number | string)[]]>([[['r2', 'r1', 'r3']], [[5, 2, 3]]])(
    'takes labels, one for each dataset, in the order that they are given: %j',
    async (labels) => {
      const ds = await concatDatasets([member(0), member(10), member(20)], 'member', { labels })
      expect(ds.dims).toEqual({ lat: 2, member: 3 })
      expect([...((await ds.get('member').values()) as never)]).toEqual(labels)
      const t = ds.get('t')
      expect([t.dims, await valuesOf(t)]).toEqual([
        ['member', 'lat'],
        [1, 2, 11, 12, 21, 22],
      ])
      expect(await valuesOf(t.sel({ member: labels[1]!, lat: 55 }))).toEqual([12])
      expect([ds.get('orog').dims, ds.get('orog').attrs]).toEqual([['member', 'lat'], { units: 'm' }])
    },
  )

  test('is one of files, too', async () => {
    const store = new MemoryStore()
    const places = ['a', 'b'].map((name) => ({ store, path: `${name}.af` }))
    for (const [i, place] of places.entries()) await member(10 * i).write(place)
    await using ds = await openDatasets(places, { dim: 'member', labels: ['a', 'b'] })
    expect(await valuesOf(ds.get('t').sel({ member: 'b' }))).toEqual([11, 12])
  })

  test('of files that are packed differently is stored unpacked, of files that are packed alike as they are', async () => {
    const store = new MemoryStore()
    const written = async (scales: readonly number[]) => {
      const places = scales.map((_, i) => ({ store, path: `of${scales.join('and')}-${i}x.af` }))
      for (const [i, scale_factor] of scales.entries()) {
        const t = { dims: ['x'], data: [0.5 * scale_factor * 2 * i, 3 * scale_factor] }
        const encoding = { t: { dtype: 'int16', scale_factor, _FillValue: -1 } } as const
        await new Dataset({ t }, { coords: { x: [2 * i, 2 * i + 1] } }).write(places[i]!, { encoding })
      }
      const target = { store, path: `of${scales.join('and')}x.af` }
      await using ds = await openDatasets(places, { dim: 'x' })
      await ds.write(target)
      const copy = await openDataset(target)
      return { values: await valuesOf(copy.get('t')), encoding: copy.get('t').encoding }
    }
    expect(await written([0.25, 0.25])).toMatchObject({
      values: [0, 0.75, 0.25, 0.75],
      encoding: { dtype: 'int16', scale_factor: 0.25 },
    })
    expect(await written([0.25, 0.125])).toMatchObject({ values: [0, 0.75, 0.125, 0.375], encoding: { dtype: 'float64' } })
  })

  test('takes the labels that each dataset is at, and brings back what was selected', async () => {
    const whole = days(0, 4)
    const slices = [2, 0, 3, 1].map((time) => whole.isel({ time }))
    const ds = await concatDatasets(slices, 'time')
    expect(ds.dims).toEqual(whole.dims)
    expect(await ds.get('time').dates()).toEqual(await whole.get('time').dates())
    expect(await valuesOf(ds.get('t'))).toEqual(await valuesOf(whole.get('t')))
  })

  test('is refused where it is none, or labels do not fit', async () => {
    const [a, b] = [member(0), member(1)]
    const joined = (dim: string | undefined, labels?: unknown) =>
      concatDatasets([a, b], dim, labels === undefined ? {} : { labels: labels as never })
    await expect(joined('member')).rejects.toThrow(/no dataset has a dimension "member"; .*labels/)
    await expect(joined(undefined, ['a', 'b'])).rejects.toThrow(/give its name/)
    await expect(joined('member', ['a'])).rejects.toThrow(/1 labels are for 2 datasets/)
    await expect(joined('lat', ['a', 'b'])).rejects.toThrow(/a dimension "lat" already/)
    await expect(joined('t', ['a', 'b'])).rejects.toThrow(/a variable "t" already/)
    const other = new Dataset({ t: { dims: ['lat'], data: [1, 2] }, orog: { dims: ['lat'], data: [7, 8] } }, { coords: { lat: [50, 56] } }) // biome-ignore format: one line
    await expect(concatDatasets([a, other], 'member', { labels: ['a', 'b'] })).rejects.toThrow(/lat|units/)
  })
})

describe('reference systems', () => {
  const join = (...systems: Record<string, unknown>[]) =>
    concatDatasets(
      systems.map((attrs, i) => days(i, 1, 0, { spatial_ref: { dims: [], data: 0, attrs } })),
      'time',
    )

  test.each([
    ['epsg_code', { epsg_code: 'EPSG:32633' }, { epsg_code: 'EPSG:32634' }],
    ['false_easting', { grid_mapping_name: 'x', false_easting: 0 }, { grid_mapping_name: 'x', false_easting: 5 }],
    ['false_easting', { grid_mapping_name: 'x' }, { grid_mapping_name: 'x', false_easting: 5 }],
    ['crs_wkt', { crs_wkt: 'A' }, { crs_wkt: 'B' }],
  ])('that differ are refused: %s', async (name, one, other) => {
    await expect(join(one, other)).rejects.toThrow(new RegExp(`spatial_ref.*${name} is .* in dataset 0, .* in dataset 1`))
  })

  test('of one code are joined, and the extents of the parts are omitted', async () => {
    const attrs = { epsg_code: 'EPSG:32633', long_name: 'a', crs_wkt: 'A', GeoTransform: '0' }
    const joined = await join(attrs, { ...attrs, long_name: 'b', crs_wkt: 'B', GeoTransform: '1' })
    expect(joined.get('spatial_ref').attrs).toEqual({ epsg_code: 'EPSG:32633', long_name: 'a', crs_wkt: 'A' })
    expect((await join(attrs, attrs)).get('spatial_ref').attrs).toEqual(attrs)
    const cone = { grid_mapping_name: 'lambert_conformal_conic', standard_parallel: 33, crs_wkt: 'A' }
    await join(cone, { ...cone, standard_parallel: [33], crs_wkt: 'B', comment: 'c' })
  })

  test('belong to grid mappings: other variables keep their attributes', async () => {
    const t = (attrs: object) => ({ t: { dims: ['time'], data: [1], attrs: { units: 'K', crs_wkt: 'A', ...attrs } } })
    const joined = await concatDatasets([days(0, 1, 0, t({ history: 'a' })), days(1, 1, 0, t({ history: 'b', crs_wkt: 'B' }))])
    expect(joined.get('t').shape).toEqual([2])
  })

  test('are not compared with compat override', async () => {
    const parts = ['a', 'b'].map((code, i) => days(i, 1, 0, { spatial_ref: { dims: [], data: 0, attrs: { epsg_code: code } } }))
    const joined = await concatDatasets(parts, 'time', { compat: 'override' })
    expect(joined.get('spatial_ref').attrs).toEqual({ epsg_code: 'a' })
  })
})

describe('what does not fit', () => {
  const named = (more: Record<string, unknown>) => [days(0, 2), days(2, 2, 0, more)]
  test('is refused by name', async () => {
    await expect(concatDatasets(named({ u: { dims: ['time'], data: [1, 2] } }))).rejects.toThrow(
      /dataset 0 has no variable.*dataset 1 has one/,
    )
    await expect(concatDatasets(named({ t: { dims: ['time'], data: [1, 2], attrs: { units: 'degC' } } }))).rejects.toThrow(
      /units is "K" in dataset 0, "degC" in dataset 1/,
    )
    await expect(concatDatasets([])).rejects.toThrow(/no datasets/)
    await expect(concatDatasets([days(0, 2), days(2, 2)], 'lat')).rejects.toThrow(/no dataset has a dimension "lat"/)
    await expect(concatDatasets([days(0, 2), days(0, 2)])).rejects.toThrow(/labels differ along no dimension/)
    await expect(concatDatasets([days(0, 2), days(2, 2)], 'time', { overlap: 'both' as never })).rejects.toThrow(
      /overlap cannot be/,
    )
    const text = new Dataset(
      { t: { dims: ['time'], data: ['a', 'b'], attrs: { units: 'K' } } },
      { coords: { time: days(2, 2).coords['time']! } },
    )
    await expect(concatDatasets([days(0, 2), text])).rejects.toThrow(/values are of float64 and string/)
  })

  test('what does not lie along the dimension is read in all, and compared', async () => {
    const fixed = (first: number, value: number) => days(first, 2, 0, { orog: { dims: ['lat'], data: [1, Number.NaN, value] } })
    expect(await valuesOf((await concatDatasets([fixed(0, 3), fixed(2, 3)])).get('orog'))).toEqual([1, Number.NaN, 3])
    await expect(concatDatasets([fixed(0, 3), fixed(2, 4)])).rejects.toThrow(/orog.*not the same in dataset 0 and dataset 1/)
    const first = await concatDatasets([fixed(2, 4), fixed(0, 3)], 'time', { compat: 'override' })
    expect(await valuesOf(first.get('orog'))).toEqual([1, Number.NaN, 3])
  })
})

describe('files', () => {
  const file = (first: number, closed: string[], fail?: string): { file: DatasetFile; source: CountingSource<'float32'> } => {
    const time = new CountingSource({ dtype: 'float64', shape: [4], data: Float64Array.of(0, 1, 2, 3).map((n) => n + first) }, ChunkGrid.regular([4], [4])) // biome-ignore format: one line
    const source = new CountingSource({ dtype: 'float32', shape: [4, 2], data: new Float32Array(8).fill(first) }, ChunkGrid.regular([4, 2], [2, 2])) // biome-ignore format: one line
    const arrays = [
      {
        name: 'time',
        array: new DiskArray(time) as DiskArray,
        dims: ['time'],
        attrs: new Map([['units', 'days since 2000-01-01']]),
      },
      { name: 't', array: new DiskArray(source) as DiskArray, dims: ['time', 'x'] },
    ]
    const close = async () => {
      closed.push(String(first))
      if (fail !== undefined) throw new HyperslabError('ConflictError', fail, {})
    }
    return { file: { variables: arrays, close }, source }
  }

  test('are compared by what is read of each once', async () => {
    const masks = [0, 1, 2].map(() => new CountingSource({ dtype: 'float32', shape: [2], data: Float32Array.of(1, 2) }, ChunkGrid.regular([2], [2]))) // biome-ignore format: one line
    const parts = masks.map((mask, at) => days(2 * at, 2, 0, { mask: { dims: ['cell'], data: new DiskArray(mask) } }))
    await concatDatasets(parts)
    expect(masks.map(({ reads }) => reads.length)).toEqual([1, 1, 1])
    await concatDatasets(parts, 'time', { compat: 'override' })
    expect(masks.map(({ reads }) => reads.length)).toEqual([1, 1, 1])
  })

  test('are read only where they are selected, and all closed, also when one fails', async () => {
    const closed: string[] = []
    const [a, b, c] = [file(0, closed), file(4, closed, 'no'), file(8, closed)] as const
    const ds = await concatDatasets(await Promise.all([c, a, b].map(({ file }) => Dataset.from(file))))
    expect([a, b, c].map(({ source }) => source.reads.length)).toEqual([0, 0, 0])
    const part = ds.get('t').sel({ time: between('2000-01-05', '2000-01-06') })
    expect(await valuesOf(part)).toEqual([4, 4, 4, 4])
    expect([a, b, c].map(({ source }) => source.reads.length)).toEqual([0, 1, 0])
    await expect(ds.close()).rejects.toThrow('no')
    expect(closed.sort()).toEqual(['0', '4', '8'])
  })

  /** Containers, each in a store of its own, which tell what is done with them. */
  const stored = async (count: number, log: { closed: number; underWay: number; most: number }) => {
    class LoggingStore extends MemoryStore {
      override async getRange(...asked: Parameters<MemoryStore['getRange']>) {
        log.most = Math.max(log.most, ++log.underWay)
        await new Promise((resolve) => setTimeout(resolve, 2))
        log.underWay--
        return super.getRange(...asked)
      }
      async close() {
        log.closed++
      }
    }
    const places = Array.from({ length: count }, () => ({ store: new LoggingStore(), path: 'x.af' }))
    for (const [at, place] of places.entries()) {
      const file = await create(place)
      for (const name of ['x', 't']) await file.createArray(name, { dtype: 'float32', shape: [2], dimensionNames: ['x'] }).set(null, [2 * at, 2 * at + 1]) // biome-ignore format: one line
      await file.flush()
      await file.close()
    }
    Object.assign(log, { closed: 0, underWay: 0, most: 0 })
    return places
  }

  test('are opened some at a time, and closed where one of them cannot be opened or joined', async () => {
    const log = { closed: 0, underWay: 0, most: 0 }
    const places = await stored(20, log)
    const ds = await openDatasets([...places].reverse())
    expect(await valuesOf(ds.get('t'))).toEqual(Array.from({ length: 40 }, (_, i) => i))
    expect(log.most).toBeGreaterThan(2)
    expect(log.most).toBeLessThanOrEqual(8)
    expect(log.closed).toBe(0)
    await ds.close()
    expect(log.closed).toBe(20)
    log.closed = 0
    const none = { store: new MemoryStore(), path: 'none.af' }
    await expect(openDatasets([...places.slice(0, 3), none])).rejects.toMatchObject({ tag: 'NotFoundError' })
    expect(log.closed).toBe(3)
    log.closed = 0
    await expect(openDatasets([places[0]!, places[2]!])).rejects.toThrow(/missing between/)
    expect(log.closed).toBe(2)
    await expect(openDatasets([])).rejects.toThrow(/a list of locations/)
  })
})
