import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generate } from '../../src/array/combine.ts'
import { DiskArray } from '../../src/array/disk-array.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { openDataset } from '../../src/runtime/open-dataset.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { CountingSource } from '../support/counting-source.ts'
import { type DatasetPeer, startDatasets } from '../support/dataset-peer.ts'

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
    expect(progress.at(-1)).toEqual({ done: 9, total: 9 })
    const group = await openZarr(at(store), { kind: 'group' })
    expect(group.consolidated).toBe(true)
    const t = await group.array('t', 'float32', 2)
    expect((await t.toTensor()).data).toEqual(plain)
    expect(t.chunks.chunkShape).toEqual([2, 2])
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
      [{ blockBytes: 1024 }, 'blockBytes is for containers'],
      [{ format: 'hdf5' }, 'hdf5'],
    ]
    for (const [options, text] of cases) await expect(dataset().write(at(store), options as never), text).rejects.toThrow(text)
    await expect(dataset().write(at(store, 'x.af'), { shards: { time: 2 } })).rejects.toThrow('shards is for Zarr')
    expect(await store.list('')).toEqual([])
    await dataset().write(at(store, 'anything'), { format: 'zarr', codec: 'gzip', level: 1 })
    const t = await (await openZarr(at(store, 'anything'), { kind: 'group' })).array('t')
    expect(t.metadata.codecs).toEqual([expect.objectContaining({ name: 'bytes' }), { name: 'gzip', configuration: { level: 1 } }])
  })
})
