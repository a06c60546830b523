import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { encodeFooterFile } from '../../src/af/format/encode.ts'
import type { AfDType, AttributeValue } from '../../src/af/format/footer.ts'
import { ATTRIBUTE_TYPES } from '../../src/af/format/footer-attributes.ts'
import { STATS_MAGIC } from '../../src/af/format/footer-trailer.ts'
import { decodeStats, splitFile } from '../../src/af/format/stats-file.ts'
import { allocate, DTYPES, type DType, isBigInt, isNumeric } from '../../src/core/dtype.ts'
import { type ArrayFile, create, MemoryStore, open, verify } from '../../src/runtime/index.ts'
import { createWithBase, footerOf, metaOf } from '../support/containers.ts'
import { dataOf } from './judge.ts'
import { havePeer, Peer } from './peer.ts'
import { wireAttribute, wireData, wireScalar } from './wire.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/af/${name}`, import.meta.url))
const named: string[] = []
/** A test of the promise of this name. */
const promise = (name: string, work: () => Promise<void>): void => {
  named.push(name)
  test(name, work)
}

let folder: string
const path = (): string => join(folder, 't.af')
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-promises-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Elements that tell each other apart. */
function elementsOf(dtype: DType, count: number): unknown[] {
  return Array.from({ length: count }, (_, i) => {
    if (dtype === 'string') return `é${i}`
    if (dtype === 'binary') return Uint8Array.of(i, 0)
    if (dtype === 'bool') return i % 2
    return isBigInt(dtype) ? BigInt(i) : i
  })
}

describe.skipIf(!havePeer)('the Rust crate reads', () => {
  let peer: Peer
  beforeAll(async () => {
    peer = await Peer.start()
  }, 1_800_000)
  afterAll(() => peer?.stop())
  const inCrate = () => peer.do('open', { folder, file: 't.af' })

  promise('arrays of every type', async () => {
    await using file = await create(path())
    for (const dtype of DTYPES) {
      const plain = dtype === 'string' || dtype === 'binary'
      const fillValue = plain ? {} : { fillValue: (dtype === 'bool' ? true : isBigInt(dtype) ? 7n : 7) as never }
      const array = file.createArray(dtype, { dtype, shape: [5, 2], chunks: [2, 2], dimensionNames: ['y', 'x'], ...fillValue })
      await array.set([0], elementsOf(dtype, 2) as never)
    }
    await file.flush()
    await inCrate()
    const { arrays } = await peer.dump([])
    expect(arrays.map(({ name }) => name)).toEqual(DTYPES)
    for (const { name, dtype, shape, chunkShape, dimensionNames, fillValue, values } of arrays) {
      const array = file.array(name)
      expect([dtype, shape, chunkShape, dimensionNames]).toEqual([name, [5, 2], [2, 2], ['y', 'x']])
      expect(fillValue).toEqual(wireScalar(array.state.definition.fillValue))
      if (name !== 'bool') expect(values, name).toEqual({ ok: wireData(array.dtype, await dataOf(array)) })
      else expect(values).not.toHaveProperty('ok')
    }
  })

  promise('attributes of all 26 kinds', async () => {
    await using file = await create(path())
    const array = file.createArray('a', { dtype: 'float32', shape: [3] })
    await array.set(null, [1, 2, 3])
    for (const type of ATTRIBUTE_TYPES) array.attrs.set(type, attributeOf(type))
    await file.flush()
    await inCrate()
    const [{ attributes, stats }] = (await peer.dump([...ATTRIBUTE_TYPES])).arrays as [
      Awaited<ReturnType<Peer['dump']>>['arrays'][0],
    ]
    expect(ATTRIBUTE_TYPES.length).toBe(26)
    expect(attributes).toEqual(Object.fromEntries(ATTRIBUTE_TYPES.map((type) => [type, wireAttribute(attributeOf(type))])))
    expect(stats).toMatchObject({ nullCount: '0', rowCount: '3' })
  })

  promise('layers, tombstones and compacted files', async () => {
    for (const codec of ['lz4', 'zstd', 'none']) {
      await using file = await create(path(), { codec, overwrite: true })
      await file.createArray('a', { dtype: 'int32', shape: [6], chunks: [2] }).set(null, [1, 2, 3, 4, 5, 6])
      await file.createArray('b', { dtype: 'int32', shape: [1] }).set(null, [1])
      await file.flush()
      await file.array('a').set([3], 40)
      file.delete('b')
      await file.flush()
      for (const compacted of [false, true]) {
        if (compacted) await file.compact()
        await peer.do('open', { folder, file: 't.af', codec })
        const { arrays } = await peer.dump([])
        const values = { ok: wireData('int32', Int32Array.of(1, 2, 3, 40, 5, 6)) }
        expect(arrays.map((array) => [array.name, array.values])).toEqual([['a', values]])
      }
      // It adds a layer, then compacts: the data stays, checked as far as there are checksums.
      await peer.do('write', { name: 'a', dtype: 'int32', start: [0], shape: [1], data: wireData('int32', Int32Array.of(9)) })
      await peer.do('flush')
      for (const blocks of [1, 0]) {
        if (blocks === 0) await peer.do('compact')
        await using again = await open(path())
        expect([...((await again.array('a', 'int32').get()).data as Int32Array)]).toEqual([9, 2, 3, 40, 5, 6])
        expect(again.layers().reduce((sum, { checkedBlocks }) => sum + checkedBlocks, 0)).toBe(blocks)
        expect((await again.verify({ deep: true })).findings).toEqual([])
      }
    }
  })

  test('LZ4 blocks in segments, of any contents, as those it would have written', async () => {
    const values = Int16Array.from({ length: 20_000 }, (_, i) =>
      i % 5000 < 1000 ? 7 : i % 5000 < 3000 ? Math.round(1000 * Math.sin(i / 50)) : Math.imul(i, 0x9e3779b9) >> 8,
    )
    for (const segmentBytes of [1, 600, 3000]) {
      await using file = await create(path(), { segmentBytes, overwrite: true })
      await file.createArray('a', { dtype: 'int16', shape: [values.length], chunks: [100] }).set(null, values)
      await file.flush()
      await inCrate()
      const { arrays } = await peer.dump([])
      expect(arrays.map(({ values }) => values)).toEqual([{ ok: wireData('int16', values) }])
    }
  })
})

