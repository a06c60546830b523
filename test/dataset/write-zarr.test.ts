import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generate } from '../../src/array/combine.ts'
import { DiskArray } from '../../src/array/disk-array.ts'
import { tensorOf } from '../../src/core/tensor.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { CountingSource } from '../support/counting-source.ts'
import { type DatasetPeer, type PeerArray, startDatasets } from '../support/dataset-peer.ts'

const VARIABLES = ['tas', 'ua', 'orog']

describe('xarray opens what is written', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperslab-write-zarr-'))
  const peer: DatasetPeer | undefined = startDatasets()
  let names: readonly string[] = []
  beforeAll(async () => {
    names = (await peer?.write(folder)) ?? []
  }, 120_000)
  afterAll(() => {
    peer?.close()
    rmSync(folder, { recursive: true })
  })

  test.skipIf(peer === undefined)('with the same values, dimensions and coordinates', { timeout: 60_000 }, async () => {
    for (const name of names) {
      const [from, to] = [join(folder, `${name}.nc`), join(folder, `${name}.out.zarr`)]
      await using ds = await openDataset(from)
      const written = await ds.write(to, {
        chunks: { time: 10 },
        ...(name === 'packed' && { shards: { time: 20, lat: 9, lon: 18 } }),
      })
      expect(written).toEqual({ arrays: expect.arrayContaining([...VARIABLES, 'time', 'lat', 'lon', 'area']), warnings: [] })
      await using again = await openDataset(to)
      for (const variable of VARIABLES) {
        const theirs = await peer!.run(from, variable, [])
        expect(await peer!.run(to, variable, []), `${name} ${variable}`).toEqual(theirs)
        expect(await again.get(variable).values()).toEqual(await ds.get(variable).values())
      }
      for (const coord of ['time', 'lat', 'lon', 'level', 'area'])
        expect(await again.get(coord).values()).toEqual(await ds.get(coord).values())
      expect(again.attrs).toEqual(ds.attrs)
    }
    expect(names).toHaveLength(6)
  })

  test.skipIf(peer === undefined)('pyramids, of which each level is the one before, coarsened', { timeout: 60_000 }, async () => {
    for (const name of names) {
      const to = join(folder, `${name}.levels.zarr`)
      await using ds = await openDataset(join(folder, `${name}.nc`))
      await ds.write(to, { levels: 3 })
      const opened = (level: number): string => `xr.open_zarr(${JSON.stringify(to)}, group="${level}")["tas"]`
      const script = async (code: string) => (await peer!.script(`import xarray as xr\n${code}`)) as PeerArray
      const finest = await peer!.run(join(folder, `${name}.nc`), 'tas', [])
      expect(await script(`array = ${opened(0)}`), name).toEqual(finest)
      for (const level of [1, 2]) {
        const coarse = await script(`array = ${opened(level)}`)
        const peers = await script(`array = ${opened(level - 1)}.coarsen(lat=2, lon=2, boundary="pad").mean()`)
        expect([coarse.dims, coarse.shape], name).toEqual([peers.dims, peers.shape])
        expect(
          coarse.values.map((value) => value === null),
          name,
        ).toEqual(peers.values.map((value) => value === null))
        const differences = coarse.values.map((value, i) => Math.abs((value as number) - (peers.values[i] as number)))
        expect(Math.max(...differences), name).toBeLessThan(0.006)
        for (const axis of ['lat', 'lon']) expect(coarse.coords[axis], name).toEqual(peers.coords[axis])
      }
    }
  })

  test.skipIf(peer === undefined)('packed values as they were stored, with their encoding', { timeout: 60_000 }, async () => {
    const to = join(folder, 'packed.out.zarr')
    await using group = await openZarr(to, { kind: 'group' })
    const tas = await group.array('tas', 'int16')
    await using ds = await openDataset(join(folder, 'packed.nc'), { decode: false })
    expect(await tas.get()).toMatchObject({ data: await ds.get('tas').values() })
    expect(tas.missing).toEqual({ values: [-32768], nan: false })
    expect(tas.attrs!.get('scale_factor')).toBe(0.01)
    expect(tas.metadata.codecs[0]).toMatchObject({ name: 'sharding_indexed', configuration: { chunk_shape: [10, 9, 18] } })
    expect(tas.metadata.chunks).toEqual([20, 9, 18])
  })
})

