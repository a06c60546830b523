import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Dataset } from '../../src/dataset/dataset.ts'
import { type LatLon, nearestCells } from '../../src/dataset/nearest-place.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { Variable } from '../../src/dataset/variable.ts'
import { DiskArray } from '../../src/runtime/index.ts'
import { ChunkGrid } from '../../src/runtime/plan.ts'
import { runs } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import { datasetsIn } from '../support/dataset-peer.ts'
import { expectPeer, valuesOf } from '../support/labelled.ts'

const { peer, folder } = datasetsIn('points', (folder, peer) => peer?.writeParts(folder))

describe.skipIf(peer === undefined)('points by labels of dimensions, as xarray selects them', () => {
  const times = ['1998-01-05T00:00', '1998-01-01T00:00', '1998-01-05T00:00', '1998-01-31T00:00']
  const cases: Record<string, Record<string, readonly (number | string)[]>> = {
    'beside each other': { lat: [30, -60, 30, 0], lon: [60, 0, 300, 60] },
    'apart from each other': { time: times, lon: [60, 0, 300, 60] },
    'in another order': { lon: [60, 0, 300, 60], lat: [30, -60, 30, 0], time: times },
    'along one dimension': { lat: [30, -60, 30] },
    'near them': { lat: [31.5, -50], lon: [80, 299] },
  }
  test.each(
    ['packed0.nc', 'packed0.v2.zarr', 'packed0.v3.zarr', 'noleap0.nc'].flatMap((file) =>
      Object.keys(cases)
        .filter((name) => !(file.startsWith('noleap') && 'time' in cases[name]!))
        .map((name) => [name, file] as const),
    ),
  )('%s, in %s', async (name, file) => {
    // biome-ignore format: one line
    const labels = cases[name]!
    const path = join(folder, file)
    await using ds = await openDataset(path)
    const method = name === 'near them' ? ('nearest' as const) : undefined
    const points = Object.values(labels)[0]!.map((_, i) => Object.fromEntries(Object.entries(labels).map(([key, list]) => [key, list[i]!]))) // biome-ignore format: one line
    const all = ds.selPoints(points, method ? { method } : {})
    for (const variable of ['tas', 'count', 'orog', 'age']) {
      const known = Object.entries(labels).filter(([dim]) => ds.get(variable).dims.includes(dim))
      const theirs = await peer!.run(path, variable, known.length > 0 ? [['points', { labels: Object.fromEntries(known), method }]] : []) // biome-ignore format: one line
      if ('refused' in theirs) throw new Error(theirs.refused)
      await expectPeer(all.get(variable), { ...theirs, coords: Object.fromEntries(Object.entries(theirs.coords).filter(([, { dims }]) => known.length > 0 || dims.length > 0)) }) // biome-ignore format: one line
      if (known.length < Object.keys(labels).length) continue
      await expectPeer(ds.get(variable).sel(points, method ? { method } : {}), theirs)
    }
  })
})

const grid = (rows: number, columns: number, chunks: readonly number[]) => {
  const shape = [3, rows, columns]
  const source = new CountingSource({ dtype: 'float32', shape, data: Float32Array.from({ length: 3 * rows * columns }, (_, i) => i) }, ChunkGrid.regular(shape, chunks)) // biome-ignore format: one line
  return { source, array: new DiskArray(source) as DiskArray }
}

/** Chunks of some lengths that a source was asked for, once for each time. */
function chunksRead({ reads }: CountingSource<'float32'>, lengths: readonly number[]): string[] {
  const along = ({ start, stop }: { start: number; stop: number }, size: number): number[] =>
    Array.from({ length: Math.ceil(stop / size) - Math.floor(start / size) }, (_, i) => Math.floor(start / size) + i)
  const all = reads.flatMap((box) =>
    box.reduce<number[][]>(
      (index, range, axis) => index.flatMap((own) => along(range, lengths[axis]!).map((k) => [...own, k])),
      [[]],
    ),
  )
  return all.map((index) => index.join()).sort()
}