function attributeOf(type: AttributeValue['type']): AttributeValue {
  const one = (dtype: string): unknown => (dtype === 'bool' ? true : (elementsOf(dtype as DType, 3)[2] as unknown))
  if (!type.endsWith('[]')) return { type, value: one(type) } as AttributeValue
  const dtype = type.slice(0, -2) as DType
  const value = isNumeric(dtype) ? allocate(dtype, 1) : []
  value[0] = one(dtype) as never
  return { type, value } as AttributeValue
}

/** A container of 40 numbers in two blocks, in memory. */
async function inMemory(options: Parameters<typeof create>[1] = {}): Promise<MemoryStore> {
  const store = new MemoryStore()
  await using file = await createWithBase({ store, path: 'a.af' }, { blockBytes: 80, ...options })
  await file.createArray('x', { dtype: 'int32', shape: [40], chunks: [5] }).set(
    null,
    Int32Array.from({ length: 40 }, (_, i) => i),
  )
  await file.flush()
  return store
}

async function damage(store: MemoryStore, at: number): Promise<void> {
  const bytes = (await store.getRange('a.1.af', 0, (await store.stat('a.1.af'))!.size))!.slice()
  bytes[at < 0 ? bytes.length + at : at]! ^= 1
  await store.put('a.1.af', bytes)
}

