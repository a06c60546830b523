import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { encodeFooterFile } from '../../src/af/format/encode.ts'
import type { AfDType } from '../../src/af/format/footer.ts'
import { type Limits, MemoryStore, open } from '../../src/runtime/index.ts'
import { FaultStore } from '../../src/testing/index.ts'
import { createWithBase as create, footerOf, metaOf } from '../support/containers.ts'

const where = { store: new MemoryStore(), path: 'a.af' }

const opened = (limits: Limits) => open(where, { limits })

describe('limits', async () => {
  const file = await create(where)
  await file.createArray('x', { dtype: 'int32', shape: [100] }).set(null, 7)
  await file.flush()
  await file.close()
  const list = (depth: number): AfDType => (depth === 0 ? { kind: 'int8' } : { kind: 'list', child: list(depth - 1) })
  const nested = encodeFooterFile(footerOf([metaOf('deep', list(100), [1])]))

  test('a footer beyond its limit is rejected after a read of the ends of the files alone', async () => {
    const store = new FaultStore(where.store)
    await expect(open({ store, path: 'a.af' }, { limits: { footerBytes: 95 } })).rejects.toMatchObject({
      tag: 'FormatError',
      details: { expected: 95 },
    })
    // The base comes first.
    expect(store.log.filter((entry) => entry.startsWith('get'))).toEqual(['get a.af'])
    await (await opened({ footerBytes: 2000 })).close()
  })

  test('footers of all layers together beyond the limit stop further reads', async () => {
    const path = 'many.af'
    const writer = await create({ store: where.store, path })
    for (let i = 0; i < 12; i++) {
      writer.createArray(`x${i}`, { dtype: 'int8', shape: [2] })
      await writer.flush()
    }
    for (const name of ['listed', 'probed']) {
      const store = new FaultStore(where.store)
      if (name === 'probed') Object.defineProperty(store, 'list', { value: undefined })
      await expect(open({ store, path }, { limits: { footerBytes: 2000 } }), name).rejects.toMatchObject({
        tag: 'FormatError',
        message: expect.stringContaining('more than `limits.footerBytes` leaves, '),
      })
      // The base comes first, if sidecars cannot be listed beside the first of them. Others follow as far as
      // the limit goes.
      const read = store.log.filter((entry) => entry.startsWith('get'))
      expect(read.slice(0, 2)).toContain('get many.af')
      expect(read.length).toBeGreaterThan(3)
      expect(read.length).toBeLessThan(12)
      await (await open({ store, path }, { limits: { footerBytes: 20_000 } })).close()
    }
  })

  test('footers that are open already count when a refresh adds others', async () => {
    const path = 'growing.af'
    await using writer = await create({ store: where.store, path })
    const flush = async (name: string): Promise<void> => {
      writer.createArray(name, { dtype: 'int8', shape: [2] })
      await writer.flush()
    }
    for (let i = 0; i < 4; i++) await flush(`x${i}`)
    // These files are footers and little else.
    const footerBytes = writer.layers().reduce((sum, { bytes }) => sum + bytes, 0)
    await using reader = await open({ store: where.store, path }, { limits: { footerBytes } })
    for (let i = 4; i < 7; i++) await flush(`x${i}`)
    await expect(reader.refresh()).rejects.toMatchObject({
      tag: 'FormatError',
      message: expect.stringContaining('more than `limits.footerBytes` leaves, '),
    })
    expect(reader.arrays()).toEqual(['x0', 'x1', 'x2', 'x3'])
  })

  test('a flush whose footers readers would reject is rejected, and compaction writes it', async () => {
    const place = { store: where.store, path: 'full.af' }
    const limits = { footerBytes: 3000 }
    const values = async (): Promise<unknown> => {
      await using reader = await open(place, { limits })
      return (await reader.array('x', 'int8').get()).data
    }
    await using file = await create(place, { limits })
    const x = file.createArray('x', { dtype: 'int8', shape: [20], chunks: [1] })
    let error: unknown
    let last = -1
    while (error === undefined && last < 20) {
      await x.set([++last], 1)
      error = await file.flush().catch((thrown: unknown) => thrown)
    }
    expect(error).toMatchObject({ tag: 'TooLargeError', details: { limit: 'limits.footerBytes', expected: 3000 } })
    expect(last).toBeGreaterThan(2)
    const flushed = Int8Array.from({ length: 20 }, (_, i) => Number(i < last))
    const pending = Int8Array.from({ length: 20 }, (_, i) => Number(i <= last))
    expect(await values()).toEqual(flushed)
    expect((await x.get()).data).toEqual(pending)
    await expect(file.flush()).rejects.toMatchObject({ tag: 'TooLargeError' })
    await file.compact()
    expect(await values()).toEqual(pending)
    await x.set([19], 1)
    await file.flush()
    expect(file.changed).toBe(false)
  })

  test('of the footer of a compacted container: it stays as it is', async () => {
    const place = { store: where.store, path: 'wide.af' }
    await using file = await create(place, { limits: { footerBytes: 3000 } })
    await file.createArray('x', { dtype: 'int8', shape: [200], chunks: [1] }).set([[0, 3]], 1)
    await file.flush()
    await file.array('x').set(null, 1)
    await expect(file.compact()).rejects.toMatchObject({ tag: 'TooLargeError', details: { limit: 'limits.footerBytes' } })
    await using reader = await open(place)
    expect(await reader.array('x').sum({ ignoreStats: true })).toBe(2)
  })

  test('of statistics: larger ones count as none', async () => {
    const path = 'b.af'
    await (await create({ store: where.store, path })).close()
    await where.store.put('b.stats', new Uint8Array(100_000))
    const asked: number[] = []
    const store = Object.assign(new FaultStore(where.store), {
      getRange: (key: string, offset: number, length: number) => {
        if (key === 'b.stats') asked.push(length)
        return where.store.getRange(key, offset, length)
      },
    })
    await using small = await open({ store, path }, { limits: { footerBytes: 1500 } })
    small.createArray('y', { dtype: 'int8', shape: [2] })
    await small.flush()
    expect(asked).toEqual([1500])
    expect(await small.stats('y')).toMatchObject({ rowCount: 2 })
  })

  test('blocks beyond the limit are rejected before they are fetched', async () => {
    await using reader = await opened({ blockBytes: 399 })
    await expect(reader.array('x').get()).rejects.toMatchObject({
      tag: 'CodecError',
      message: expect.stringContaining('400 decoded bytes are more than `limits.blockBytes`, 399'),
      details: { file: 'memory:a.1.af', array: 'x', actual: 400, expected: 399 },
    })
    expect(reader.readCost.blocks).toBe(0)
    await using enough = await opened({ blockBytes: 400 })
    expect(await enough.array('x').sum({ ignoreStats: true })).toBe(700)
  })

  test('of nested types', async () => {
    await where.store.put('deep.af', nested)
    const place = { store: where.store, path: 'deep.af' }
    await expect(open(place)).rejects.toMatchObject({ tag: 'FormatError', details: { array: 'deep', expected: 64 } })
    await using reader = await open(place, { limits: { typeDepth: 100 } })
    expect(reader.arrays()).toEqual(['deep'])
    expect(() => reader.array('deep')).toThrow(expect.objectContaining({ tag: 'UnsupportedError' }))
    await reader.compact()
    await using again = await open(place, { limits: { typeDepth: 100 } })
    expect(again.arrays()).toEqual(['deep'])
  })

  test.each([{ footerBytes: -1 }, { typeDepth: 257 }, { blockBytes: 2 ** 31 + 1 }, { blockBytes: 1.5 }])(
    '%j is none',
    async (limits) => {
      await expect(opened(limits)).rejects.toMatchObject({
        tag: 'InvalidArgumentError',
        message: expect.stringContaining(`limits: ${Object.keys(limits)[0]} must be an integer from 0`),
      })
    },
  )
})