describe('points', () => {
  const along = (dim: string, count: number) => {
    const labels = new CountingSource({ dtype: 'float64', shape: [count], data: Float64Array.from({ length: count }, (_, i) => i) }, ChunkGrid.regular([count], [count])) // biome-ignore format: one line
    return { name: dim, array: new DiskArray(labels) as DiskArray, dims: [dim] }
  }

  test('read the chunks that hold them, each once, and nothing before they are read', async () => {
    const places = fc.array(fc.record({ y: fc.integer({ min: 0, max: 8 }), x: fc.integer({ min: 0, max: 6 }) }), { minLength: 1, maxLength: 12 }) // biome-ignore format: one line
    await fc.assert(
      fc.asyncProperty(places, async (list) => {
        const { source, array } = grid(9, 7, [1, 4, 3])
        const ds = await Dataset.from({
          variables: [{ name: 't', array, dims: ['time', 'y', 'x'] }, along('y', 9), along('x', 7)],
        })
        const part = ds.get('t').selPoints(list)
        expect(source.reads).toHaveLength(0)
        expect(part.dims).toEqual(['time', 'points'])
        expect(await valuesOf(part)).toEqual([0, 1, 2].flatMap((time) => list.map(({ y, x }) => time * 63 + y * 7 + x)))
        const held = new Set(
          [0, 1, 2].flatMap((time) => list.map(({ y, x }) => [time, Math.floor(y / 4), Math.floor(x / 3)].join())),
        )
        expect(chunksRead(source, [1, 4, 3])).toEqual([...held].sort())
      }),
      { numRuns: 50 },
    )
  })

  test('have names where they are given by name, and are told by the same labels', async () => {
    const ds = await Dataset.from({ variables: [{ name: 't', array: grid(9, 7, [3, 9, 7]).array, dims: ['time', 'y', 'x'] }, along('y', 9), along('x', 7)] }) // biome-ignore format: one line
    const named = ds.get('t').selPoints({ Potsdam: { y: 3, x: 2 }, Zugspitze: { y: 8, x: 0 } }, { dim: 'station' })
    expect(await valuesOf(named.sel({ station: 'Zugspitze' }))).toEqual([56, 119, 182])
    expect(await valuesOf(named.coords['y']!)).toEqual([3, 8])
    const at = (points: unknown, options = {}) => ds.get('t').selPoints(points as never, options)
    expect(() => at([{ y: 3 }, { x: 3 }])).toThrow(/same labels: \[x\] and \[y\]/)
    expect(() => at([{ y: 3.5 }])).toThrow(/no label along y is 3.5: its neighbours are 3 and 4/)
    expect(() => at([{ y: 30 }])).toThrow(/they go from 0 to 8/)
    expect(() => at([{ z: 30 }])).toThrow(/there is no coordinate "z": there are y, x/)
    expect(() => at([{ time: 1 }])).toThrow(/the dimension time has no coordinate/)
    expect(() => at([])).toThrow(/there are no points/)
    expect(() => at([{ y: 3 }], { dim: 'x' })).toThrow(/there is a dimension or coordinate x already/)
    expect(() => at(null)).toThrow(/takes a list of points/)
  })
})

/** Points of a grid of 3 × 9 × 7, by positions; negative ones count from the end. */
const indices = fc.array(fc.record({ y: fc.integer({ min: -9, max: 8 }), x: fc.integer({ min: -7, max: 6 }) }), { minLength: 1, maxLength: 12 }) // biome-ignore format: one line