describe('only this package reads', () => {
  promise('checksums', async () => {
    const store = await inMemory()
    await damage(store, 0)
    {
      await using file = await open({ store, path: 'a.af' })
      await expect(file.array('x').get()).rejects.toMatchObject({
        tag: 'IntegrityError',
        message: expect.stringMatching(/^memory:a\.1\.af: array 'x': block 0: /),
      })
    }
    // Damages the last bytes of the footer, in front of the trailer.
    await damage(store, -13)
    await expect(open({ store, path: 'a.af' })).rejects.toMatchObject({ tag: 'IntegrityError' })
  })

  promise('statistics of each chunk', async () => {
    const store = await inMemory()
    await store.delete('a.stats')
    await using file = await open({ store, path: 'a.af' })
    expect(await file.stats('x')).toEqual({ min: 0, max: 39, nullCount: 0, rowCount: 40 })
    expect(file.readCost.blocks).toBe(0)
  })

  promise('segments of LZ4 blocks', async () => {
    const store = new MemoryStore()
    const values = Float64Array.from({ length: 8 * 40_000 }, (_, i) => Math.sin(i))
    await using file = await createWithBase({ store, path: 'a.af' })
    await file.createArray('x', { dtype: 'float64', shape: [values.length], chunks: [40_000] }).set(null, values)
    await file.flush()
    await using again = await open({ store, path: 'a.af' })
    expect(await again.array('x', 'float64').get([100_000])).toBe(values[100_000])
    const { blocks, compressedBytes } = again.layers()[1]!
    expect(blocks).toBe(1)
    expect(again.readCost.bytes).toBeLessThan(compressedBytes / 7)
  })

  promise('checksums of parts of blocks without compression', async () => {
    const store = new MemoryStore()
    const values = Float64Array.from({ length: 8 * 1000 }, (_, i) => Math.sin(i))
    await using file = await createWithBase({ store, path: 'a.af' }, { codec: 'none' })
    await file.createArray('x', { dtype: 'float64', shape: [values.length], chunks: [1000] }).set(null, values)
    await file.flush()
    await damage(store, 8 * 2500)
    await using again = await open({ store, path: 'a.af' })
    const array = again.array('x', 'float64')
    expect(await array.get([1999])).toBe(values[1999])
    expect(again.readCost).toEqual({ blocks: 1, bytes: 8000 })
    await expect(array.get([2000])).rejects.toMatchObject({
      tag: 'IntegrityError',
      message: expect.stringMatching(/^memory:a\.1\.af: array 'x': block 0: bytes 16000 to 24000 as stored: /),
    })
    expect((await again.verify()).findings).toMatchObject([{ severity: 'error', file: 'memory:a.1.af', block: 0, array: 'x' }])
  })

  promise('two generations of files', async () => {
    for (const [name, version] of [
      ['v4_corpus_zstd', 4],
      ['corpus_lz4', 5],
    ] as const) {
      await using file = await open(fixture(`${name}/all.af`))
      expect(file.layers().every((layer) => layer.version === version)).toBe(true)
      expect(await file.stats('big')).toMatchObject({ min: 0, max: 9999 })
      expect(file.readCost.blocks).toBe(0)
    }
    const store = await inMemory()
    await using file = await open({ store, path: 'a.af' })
    expect(file.layers().map(({ version }) => version)).toEqual([5, 5])
    const stats = (await store.getRange('a.stats', 0, (await store.stat('a.stats'))!.size))!
    expect(decodeStats(splitFile(stats, STATS_MAGIC).payload).version).toBe(1)
  })
})

describe('not checked on reading', () => {
  promise('files of other programs', async () => {
    const bytes = await readFile(fixture('corpus_none_compact/all.af'))
    await using whole = await open(bytes)
    expect(whole.layers().map(({ checkedBlocks }) => checkedBlocks)).toEqual([0])
    const read = async (file: ArrayFile) =>
      JSON.stringify(
        await Promise.all(file.arrays().map(async (name) => (await file.array(name).get([])) as unknown)),
        (_, value) => (typeof value === 'bigint' ? `${value}n` : value),
      )
    const right = await read(whole)
    bytes[0]! ^= 1
    await using damaged = await open(bytes)
    expect(await read(damaged)).not.toBe(right)
    expect((await damaged.verify()).checked.blocksWithoutChecksum).toBeGreaterThan(0)
  })
})