/** Error of each hostile fixture when it is opened and read completely. */
const HOSTILE: [file: string, tag: string, words: string][] = [
  ['b_chunk_offset_oob', 'FormatError', 'beyond the 16 bytes of block 0'],
  ['d_block_beyond_file', 'FormatError', 'beyond the 22 bytes of data'],
  ['g_footer_size_gt_file', 'FormatError', 'announces a payload of 1000000 bytes'],
  ['j_chunk_coord_rank', 'FormatError', 'coordinate of 0 axes'],
  ['n_codec_none_but_lz4', 'CodecError', 'block 0: '],
  ['o_unknown_codec', 'CodecError', 'unknown codec'],
  ['vlen_b_descending', 'FormatError', 'is damaged'],
  ['vlen_e_bad_utf8', 'FormatError', 'is not UTF-8'],
]

describe('hostile files', () => {
  const read = async (name: string): Promise<unknown[]> => {
    const path = fileURLToPath(new URL(`../fixtures/af/hostile/${name}.af`, import.meta.url))
    const store = new MemoryStore()
    await store.put('t.af', await readFile(path))
    await using file = await open({ store, path: 't.af' })
    return await Promise.all(file.arrays().map(async (each) => (await file.array(each).get()).data))
  }

  test.each(HOSTILE)('%s: %s', async (name, tag, words) => {
    await expect(read(name)).rejects.toMatchObject({
      tag,
      message: expect.stringContaining(words),
      details: { file: 'memory:t.af' },
    })
  })

  test.each([
    ['a_ok', Float32Array.of(1, 2, 3, 4)],
    ['i_lz4_prefix_4GiB', Float32Array.of(1, 2, 3, 4)],
    ['vlen_a_good', ['cat', '', 'elephant']],
  ])('%s is read', async (name, values) => {
    expect(await read(name)).toEqual([values])
  })
})