describe('points by positions', () => {
  const open = (array: DiskArray) =>
    new Dataset(
      { t: { dims: ['time', 'y', 'x'], data: array }, row: { dims: ['y'], data: Float64Array.from({ length: 9 }, (_, i) => 10 * i) }, z: { dims: ['time'], data: [1, 2, 3] } },
      { coords: { y: Float64Array.from({ length: 9 }, (_, i) => 50 + i), x: Float64Array.from({ length: 7 }, (_, i) => i / 2) } },
    ) // biome-ignore format: one line

  test('are lazy, carry the labels of their dimensions, and read each chunk once, also below other selections', async () => {
    await fc.assert(
      fc.asyncProperty(indices, fc.boolean(), fc.nat({ max: 11 }), async (list, swap, at) => {
        const { source, array } = grid(9, 7, [1, 4, 3])
        const ds = open(array)
        const points = swap ? list.map(({ y, x }) => ({ x, y })) : list
        const all = ds.isel(points, { dim: 'p' })
        const flat = list.map(({ y, x }) => [(y + 9) % 9, (x + 7) % 7] as const)
        const expected = [0, 1, 2].map((time) => flat.map(([y, x]) => time * 63 + y * 7 + x))
        expect([all.get('t').dims, all.get('t').shape, source.reads]).toEqual([['time', 'p'], [3, list.length], []])
        expect(await valuesOf(all.get('t'))).toEqual(expected.flat())
        const held = (times: readonly number[], of: typeof flat): string[] =>
          [...new Set(times.flatMap((t) => of.map(([y, x]) => [t, y >> 2, Math.floor(x / 3)].join())))].sort()
        expect(chunksRead(source, [1, 4, 3])).toEqual(held([0, 1, 2], flat))
        expect(await valuesOf(all.coords['y']!)).toEqual(flat.map(([y]) => 50 + y))
        expect(await valuesOf(all.coords['x']!)).toEqual(flat.map(([, x]) => x / 2))
        expect(await valuesOf(all.get('row'))).toEqual(flat.map(([y]) => 10 * y))
        expect(await valuesOf(all.get('z'))).toEqual([1, 2, 3])

        const k = at % list.length
        source.reads.length = 0
        const one = ds
          .get('t')
          .isel(points)
          .isel({ time: -1, points: [k, 0, k] })
        expect(await valuesOf(one)).toEqual([expected[2]![k], expected[2]![0], expected[2]![k]])
        expect(chunksRead(source, [1, 4, 3])).toEqual(held([2], [flat[k]!, flat[0]!]))
        expect(await all.get('t').mean({ axis: 'p' }).values()).toEqual(
          Float64Array.from(expected, (values) => values.reduce((a, b) => a + b) / values.length),
        )
      }),
      { numRuns: runs(40) },
    )
  })

  test('are refused where they are no integers, beyond the axis, or along other dimensions', () => {
    const ds = open(grid(9, 7, [3, 9, 7]).array)
    const at = (points: unknown, options?: object) => () => ds.get('t').isel(points as never, options)
    expect(at([{ y: 9 }])).toThrow(/9/)
    expect(at([{ y: -10 }])).toThrow(/-10/)
    expect(at([{ y: 1.5 }])).toThrow(/an integer along y, got 1.5/)
    expect(at([{ y: true }])).toThrow(/an integer along y, got true/)
    expect(at([{ y: 1 }, { y: '2' }])).toThrow(/an integer along y, got "2"/)
    expect(at([{ y: 1 }, { x: 2 }])).toThrow(/same labels/)
    expect(at([{ q: 1 }])).toThrow(/there is no dimension "q"/)
    expect(at([])).toThrow(/there are no points/)
    expect(at([{ y: 1 }], { dim: 'time' })).toThrow(/there is a dimension or coordinate time already/)
    expect(at({ y: 1 }, { dim: 'p' })).toThrow(/isel has no option 'dim'/)
    expect(() => ds.sel({ y: 50 }, { dim: 'p' } as never)).toThrow(/sel has no option 'dim'/)
    expect(() => ds.isel([{ y: 1.5 }])).toThrow(/an integer along y/)
  })

  test('are the same as those by labels, of arrays and datasets', async () => {
    const ds = open(grid(9, 7, [3, 9, 7]).array)
    const labels = [{ y: 51, x: 2 }, { y: 58, x: 0 }] // biome-ignore format: one line
    const wanted = [{ y: 1, x: 4 }, { y: 8, x: 0 }] // biome-ignore format: one line
    const expected = await valuesOf(ds.get('t').isel(wanted))
    for (const found of [ds.sel(labels).get('t'), ds.get('t').sel(labels), ds.get('t').selPoints(labels)])
      expect(await valuesOf(found)).toEqual(expected)
  })
})