describe('Zarr', () => {
  const plain = Float32Array.from({ length: 24 }, (_, i) => (i === 5 ? Number.NaN : i))
  const counted = () =>
    new CountingSource({ dtype: 'float32' as const, shape: [6, 4], data: plain }, ChunkGrid.regular([6, 4], [2, 4]))
  const dataset = (source = counted(), attrs: Record<string, unknown> = {}) =>
    new Dataset({
      t: { dims: ['time', 'x'], data: new DiskArray(source), attrs },
      time: { dims: ['time'], data: [0, 1, 2, 3, 4, 5] },
    })
  const at = (store: MemoryStore, path = 'out.zarr') => ({ store, path })

  test('is written shard by shard, each once, and there is no group before it is complete', async () => {
    const store = new MemoryStore()
    const puts: string[] = []
    const put = store.put.bind(store)
    const stage = store.stage.bind(store)
    store.put = async (key, bytes) => {
      puts.push(key)
      return put(key, bytes)
    }
    store.stage = async () => {
      const inner = await stage()
      const publish = inner.publish.bind(inner)
      inner.publish = async (key, tail, condition) => {
        puts.push(key)
        return publish(key, tail, condition)
      }
      return inner
    }
    const source = counted()
    const progress: unknown[] = []
    await dataset(source).write(at(store), {
      chunks: { time: 2, x: 2 },
      shards: { time: 4 },
      codec: 'none',
      onProgress: (now) => progress.push(now),
    })
    expect(puts.at(-1)).toBe('out.zarr/zarr.json')
    expect(puts.filter((key) => key.includes('/t/')).sort()).toEqual([
      'out.zarr/t/c/0/0',
      'out.zarr/t/c/0/1',
      'out.zarr/t/c/1/0',
      'out.zarr/t/c/1/1',
      'out.zarr/t/zarr.json',
    ])
    expect(new Set(puts).size).toBe(puts.length)
    expect(progress.at(-1)).toEqual({ done: 7, total: 7 })
    const group = await openZarr(at(store), { kind: 'group' })
    expect(group.consolidated).toBe(true)
    const t = await group.array('t', 'float32', 2)
    expect((await t.toTensor()).data).toEqual(plain)
    expect(t.chunks.chunkShape).toEqual([2, 2])
  })

  test('is written as a pyramid: each level is made of the one before, which is read from what was written', async () => {
    const [height, width] = [5, 6]
    const data = Float32Array.from({ length: 2 * height * width }, (_, i) => (i === 7 ? Number.NaN : i))
    const source = new CountingSource({ dtype: 'float32' as const, shape: [2, height, width], data }, ChunkGrid.regular([2, height, width], [1, 2, 6])) // biome-ignore format: one line
    const missing = new DiskArray(Object.assign(source, { missing: { values: [], nan: true } }))
    const of = (values: readonly number[], dims: string[]) => ({ dims, data: values, attrs: { units: `degrees_${dims[0] === 'lat' ? 'north' : 'east'}` } }) // biome-ignore format: one line
    const ds = new Dataset(
      {
        t: { dims: ['time', 'lat', 'lon'], data: missing },
        lat: of([0, 1, 2, 3, 4], ['lat']),
        lon: of([0, 1, 2, 3, 4, 5], ['lon']),
      },
      { attrs: { title: 'T' } },
    )
    const store = new MemoryStore()
    await ds.write(at(store), { levels: 3, chunks: { lat: 2 } })
    // Once: coarser levels come from what was written.
    const read = source.reads.map((box) => box.reduce((size, { start, stop }) => size * (stop - start), 1))
    expect(read.reduce((a, b) => a + b)).toBe(data.length)
    const group = await openZarr(at(store), { kind: 'group' })
    const [pyramid] = await group.levels()
    expect(pyramid!.levels.map(({ node, scale, translation }) => [node.path, scale, translation])).toEqual([
      ['0', undefined, undefined],
      ['1', [2, 2], [0.5, 0.5]],
      ['2', [4, 4], [1.5, 1.5]],
    ])
    const conventions = ['multiscales', 'proj:', 'spatial:'].map((name) => ({ name }))
    expect(group.attrs.get('zarr_conventions')).toMatchObject(conventions)
    const plane = { 'proj:code': 'EPSG:4326', 'spatial:dimensions': ['lat', 'lon'], 'spatial:bbox': [-0.5, -0.5, 5.5, 4.5] }
    const levels = [
      { 'spatial:shape': [5, 6], 'spatial:transform': [1, 0, -0.5, 0, 1, -0.5] },
      { 'spatial:shape': [3, 3], 'spatial:transform': [2, 0, -0.5, 0, 2, -0.5] },
      { 'spatial:shape': [2, 2], 'spatial:transform': [4, 0, -0.5, 0, 4, -0.5] },
    ]
    const attributes = async (path: string): Promise<object> => {
      const { attrs } = path === '' ? group : await group.group(path)
      return Object.fromEntries([...attrs.keys()].map((name) => [name, attrs.get(name)]))
    }
    expect(await attributes('')).toMatchObject({ ...plane, multiscales: { layout: levels } })
    for (const [level, placed] of levels.entries())
      expect(await attributes(`${level}`)).toMatchObject({
        ...plane,
        ...placed,
        title: 'T',
        zarr_conventions: conventions.slice(1),
      })
    let [finer, rows, columns] = [[...data], height, width]
    for (const level of [0, 1, 2]) {
      if (level > 0) {
        const [r, c] = [Math.ceil(rows / 2), Math.ceil(columns / 2)]
        finer = Array.from({ length: 2 * r * c }, (_, at) => {
          const [t, y, x] = [Math.floor(at / r / c), Math.floor(at / c) % r, at % c]
          const values = [0, 1].flatMap((i) => [0, 1].map((j) => [2 * y + i, 2 * x + j] as const))
          const known = values.flatMap(([i, j]) => (i < rows && j < columns ? [finer[(t * rows + i) * columns + j]!] : [])).filter((value) => !Number.isNaN(value)) // biome-ignore format: one line
          return Math.fround(known.reduce((a, b) => a + b, 0) / known.length)
        })
        ;[rows, columns] = [r, c]
      }
      await using opened = await openDataset(at(store), { level })
      expect([opened.get('t').shape, opened.attrs['title']]).toEqual([[2, rows, columns], 'T'])
      expect(Array.from(await opened.get('t').values())).toEqual(finer)
      expect(await opened.get('lat').values()).toHaveLength(rows)
    }
    await expect(ds.write({ store, path: 'x.af' }, { levels: 2 })).rejects.toThrow('`levels` is for Zarr')
    await expect(ds.write(at(store, 'y.zarr'), { levels: 0 })).rejects.toThrow('levels')
  })

  test.each<[string, readonly number[], string, readonly string[]]>([
    ['that run south, 0.5 apart, in 32 bits', [60.1, 59.6, 59.1], 'degrees_north', ['proj:', 'spatial:']],
    ['of Gauss', [88.57, 86.72, 84.86], 'degrees_north', ['proj:']],
    ['of which one is missing', [1, Number.NaN, 3], 'degrees_north', ['proj:']],
    ['on another sphere', [1, 2, 3], 'degrees', []],
  ])('says where the plane of a pyramid lies as far as its latitudes tell: those %s', async (_, lat, units, names) => {
    const store = new MemoryStore()
    const ds = new Dataset({
      t: { dims: ['lat', 'lon'], data: tensorOf('float32', [3, 2]) },
      lat: { dims: ['lat'], data: Float32Array.from(lat), attrs: { units } },
      lon: { dims: ['lon'], data: Float32Array.of(-170, -160), attrs: { units: 'degrees_east' } },
    })
    await ds.write(at(store), { levels: 2 })
    const { attrs } = await openZarr(at(store), { kind: 'group' })
    expect(attrs.get('zarr_conventions')).toMatchObject(['multiscales', ...names].map((name) => ({ name })))
    expect(attrs.get('proj:code')).toBe(names.length > 0 ? 'EPSG:4326' : undefined)
    const box = attrs.get('spatial:bbox') as readonly number[] | undefined
    expect(box?.map((edge) => Math.round(edge * 1e4) / 1e4)).toEqual(names.length > 1 ? [-175, 58.85, -155, 60.35] : undefined)
  })

  test('of one variable without coordinates is an image of OME-NGFF', async () => {
    const store = new MemoryStore()
    await new Dataset({ i: { dims: ['y', 'x'], data: new DiskArray(counted()) } }).write(at(store), { levels: 2 })
    const group = await openZarr(at(store), { kind: 'group' })
    expect(group.attrs.get('ome')).toMatchObject({ version: '0.5', multiscales: [{ name: 'i', datasets: [{ path: '0' }, { path: '1' }] }] }) // biome-ignore format: one line
    const coarse = await group.array('1', 'float32')
    // The first cell is the mean of 0, 1, 4 and NaN. NaN is skipped although the metadata declare no missing
    // value.
    expect([...(await coarse.toTensor()).data]).toEqual([Math.fround(5 / 3), 4.5, 10.5, 12.5, 18.5, 20.5])
  })

  test('keeps nested attributes, and leaves nothing behind when a write fails or is aborted', async () => {
    const store = new MemoryStore()
    const nested = { a: [1, { b: null }] }
    await dataset(counted(), { nested }).write(at(store))
    expect((await openDataset(at(store))).get('t').attrs['nested']).toEqual(nested)
    await expect(dataset().write(at(store))).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
    expect((await openDataset(at(store))).get('t').attrs['nested']).toEqual(nested)
    await dataset().write(at(store), { overwrite: true })
    expect((await openDataset(at(store))).get('t').attrs['nested']).toBeUndefined()

    const failing = new Dataset({ t: { dims: ['x'], data: generate((i) => (i > 5 ? (() => { throw new Error('no more') })() : i), { dtype: 'float32', shape: [9] }) } }) // biome-ignore format: one line
    await expect(failing.write(at(store, 'new.zarr'), { chunks: { x: 3 } })).rejects.toThrow('no more')
    expect((await store.list('new.zarr')).length).toBe(0)
    const abort = new AbortController()
    const onProgress = () => abort.abort(new Error('enough'))
    await expect(
      dataset().write(at(store, 'new.zarr'), { chunks: { time: 2 }, signal: abort.signal, onProgress }),
    ).rejects.toThrow('enough')
    expect((await store.list('new.zarr')).length).toBe(0)
  })

  test('leaves what others have in the folder alone', async () => {
    const store = new MemoryStore()
    await store.put('out.zarr/notes.txt', Uint8Array.of(1))
    for (const overwrite of [false, true])
      await expect(dataset().write(at(store), { overwrite })).rejects.toMatchObject({
        tag: 'AlreadyExistsError',
        message: expect.stringContaining("such as 'notes.txt'"),
      })
    expect(await store.list('')).toEqual(['out.zarr/notes.txt'])
  })

  test('refuses options that do not fit before anything is written', async () => {
    const store = new MemoryStore()
    const cases: [object, string][] = [
      [{ chunks: { lat: 2 } }, "chunks: there is no dimension 'lat'; there are time, x"],
      [{ shards: { time: 0 } }, 'shards: lengths are integers from 1, got 0'],
      [{ chunks: { time: 4 }, shards: { time: 5 } }, 'do not divide shards'],
      [{ codec: 'zstandard' }, 'zstandard'],
      [{ blockBytes: 1024 }, '`blockBytes` is for containers'],
      [{ format: 'hdf5' }, 'hdf5'],
    ]
    for (const [options, text] of cases) await expect(dataset().write(at(store), options as never), text).rejects.toThrow(text)
    await expect(dataset().write(at(store, 'x.af'), { shards: { time: 2 } })).rejects.toThrow('`shards` is for Zarr')
    expect(await store.list('')).toEqual([])
    await dataset().write(at(store, 'anything'), { format: 'zarr', codec: 'gzip', level: 1 })
    const t = await (await openZarr(at(store, 'anything'), { kind: 'group' })).array('t')
    expect(t.metadata.codecs).toEqual([expect.objectContaining({ name: 'bytes' }), { name: 'gzip', configuration: { level: 1 } }])
  })
})

