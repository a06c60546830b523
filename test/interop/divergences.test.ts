import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeChunk } from '../../src/af/values.js'
import { type ArrayFile, create, open } from '../../src/runtime/index.js'
import { haveCargo } from '../support/cargo.js'
import { Peer, type PeerArray } from './peer.js'
import { fromHex, wireAttribute, wireData } from './wire.js'

/*
 * Where array-format 0.12 and this package differ, each with the smallest history that shows it. Which side is right follows from the
 * rule that what is read is what was written last. The histories of history.test.ts keep away from these.
 */
describe.skipIf(!haveCargo())('where the Rust crate array-format 0.12 differs', () => {
  let peer: Peer
  let folder: string
  beforeAll(() => {
    peer = new Peer()
  }, 600_000)
  afterAll(() => peer.stop())
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hyperslab-interop-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/af/hostile/${name}`, import.meta.url))
  const path = () => join(folder, 't.af')
  const int32 = (...values: number[]): string => wireData('int32', Int32Array.from(values))
  const inCrate = (what: 'create' | 'open') => peer.do(what, { folder, file: 't.af' })
  const define = (name: string, options: Record<string, unknown> = {}) =>
    peer.do('define', { name, dtype: 'int32', shape: [4], chunkShape: [2], dimensionNames: ['x'], fillValue: null, ...options })
  const write = (name: string, start: number, ...values: number[]) =>
    peer.do('write', { name, dtype: 'int32', start: [start], shape: [values.length], data: int32(...values) })
  const text = (value: string) => wireAttribute({ type: 'string', value })
  const crateArray = async (name: string, keys: string[] = []): Promise<PeerArray> =>
    (await peer.dump(keys)).arrays.find((array) => array.name === name)!
  const here = async <T>(work: (file: ArrayFile) => Promise<T>): Promise<T> => {
    await using file = await open(path())
    return await work(file)
  }
  const valuesHere = (name: string): Promise<number[]> => here(async (file) => [...(await file.array(name, 'int32').get()).data])

  test('attributes: it looks indices up in the newest dictionary, whichever they are for', async () => {
    await inCrate('create')
    for (const [name, key, value] of [
      ['a', 'units', 'm'],
      ['b', 'title', 'T'],
    ] as const) {
      await define(name)
      await peer.do('attribute', { name, key, value: text(value) })
      await peer.do('flush')
    }
    expect((await crateArray('a', ['units', 'title'])).attributes).toEqual({ units: text('T'), title: text('T') })
    await here(async (file) => {
      expect(Object.fromEntries(file.array('a').attrs)).toEqual({ units: 'm' })
      // After a layer of this package the crate is right, too.
      file.array('b').attrs.set('more', 1)
      await file.flush()
    })
    await inCrate('open')
    expect((await crateArray('a', ['units', 'title'])).attributes).toEqual({ units: text('m') })
    expect((await crateArray('b', ['units', 'title'])).attributes).toEqual({ title: text('T') })
  })

  test('deleted arrays: their chunks show through an array of the same name that it defines', async () => {
    await inCrate('create')
    await define('a')
    await write('a', 0, 1, 2, 3, 4)
    await peer.do('flush')
    await peer.do('delete', { name: 'a' })
    await peer.do('flush')
    await define('a')
    await write('a', 0, 7, 8)
    await peer.do('flush')
    expect((await crateArray('a')).values).toEqual({ ok: int32(7, 8, 3, 4) })
    expect(await valuesHere('a')).toEqual([7, 8, 0, 0])
  })

  test('deleted and defined in one session: no tombstone tells, and an equal definition is the same array for every reader', async () => {
    await inCrate('create')
    await define('a')
    await write('a', 0, 1, 2, 3, 4)
    await peer.do('flush')
    await peer.do('delete', { name: 'a' })
    await define('a')
    await peer.do('flush')
    expect((await crateArray('a')).values).toEqual({ ok: int32(1, 2, 3, 4) })
    expect(await valuesHere('a')).toEqual([1, 2, 3, 4])
  })

  test('deleted and defined otherwise in one session: a difference proves it here, and fails there', async () => {
    await inCrate('create')
    await define('a')
    await write('a', 0, 1, 2, 3, 4)
    await peer.do('flush')
    await peer.do('delete', { name: 'a' })
    await define('a', { dtype: 'float64' })
    await peer.do('flush')
    expect((await crateArray('a')).values.error).toContain('ShapeError')
    expect(await here(async (file) => [...(await file.array('a', 'float64').get()).data])).toEqual([0, 0, 0, 0])
  })

  test('an array defined anew with another rank: old chunks cannot be covered, and it panics until a compaction', async () => {
    await (await create(path())).close()
    await here(async (file) => {
      await file.define('a', { dtype: 'int32', shape: [4], chunkShape: [2] }).set(null, [1, 2, 3, 4])
      await file.flush()
      file.delete('a')
      await file.define('a', { dtype: 'int32', shape: [2, 2] }).set(null, [5, 6, 7, 8])
      await file.flush()
    })
    await inCrate('open')
    expect((await crateArray('a')).values.panic).toContain('out of bounds')
    expect(await valuesHere('a')).toEqual([5, 6, 7, 8])
    await here((file) => file.compact())
    await inCrate('open')
    expect((await crateArray('a')).values).toEqual({ ok: int32(5, 6, 7, 8) })
  })

  test('a smaller array defined anew: old chunks outside its grid spoil the statistics it writes', async () => {
    await (await create(path())).close()
    await here(async (file) => {
      await file.define('a', { dtype: 'int32', shape: [4], chunkShape: [2] }).set(null, [1, 2, 3, 4])
      await file.flush()
      file.delete('a')
      await file.define('a', { dtype: 'int32', shape: [2], chunkShape: [2] }).set(null, [5, 6])
      await file.flush()
      expect(await file.stats('a')).toEqual({ min: 5, max: 6, nullCount: 0, rowCount: 2 })
    })
    await inCrate('open')
    await write('a', 0, 7)
    await peer.do('flush')
    const { values, stats } = await crateArray('a')
    expect(values).toEqual({ ok: int32(7, 6) })
    expect(stats).toMatchObject({ nullCount: String(2n ** 64n - 2n), rowCount: '2' })
  })

  test('string fill values: it reads empty strings', async () => {
    await (await create(path())).close()
    await here(async (file) => {
      file.define('a', { dtype: 'string', shape: [2], fillValue: 'none' })
      await file.flush()
      expect((await file.array('a', 'string').get()).data).toEqual(['none', 'none'])
    })
    await inCrate('open')
    expect(await crateArray('a')).toMatchObject({
      fillValue: { kind: 'string', value: 'none' },
      values: { ok: wireData('string', ['', '']) },
    })
  })

  test('bool arrays: it has no element type for them', async () => {
    await (await create(path())).close()
    await here(async (file) => {
      await file.define('a', { dtype: 'bool', shape: [2] }).set(null, [true, false])
      await file.flush()
    })
    await inCrate('open')
    expect(await crateArray('a')).toMatchObject({ dtype: 'bool', stats: { nullCount: '0', rowCount: '2' } })
    await peer.do('compact')
    expect(await here(async (file) => [...(await file.array('a', 'bool').get()).data])).toEqual([1, 0])
  })

  test('axes of length 0: it divides by them when it writes', async () => {
    await inCrate('create')
    await define('a', { shape: [0], chunkShape: [0] })
    const command = { do: 'write', name: 'a', dtype: 'int32', start: [0], shape: [0], data: '' }
    expect((await peer.ask(command)).panic).toContain('divide by zero')
    await peer.do('flush')
    expect(await valuesHere('a')).toEqual([])
  })

  test('strings that are not UTF-8: it replaces what it cannot read', async () => {
    await copyFile(fixture('vlen_e_bad_utf8.af'), path())
    await inCrate('open')
    const [array] = (await peer.dump([])).arrays
    expect(decodeChunk('string', fromHex(array!.values.ok as string), array!.shape[0]!).join()).toContain('\ufffd')
    await expect(here((file) => file.array(array!.name).get())).rejects.toMatchObject({ tag: 'FormatError' })
  })

  test('blocks that are said to be uncompressed, and are not: it reads what the chunk would be if they were', async () => {
    await copyFile(fixture('n_codec_none_but_lz4.af'), path())
    await inCrate('open')
    expect((await crateArray('temperature')).values.ok).not.toBe(wireData('float32', Float32Array.of(1, 2, 3, 4)))
    await expect(here((file) => file.array('temperature').get())).rejects.toMatchObject({ tag: 'CodecError' })
  })

  test('compaction: its cache confuses the blocks of the next layers with those of the old, and statistics become wrong', async () => {
    await inCrate('create')
    await define('a', { chunkShape: [4] })
    await write('a', 0, 1, 2, 3, 4)
    await peer.do('flush')
    expect((await crateArray('a')).values).toEqual({ ok: int32(1, 2, 3, 4) })
    await peer.do('compact')
    await write('a', 0, 5, 6, 7, 8)
    await peer.do('flush')
    const { values, stats } = await crateArray('a')
    expect(values).toEqual({ ok: int32(1, 2, 3, 4) })
    expect(stats?.max?.value).toBe(wireData('int64', BigInt64Array.of(4n)))
    // Nothing in the file tells that its statistics are wrong.
    expect(await valuesHere('a')).toEqual([5, 6, 7, 8])
    expect(await here((file) => file.stats('a'))).toMatchObject({ min: 1, max: 4 })
    await here(async (file) => {
      await file.compact()
      expect(await file.stats('a')).toMatchObject({ min: 5, max: 8 })
    })
  })
})