describe('refused:', () => {
  const refuses = (work: Promise<unknown>, tag: string, details: object = {}) =>
    expect(work).rejects.toMatchObject({ tag, details })

  promise('what contradicts itself', async () => {
    for (const name of ['b_chunk_offset_oob', 'd_block_beyond_file', 'g_footer_size_gt_file', 'j_chunk_coord_rank']) {
      await copyFile(fixture(`hostile/${name}.af`), path())
      await refuses(open(path()), 'FormatError', { file: path() })
      expect((await verify(path())).ok).toBe(false)
    }
  })

  promise('other versions', async () => {
    const bytes = await readFile(fixture('basic_compact/t.af'))
    for (const version of [1, 2, 3, 6]) {
      bytes[bytes.length - 12 - 96] = version
      await refuses(open(bytes), 'UnsupportedError', { actual: expect.arrayContaining([version]) })
    }
    // As before 0.8: a root of 48 bytes.
    const narrow = new Uint8Array(48 + 12)
    narrow[0] = 4
    narrow.set([48, 0, 0, 0, 0, 0, 0, 0, ...new TextEncoder().encode('ARRF')], 48)
    await refuses(open(narrow), 'UnsupportedError')
  })

  promise('data of nested types', async () => {
    const store = new MemoryStore()
    await store.put('a.af', nested({ kind: 'list', child: { kind: 'int8' } }))
    await using file = await open({ store, path: 'a.af' })
    expect(() => file.array('deep')).toThrow(expect.objectContaining({ tag: 'UnsupportedError' }))
    await file.compact()
    await using again = await open({ store, path: 'a.af' })
    expect(again.arrays()).toEqual(['deep'])
    again.delete('deep')
    await again.flush()
    expect(again.arrays()).toEqual([])
  })

  promise('codecs that were not passed', async () => {
    await using file = await open(fixture('hostile/o_unknown_codec.af'))
    await refuses(file.array('temperature').get(), 'CodecError', { array: 'temperature', actual: 'brotli' })
  })

  promise('more than the limits', async () => {
    const store = await inMemory()
    await refuses(open({ store, path: 'a.af' }, { limits: { footerBytes: 100 } }), 'FormatError', { expected: 100 })
    await refuses(open(nested(list(65))), 'FormatError', { expected: 64 })
    await (await open(nested(list(64)))).close()
    await using file = await open({ store, path: 'a.af' }, { limits: { blockBytes: 79 } })
    await refuses(file.array('x').get(), 'CodecError', { actual: 80, expected: 79 })
  })

  promise('what the format has no numbers for', async () => {
    const store = await inMemory()
    await using file = await open({ store, path: 'a.af' })
    const define = (shape: number[]) => () => file.createArray('y', { dtype: 'uint8', shape })
    for (const shape of [[2 ** 32], [2 ** 16, 2 ** 16]])
      expect(define(shape)).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
    expect(file.changed).toBe(false)
  })

  promise('names of sidecars and statistics', async () => {
    await refuses(create({ store: new MemoryStore(), path: 'x.7.af' }), 'InvalidArgumentError', { file: 'memory:x.7.af' })
    await refuses(create({ store: new MemoryStore(), path: 'x.stats' }), 'InvalidArgumentError')
  })

  promise('a container in the place of a layer', async () => {
    const store = new MemoryStore()
    for (const path of ['x.af', 'y.af']) {
      const file = await create({ store, path })
      file.createArray('v', { dtype: 'int8', shape: [1] })
      await file.flush()
      await file.close()
    }
    await store.put('x.1.af', (await store.get('y.af'))!.bytes)
    await refuses(open({ store, path: 'x.af' }), 'FormatError', { file: 'memory:x.1.af' })
  })
})

const list = (depth: number): AfDType => (depth === 0 ? { kind: 'int8' } : { kind: 'list', child: list(depth - 1) })

/** A file with an array of a nested type, as only its metadata can be. */
const nested = (dtype: AfDType): Uint8Array => encodeFooterFile(footerOf([metaOf('deep', dtype, [1])]))

test('the page on containers lists these and no others', async () => {
  const page = await readFile(new URL('../../docs/containers.md', import.meta.url), 'utf8')
  const section = /## What the format promises\n([\s\S]*)$/.exec(page)![1]!
  expect([...section.matchAll(/^- \*\*(.+?)\*\*/gm)].map(([, name]) => name)).toEqual(named)
})