describe('places by coordinates of two dimensions', () => {
  /** A swath that is turned and bent, and may go over the seam of longitudes and near the pole. */
  const swath = (rows: number, columns: number, lat0: number, lon0: number, missing = -1) => {
    const [lats, lons] = [new Float64Array(rows * columns), new Float64Array(rows * columns)]
    for (let y = 0; y < rows; y++)
      for (let x = 0; x < columns; x++) {
        const at = y * columns + x
        lats[at] = lat0 + 0.9 * y + 0.3 * x
        lons[at] = lon0 + 1.4 * x - 0.4 * y + 0.02 * x * y
      }
    if (missing >= 0) lats[missing] = Number.NaN
    const of = (name: string, data: Float64Array, units: string) => {
      const source = new CountingSource({ dtype: 'float64', shape: [rows, columns], data }, ChunkGrid.regular([rows, columns], [rows, columns])) // biome-ignore format: one line
      return {
        source,
        raw: { name, array: new DiskArray(source) as DiskArray, dims: ['y', 'x'], attrs: new Map([['units', units]]) },
      }
    }
    const [lat, lon] = [of('lat', lats, 'degrees_north'), of('lon', lons, 'degrees_east')]
    const { source, array } = grid(rows, columns, [1, 4, 4])
    const t = { name: 't', array, dims: ['time', 'y', 'x'], attrs: new Map([['coordinates', 'lat lon']]) }
    return { lats, lons, lat, lon, source, open: () => Dataset.from({ variables: [t, lat.raw, lon.raw] }) }
  }

  const haversine = (lat1: number, lon1: number, lat2: number, lon2: number): number => {
    const [a, b, c, d] = [lat1, lon1, lat2, lon2].map((degrees) => (degrees * Math.PI) / 180) as [number, number, number, number]
    const h = Math.sin((c - a) / 2) ** 2 + Math.cos(a) * Math.cos(c) * Math.sin((d - b) / 2) ** 2
    return 2 * 6_371_008.8 * Math.asin(Math.sqrt(h))
  }

  test('are those that a naive search finds nearest, over seam and pole', async () => {
    const corners = fc.record({ lat0: fc.constantFrom(-30, 50, 78), lon0: fc.constantFrom(0, 172, -180, 355), missing: fc.integer({ min: -1, max: 40 }) }) // biome-ignore format: one line
    const place = fc.record({ y: fc.double({ min: 0, max: 8, noNaN: true }), x: fc.double({ min: 0, max: 6, noNaN: true }), turn: fc.constantFrom(-360, 0, 360) }) // biome-ignore format: one line
    await fc.assert(
      fc.asyncProperty(corners, fc.array(place, { minLength: 1, maxLength: 5 }), async ({ lat0, lon0, missing }, list) => {
        const made = swath(9, 7, lat0, lon0, missing)
        const points = list.map(({ y, x, turn }) => ({
          lat: Math.min(90, lat0 + 0.9 * y + 0.3 * x),
          lon: lon0 + 1.4 * x - 0.4 * y + turn,
        }))
        const part = (await made.open()).get('t').isel({ time: 1 }).selPoints(points, { method: 'nearest', tolerance: '1000km' })
        const found = (await valuesOf(part)) as number[]
        for (const [i, { lat, lon }] of points.entries()) {
          const distances = Array.from(made.lats, (_, at) => haversine(lat, lon, made.lats[at]!, made.lons[at]!))
          const least = distances.reduce((a, b) => (Number.isNaN(b) ? a : Math.min(a, b)), Infinity)
          expect(distances[found[i]! - 63]).toBeCloseTo(least, 3)
        }
      }),
      { numRuns: runs(60) },
    )
  })

  /** Numbers from -1 to 1, the same for a seed every time. */
  const evenly = (seed: number) => {
    let state = seed
    return (): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return state / 2 ** 31 - 1
    }
  }
  const degrees = (name: string, shape: readonly number[], data: Float64Array) => {
    const source = new CountingSource({ dtype: 'float64', shape, data }, ChunkGrid.regular(shape, shape))
    return new Variable({ name, array: new DiskArray(source) as DiskArray, dims: ['y', 'x'], attrs: {} })
  }
  const vectorsOf = (lats: ArrayLike<number>, lons: ArrayLike<number>): Float64Array => {
    const vectors = new Float64Array(3 * lats.length)
    for (let at = 0; at < lats.length; at++) {
      const [phi, lambda] = [(lats[at]! * Math.PI) / 180, (lons[at]! * Math.PI) / 180]
      vectors.set([Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)], 3 * at)
    }
    return vectors
  }
  const square = (a: Float64Array, i: number, b: Float64Array, j: number): number =>
    (a[3 * i]! - b[3 * j]!) ** 2 + (a[3 * i + 1]! - b[3 * j + 1]!) ** 2 + (a[3 * i + 2]! - b[3 * j + 2]!) ** 2

  /** Compares cells with those that looking at each finds, by the squares of chords. */
  const expectNearest = async (shape: readonly number[], lats: Float64Array, lons: Float64Array, places: LatLon[]) => {
    const found = await nearestCells(degrees('lat', shape, lats), degrees('lon', shape, lons), places, 1e9, undefined)
    const [cells, wanted] = [vectorsOf(lats, lons), vectorsOf(places.map(({ lat }) => lat), places.map(({ lon }) => lon))] // biome-ignore format: one line
    for (const i of places.keys()) {
      let least = Number.POSITIVE_INFINITY
      for (let cell = 0; cell < lats.length; cell++) {
        const away = square(cells, cell, wanted, i)
        if (away < least) least = away
      }
      expect(square(cells, found[i]!, wanted, i)).toBeLessThanOrEqual(least + 1e-15)
    }
  }

  test('are found among cells that lie anywhere, as a naive search finds them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const next = evenly(seed)
        const [lats, lons] = [90, 180].map((most) => Float64Array.from({ length: 1200 }, () => most * next())) as [Float64Array, Float64Array] // biome-ignore format: one line
        const places = Array.from({ length: 50 }, () => ({ lat: 90 * next(), lon: 180 * next() }))
        await expectNearest([30, 40], lats, lons, places)
      }),
      { numRuns: 5 },
    )
  })

  test('are found on a large grid that is turned, over the pole, in its holes and far from it', async () => {
    const [rows, columns] = [240, 320]
    const [lats, lons] = [new Float64Array(rows * columns), new Float64Array(rows * columns)]
    // A grid about its own equator, of 0.25 degrees, turned so that the North Pole lies within.
    const [tilt, next] = [(70 * Math.PI) / 180, evenly(16)]
    for (let y = 0, at = 0; y < rows; y++)
      for (let x = 0; x < columns; x++, at++) {
        const [phi, lambda] = [(0.25 * (y - 120) * Math.PI) / 180, (0.25 * (x - 160) * Math.PI) / 180]
        const [u, v, w] = [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)]
        const z = u * Math.sin(tilt) + w * Math.cos(tilt)
        lats[at] = (Math.asin(z) * 180) / Math.PI
        lons[at] = (Math.atan2(v, u * Math.cos(tilt) - w * Math.sin(tilt)) * 180) / Math.PI
        // Cells over land have no coordinates: a hole, fifty cells deep.
        if (Math.hypot(y - 150, x - 100) < 50) lats[at] = Number.NaN
      }
    const within = Array.from({ length: 12 }, () => {
      const at = Math.floor(((next() + 1) / 2) * lats.length)
      return { lat: Math.min(90, (lats[at] || 80) + 0.2 * next()), lon: lons[at]! + 0.2 * next() }
    })
    const hole = [lons[150 * columns + 100]!].map((lon) => ({ lat: 75, lon }))
    await expectNearest([rows, columns], lats, lons, [...within, ...hole, { lat: 90, lon: 0 }, { lat: -60, lon: 40 }, { lat: 20, lon: -170 }]) // biome-ignore format: one line
  })

  test('read the coordinates once, and the chunks that hold the cells', async () => {
    const { source, lat, lon, lats, lons, open } = swath(9, 7, 40, 5)
    const ds = await open()
    expect([lat.source.reads.length, lon.source.reads.length]).toEqual([0, 0])
    const points = [{ lat: lats[10]!, lon: lons[10]! }, { lat: lats[60]! + 0.01, lon: lons[60]! }] // biome-ignore format: one line
    const part = ds.get('t').isel({ time: 2 }).selPoints(points, { method: 'nearest' })
    expect([lat.source.reads.length, lon.source.reads.length]).toEqual([0, 0])
    expect(part.shape).toEqual([2])
    expect(await valuesOf(part)).toEqual([136, 186])
    expect(source.reads).toHaveLength(2)
    await ds.selPoints(points, { method: 'nearest' }).get('t').values()
    expect([lat.source.reads.length, lon.source.reads.length]).toEqual([1, 1])
    expect(await valuesOf(part.coords['lat']!)).toEqual([lats[10], lats[60]])
  })

  test('are found when they are read first, and then known to views of them', async () => {
    const { source, lat, lats, lons, open } = swath(9, 7, 40, 5)
    const points = [10, 60, 10, 3].map((at) => ({ lat: lats[at]!, lon: lons[at]! }))
    const part = (await open()).selPoints(points, { method: 'nearest' })
    const some = part.get('t').isel({ time: [2, 0], points: [3, 1] })
    expect([some.shape, lat.source.reads.length]).toEqual([[2, 2], 0])
    expect((await Promise.all([valuesOf(some), valuesOf(part.get('t').mean({ axis: 'time' }))])) as unknown).toEqual([
      [129, 186, 3, 60],
      [73, 123, 73, 66],
    ])
    expect(lat.source.reads).toHaveLength(1)
    source.reads.length = 0
    const aborted = AbortSignal.abort(new Error('enough'))
    await expect(part.get('t').get({ signal: aborted })).rejects.toThrow(/enough/)
    expect(await valuesOf(part.get('t').isel({ time: 0 }))).toEqual([10, 60, 10, 3])
    expect(source.reads).toHaveLength(2)
    await expect(part.get('t').array.set([0, 0], 1)).rejects.toThrow(/twice, so it is read-only/)
  })

  test('are outside beyond the tolerance, or further away than cells are from each other', async () => {
    const { open } = swath(9, 7, 40, 5)
    const at = async (point: Record<string, unknown>, options: object = { method: 'nearest' }) => (await open()).get('t').selPoints([point as never], options) // biome-ignore format: one line
    const near = { lat: 40.2, lon: 5.1 }
    expect((await at(near)).shape).toEqual([3, 1])
    const read = async (...asked: Parameters<typeof at>) => (await at(...asked)).values()
    await expect(read({ lat: 36, lon: 5 })).rejects.toThrow(
      /nearest to 36, 5 is 444.8 km away; the neighbours of that one are within 1\d\d.* km/,
    )
    expect(await read({ lat: 36, lon: 5 }, { method: 'nearest', tolerance: '4.1deg' })).toHaveLength(3)
    await expect(read(near, { method: 'nearest', tolerance: '10km' })).rejects.toThrow(
      /is 23.\d+ km away; the tolerance is 10 km/,
    )
    await expect(at(near, { method: 'nearest', tolerance: 10 })).rejects.toThrow(/text with a unit/)
    await expect(at(near, {})).rejects.toThrow(/found by `method: 'nearest'`/)
    await expect(at({ lat: 40 })).rejects.toThrow(/lat \(y, x\) are not labels of dimensions/)
    await expect(at({ lat: '40', lon: 5 })).rejects.toThrow(/lat of a place is a number of degrees/)
  })

  test('of a list of stations take a tolerance', async () => {
    const ds = new Dataset(
      { t: { dims: ['station'], data: [1, 2, 3] } },
      { coords: { lat: { dims: ['station'], data: [50, 51, 52] }, lon: { dims: ['station'], data: [10, 11, 12] } } },
    )
    const points = [{ lat: 51.1, lon: 11 }]
    await expect(ds.selPoints(points, { method: 'nearest' }).get('t').values()).rejects.toThrow(/need a tolerance/)
    expect(await valuesOf(ds.selPoints(points, { method: 'nearest', tolerance: '20km' }).get('t'))).toEqual([2])
  })
})