test('an attribute that is an object of a type and a value stays that object', async () => {
  const attrs = { range: { type: 'int32', value: 5 }, list: { type: 'float64[]', value: [1, 2] }, plain: 1.5 }
  const store = new MemoryStore()
  const ds = new Dataset({ t: { dims: ['x'], data: [1, 2], attrs } }, { attrs })
  await ds.write({ store, path: 'a.zarr' })
  const zarr = await openDataset({ store, path: 'a.zarr' })
  expect([zarr.attrs, zarr.get('t').attrs]).toEqual([attrs, attrs])
  // Containers have no objects: these become text.
  await ds.write({ store, path: 'a.af' })
  const text = { ...attrs, range: JSON.stringify(attrs.range), list: JSON.stringify(attrs.list) }
  const container = await openDataset({ store, path: 'a.af' })
  expect([container.attrs, container.get('t').attrs]).toEqual([text, text])
  // Integers beyond 2^53 within them stay what they are.
  const long = new Dataset({ t: { dims: ['x'], data: [1], attrs: { inner: { big: 2n ** 60n } } } })
  expect(String(long.get('t'))).toContain('1152921504606846976')
  await long.write({ store, path: 'b.af' })
  expect((await openDataset({ store, path: 'b.af' })).get('t').attrs).toEqual({ inner: '{"big":1152921504606846976}' })
})

