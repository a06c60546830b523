import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { withTrailer } from '../../src/af/format/encode.ts'
import { STATS_MAGIC } from '../../src/af/format/footer-trailer.ts'
import { decodeStats, encodeStats, splitFile } from '../../src/af/format/stats-file.ts'
import { decodeChunk } from '../../src/engine/chunk-values.ts'
import { type ArrayFile, create, open } from '../../src/runtime/index.ts'
import { havePeer, Peer, type PeerArray } from './peer.ts'
import { fromHex, wireAttribute, wireData } from './wire.ts'

/*
 * Differences between array-format 0.12 and this package, each with the smallest history that shows it. The
 * side that reads the last written values is right. The histories of history.test.ts avoid these. Differences
 * that need a crash or a failing store are not here.
 */
describe.skipIf(!havePeer)('where the Rust crate array-format 0.12 differs', () => {
  let peer: Peer
  let folder: string
  beforeAll(async () => {
    peer = await Peer.start()
  }, 1_800_000)
  afterAll(() => peer?.stop())
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
    // Right is this package: an index means the dictionary it was written with.
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
    // Right is this package: what was deleted was not written to the new array.
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
    // Right would be zeros; nothing in the file can tell, so both show the old array, which was never said to
    // be gone.
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
    // Right is this package: the old chunks are of another type.
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
    // Right is this package: the old chunks are not of this array.
    await (await create(path())).close()
    await here(async (file) => {
      await file.createArray('a', { dtype: 'int32', shape: [4], chunks: [2] }).set(null, [1, 2, 3, 4])
      await file.flush()
      file.delete('a')
      await file.createArray('a', { dtype: 'int32', shape: [2, 2] }).set(null, [5, 6, 7, 8])
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
    // Right is this package: no more elements than there are can be null.
    await (await create(path())).close()
    await here(async (file) => {
      await file.createArray('a', { dtype: 'int32', shape: [4], chunks: [2] }).set(null, [1, 2, 3, 4])
      await file.flush()
      file.delete('a')
      await file.createArray('a', { dtype: 'int32', shape: [2], chunks: [2] }).set(null, [5, 6])
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
    // This package is right: unwritten elements have the fill value that the file states.
    await (await create(path())).close()
    await here(async (file) => {
      file.createArray('a', { dtype: 'string', shape: [2], fillValue: 'none' })
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
    // Right is this package: the format has the type, and one byte an element.
    await (await create(path())).close()
    await here(async (file) => {
      await file.createArray('a', { dtype: 'bool', shape: [2] }).set(null, [true, false])
      await file.flush()
    })
    await inCrate('open')
    expect(await crateArray('a')).toMatchObject({ dtype: 'bool', stats: { nullCount: '0', rowCount: '2' } })
    await peer.do('compact')
    expect(await here(async (file) => [...(await file.array('a', 'bool').get()).data])).toEqual([1, 0])
  })

  test('axes of length 0: it divides by them when it writes', async () => {
    // Right is this package: writing nothing writes nothing.
    await inCrate('create')
    await define('a', { shape: [0], chunkShape: [0] })
    const command = { do: 'write', name: 'a', dtype: 'int32', start: [0], shape: [0], data: '' }
    expect((await peer.ask(command)).panic).toContain('divide by zero')
    await peer.do('flush')
    expect(await valuesHere('a')).toEqual([])
  })

  test('strings that are not UTF-8: it replaces what it cannot read', async () => {
    // Right is this package: other text than was written is a wrong value.
    await copyFile(fixture('vlen_e_bad_utf8.af'), path())
    await inCrate('open')
    const [array] = (await peer.dump([])).arrays
    expect(decodeChunk('string', fromHex(array!.values.ok as string), array!.shape[0]!).join()).toContain('\ufffd')
    await expect(here((file) => file.array(array!.name).get())).rejects.toMatchObject({ tag: 'FormatError' })
  })

  test('blocks that are said to be uncompressed, and are not: it reads what the chunk would be if they were', async () => {
    // Right is this package: bytes of another length than announced are not the chunk.
    await copyFile(fixture('n_codec_none_but_lz4.af'), path())
    await inCrate('open')
    expect((await crateArray('temperature')).values.ok).not.toBe(wireData('float32', Float32Array.of(1, 2, 3, 4)))
    await expect(here((file) => file.array('temperature').get())).rejects.toMatchObject({ tag: 'CodecError' })
  })

  test('compaction: its cache confuses the blocks of the next layers with those of the old, and statistics become wrong', async () => {
    // Right is this package: what is read is what was written last.
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
    // The file contains no sign that its statistics are wrong.
    expect(await valuesHere('a')).toEqual([5, 6, 7, 8])
    expect(await here((file) => file.stats('a'))).toMatchObject({ min: 1, max: 4 })
    await here(async (file) => {
      await file.compact()
      expect(await file.stats('a')).toMatchObject({ min: 5, max: 8 })
    })
  })

  test('an array made smaller: old chunks outside its grid spoil the statistics it writes', async () => {
    // Right is this package: chunks outside the grid are no elements. Compacting here drops them.
    await (await create(path())).close()
    await here(async (file) => {
      await file.createArray('a', { dtype: 'int32', shape: [4], chunks: [2] }).set(null, [1, 2, 3, 4])
      await file.flush()
      await file.array('a').resize([2])
      await file.flush()
    })
    await inCrate('open')
    expect(await crateArray('a')).toMatchObject({
      shape: [2],
      values: { ok: int32(1, 2) },
      stats: { nullCount: '0', rowCount: '2' },
    })
    await write('a', 0, 7)
    await peer.do('flush')
    expect((await crateArray('a')).stats).toMatchObject({ nullCount: String(2n ** 64n - 2n) })
    await here((file) => file.compact())
    await inCrate('open')
    await write('a', 1, 8)
    await peer.do('flush')
    expect(await crateArray('a')).toMatchObject({ values: { ok: int32(7, 8) }, stats: { nullCount: '0' } })
  })

  test('deleted and defined in another shape in one session: a new array here, the old chunks there', async () => {
    // Right is this package: only layers with its mark resize; other programs change a shape by defining
    // anew.
    await inCrate('create')
    await define('a')
    await write('a', 0, 1, 2, 3, 4)
    await peer.do('flush')
    await peer.do('delete', { name: 'a' })
    await define('a', { shape: [6] })
    await peer.do('flush')
    expect((await crateArray('a')).values).toEqual({ ok: int32(1, 2, 3, 4, 0, 0) })
    expect(await valuesHere('a')).toEqual([0, 0, 0, 0, 0, 0])
  })

  test('compaction with pending changes: it loses what was written since the last flush', async () => {
    // This package is right: the caller did not ask to drop the changes.
    await inCrate('create')
    await define('a')
    await write('a', 0, 1, 2, 3, 4)
    await peer.do('compact')
    await inCrate('open')
    expect((await crateArray('a')).values).toEqual({ ok: int32(0, 0, 0, 0) })
    await here(async (file) => {
      await file.array('a').set(null, [1, 2, 3, 4])
      await file.compact()
    })
    expect(await valuesHere('a')).toEqual([1, 2, 3, 4])
  })

  test('a gap between sidecars: it writes over one that exists', async () => {
    // Right is this package: a flush must not take back what another has flushed. It closes the gap, so that
    // the crate goes on behind it.
    for (const turn of ['the crate', 'ours first']) {
      for (const number of [1, 3, 4]) await rm(join(folder, `t.${number}.af`), { force: true })
      await inCrate('create')
      for (const name of ['a', 'b', 'c']) {
        await define(name)
        await peer.do('flush')
      }
      await rm(join(folder, 't.2.af'))
      const numbers = () => here(async (file) => file.layers().map(({ number }) => number))
      if (turn === 'ours first') {
        await here(async (file) => {
          expect(file.arrays()).toEqual(['a', 'c'])
          file.createArray('ours', { dtype: 'int32', shape: [1] })
          await file.flush()
        })
        expect(await numbers()).toEqual([0, 1, 3, 4])
      }
      await inCrate('open')
      await define('theirs')
      await peer.do('flush')
      const arrays = await here(async (file) => file.arrays())
      if (turn === 'ours first')
        expect([await numbers(), arrays]).toEqual([
          [0, 1, 3, 4, 5],
          ['a', 'c', 'ours', 'theirs'],
        ])
      else
        expect([await numbers(), arrays]).toEqual([
          [0, 1, 3],
          ['a', 'theirs'],
        ])
    }
  })

  test('two writers: with the crate the last one wins, and the first is lost', async () => {
    // Right is this package: the second is told, and can go on.
    await inCrate('create')
    await using file = await open(path())
    await define('theirs')
    await peer.do('flush')
    file.createArray('ours', { dtype: 'int32', shape: [1] })
    await expect(file.flush()).rejects.toMatchObject({ tag: 'ConflictError' })
    await file.refresh()
    await file.flush()
    // It has not seen layer 2.
    await define('more')
    await peer.do('flush')
    expect(await here(async (reader) => reader.arrays())).toEqual(['theirs', 'more'])
  })

  test('creating over a container: old sidecars come back', async () => {
    // Right is this package: a new container is empty, and replacing one has to be asked for.
    await inCrate('create')
    await define('a')
    await peer.do('flush')
    await inCrate('create')
    await inCrate('open')
    expect((await peer.dump([])).arrays.map(({ name }) => name)).toEqual(['a'])
    await expect(create(path())).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
    await (await create(path(), { overwrite: true })).close()
    await inCrate('open')
    expect((await peer.dump([])).arrays).toEqual([])
  })

  test('statistics without a version: it cannot open what it wrote before 0.12', async () => {
    // Right is this package: the files are those of a release, and the data needs none of them.
    await (await create(path())).close()
    await here(async (file) => {
      await file.createArray('a', { dtype: 'int32', shape: [2] }).set(null, [1, 2])
      await file.flush()
    })
    const stats = join(folder, 't.stats')
    const { arrays } = decodeStats(splitFile(new Uint8Array(await readFile(stats)), STATS_MAGIC).payload)
    await writeFile(stats, withTrailer(encodeStats(arrays, 0), STATS_MAGIC))
    expect((await peer.ask({ do: 'open', folder, file: 't.af' })).error).toContain('serialization error')
    expect(await here((file) => file.stats('a'))).toEqual({ min: 1, max: 2, nullCount: 0, rowCount: 2 })
  })

  test('names that are no numbers as this package writes them: it takes them for sidecars', async () => {
    // This package is right: writers never use such names, so they are copies that a user made.
    await inCrate('create')
    await define('a')
    await peer.do('flush')
    await copyFile(join(folder, 't.1.af'), join(folder, 't.007.af'))
    await inCrate('open')
    expect((await peer.dump([])).layers).toBe(3)
    expect(await here(async (file) => file.layers().length)).toBe(2)
  })

  test('a name without .af: it creates what it cannot open', async () => {
    // Right is this package: it refuses both.
    await peer.do('create', { folder, file: 't' })
    expect((await peer.ask({ do: 'open', folder, file: 't' })).error).toBeDefined()
    await expect(create(join(folder, 'u'))).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })

  test('more than 65 536 values of attributes: it writes the number of another one', async () => {
    // Right is this package: the format has wider numbers, which the crate reads.
    const last = 2 ** 16
    const value = (i: number) => wireAttribute({ type: 'float64', value: i })
    await inCrate('create')
    await define('a')
    for (let i = 0; i <= last; i += 1000) {
      const some = Array.from({ length: Math.min(1000, last + 1 - i) }, (_, k) => value(i + k))
      await Promise.all(some.map((each) => peer.do('attribute', { name: 'a', key: 'k', value: each })))
    }
    await peer.do('flush')
    expect((await crateArray('a', ['k'])).attributes).toEqual({ k: value(0) })
    await here(async (file) => {
      const { attrs } = file.array('a')
      expect(attrs.get('k')).toBe(0)
      for (let i = 0; i <= last; i++) attrs.set(`k${i}`, -i)
      await file.flush()
    })
    await inCrate('open')
    expect((await crateArray('a', [`k${last}`])).attributes).toEqual({ [`k${last}`]: value(-last) })
    expect(await here(async (file) => file.array('a').attrs.get(`k${last}`))).toBe(-last)
  })

  test('lengths beyond 32 bits: it takes what is left of them', async () => {
    // Right is this package: it refuses what the format has no number for.
    await inCrate('create')
    await define('a', { shape: [2 ** 32 + 5] })
    expect((await crateArray('a')).shape).toEqual([5])
    await here(async (file) => {
      const details = expect.objectContaining({ axis: 0, actual: 2 ** 32 + 5, expected: 2 ** 32 - 1 })
      const refusal = { tag: 'InvalidArgumentError', details }
      const shape = [2 ** 32 + 5]
      expect(() => file.createArray('b', { dtype: 'int32', shape, chunks: [2] })).toThrow(expect.objectContaining(refusal))
      const array = file.createArray('c', { dtype: 'int32', shape: [1], chunks: [2] })
      await expect(array.resize(shape)).rejects.toMatchObject(refusal)
    })
  })

  test.each([
    ['b_chunk_offset_oob', 'a chunk beyond its block'],
    ['d_block_beyond_file', 'a block beyond the file'],
    ['j_chunk_coord_rank', 'a coordinate of another rank'],
    ['vlen_b_descending', 'values that end before they begin'],
  ])('%s, %s: it panics', async (name) => {
    // Right is this package: damage is an error that can be caught.
    await copyFile(fixture(`${name}.af`), path())
    await inCrate('open')
    expect((await peer.dump([])).arrays[0]!.values.panic).toBeDefined()
    const read = here(async (file) => file.array(file.arrays()[0]!).get())
    await expect(read).rejects.toMatchObject({ tag: 'FormatError' })
  })
})