test('integers of Zarr attributes stay integers in a container, and whole floats stay floats', async () => {
  const store = new MemoryStore()
  const document = (node_type: string, attributes: string, rest = '') =>
    store.put(
      node_type === 'group' ? 'a.zarr/zarr.json' : 'a.zarr/t/zarr.json',
      new TextEncoder().encode(`{"zarr_format":3,"node_type":"${node_type}","attributes":${attributes}${rest}}`),
    )
  const attributes = '{"whole":3,"float":3.0,"integers":[1,2],"floats":[1.0,2.0],"long":1099511627776}'
  await document('group', attributes)
  const grid = '"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"}'
  const rest = `,"shape":[2],"data_type":"int16","fill_value":0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"dimension_names":["x"],${grid}`
  await document('array', attributes, rest)
  await (await openDataset({ store, path: 'a.zarr' })).write({ store, path: 'b.af' })
  const again = await openDataset({ store, path: 'b.af' })
  await again.write({ store, path: 'c.zarr' })
  for (const key of ['c.zarr/zarr.json', 'c.zarr/t/zarr.json']) {
    const info = await store.stat(key)
    const text = new TextDecoder().decode(await store.getRange(key, 0, info!.size)).replace(/\s/g, '')
    expect(text, key).toContain(attributes.slice(1, -1))
  }
})
