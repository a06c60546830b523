import { describe, expect, test } from 'vitest'
import { PendingChunk } from '../../src/af/layers/pending-chunk.ts'
import { BlockPacker } from '../../src/af/write/packer.ts'
import { Codecs } from '../../src/codec/registry.ts'
import { MemoryStore, open, slice } from '../../src/runtime/index.ts'
import { FaultStore } from '../../src/testing/index.ts'
import { createWithBase as create } from '../support/containers.ts'

const place = () => ({ store: new MemoryStore(), path: 'a.af' })
const ints = (...values: number[]) => Int32Array.from(values)
const OPTIONS = { dtype: 'int32', shape: [5], chunks: [4], dimensionNames: ['time'], fillValue: -1 } as const

describe('resizing', () => {
  test('writes chunks anew that end elsewhere, and leaves the others where they are', async () => {
    const where = place()
    await using file = await create(where, { codec: 'none' })
    const x = file.createArray('x', OPTIONS)
    await x.set(null, [1, 2, 3, 4, 5])
    await file.flush()
    const other = file.array('x')
    await x.resize({ time: 11 })
    for (const handle of [x, other, file.array('x')]) {
      expect([handle.shape, handle.size, handle.chunks.count]).toEqual([[11], 11, 3])
    }
    expect((await other.get()).data).toEqual(ints(1, 2, 3, 4, 5, -1, -1, -1, -1, -1, -1))
    await file.flush()
    expect(file.layers().at(-1)).toMatchObject({ chunks: 1, uncompressedBytes: 16, arrays: ['x'] })
    await using reader = await open(where)
    expect((await reader.array('x').get()).data).toEqual(ints(1, 2, 3, 4, 5, -1, -1, -1, -1, -1, -1))
    expect(await reader.stats('x')).toEqual({ min: 1, max: 5, nullCount: 6, rowCount: 11 })
    await using past = await open(where, { layer: 1 })
    expect((await past.array('x').get()).data).toEqual(ints(1, 2, 3, 4, 5))
    await expect(past.array('x').resize([6])).rejects.toMatchObject({ tag: 'ReadOnlyError' })
  })

  test('what was cut off and came back in steps stays fill when others are looked for', async () => {
    const where = place()
    await using file = await create(where, { blockBytes: 1 })
    const x = file.createArray('x', { ...OPTIONS, shape: [1] })
    await x.set(null, [7])
    await file.flush()
    for (const length of [0, 1, 2]) await x.resize([length])
    for (const look of [() => file.refresh(), () => file.flush()]) {
      await look()
      expect((await x.get()).data).toEqual(ints(-1, -1))
    }
    await using reader = await open(where)
    expect((await reader.array('x').get()).data).toEqual(ints(-1, -1))
  })

  test('what was cut off comes back as fill, pending or flushed', async () => {
    for (const flushes of [false, true]) {
      const where = place()
      await using file = await create(where)
      const x = file.createArray('x', { ...OPTIONS, shape: [12] })
      await x.set(null, 7)
      await file.flush()
      await x.resize([5])
      expect((await x.get()).data).toEqual(ints(7, 7, 7, 7, 7))
      if (flushes) await file.flush()
      await x.resize([10])
      const expected = ints(7, 7, 7, 7, 7, -1, -1, -1, -1, -1)
      expect((await x.get()).data).toEqual(expected)
      await file.flush()
      await using reader = await open(where)
      expect((await reader.array('x').get()).data).toEqual(expected)
      expect(await reader.stats('x')).toEqual({ min: 7, max: 7, nullCount: 5, rowCount: 10 })
      await file.compact()
      expect((await x.get()).data).toEqual(expected)
      expect(file.layers()).toHaveLength(1)
    }
  })

  test('along any axis, numbers of chunks change and their contents do not', async () => {
    await using file = await create(place(), { blockBytes: 1 })
    const x = file.createArray('x', { dtype: 'int32', shape: [3, 3], chunks: [2, 2], fillValue: -1 })
    await x.set(null, [1, 2, 3, 4, 5, 6, 7, 8, 9])
    await x.resize({ 1: 5 })
    expect((await x.get()).data).toEqual(ints(1, 2, 3, -1, -1, 4, 5, 6, -1, -1, 7, 8, 9, -1, -1))
    expect(await file.stats('x')).toEqual({ min: 1, max: 9, nullCount: 6, rowCount: 15 })
    await x.resize({ '-1': 1, 0: 4 })
    expect((await x.get()).data).toEqual(ints(1, 4, 7, -1))
    await x.resize([0, 2])
    expect((await x.get()).data).toEqual(ints())
    await x.resize([2, 2])
    expect((await x.get()).data).toEqual(ints(-1, -1, -1, -1))
  })

  test('append reserves its place, and changes nothing when values do not fit', async () => {
    const where = place()
    await using file = await create(where)
    const x = file.createArray('x', { dtype: 'int32', shape: [0, 2], chunks: [3, 2], dimensionNames: ['t', 'x'] })
    await Promise.all([x.append('t', [1, 2, 3, 4]), x.append(0, { data: [5, 6], shape: [1, 2] })])
    expect((await x.get()).data).toEqual(ints(1, 2, 3, 4, 5, 6))
    await expect(x.append('t', [1, 2, 3])).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
      details: { actual: 3, expected: 2 },
    })
    await expect(x.append('t', [1.5, 2])).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await expect(x.append('t', 1)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await expect(x.append('y', [1, 2])).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    expect(x.shape).toEqual([3, 2])
    await x.append(1, ints(7, 8, 9))
    await file.flush()
    await using reader = await open(where)
    expect((await reader.array('x').get()).data).toEqual(ints(1, 2, 7, 3, 4, 8, 5, 6, 9))
  })

  test('appending row by row into chunks of many rows leaves no holes', async () => {
    await using file = await create(place(), { blockBytes: 100, codec: 'none' })
    const x = file.createArray('x', { dtype: 'int32', shape: [0], chunks: [16] })
    for (let i = 0; i < 100; i++) await x.append(0, [i])
    await file.flush()
    expect(file.layers().at(-1)).toMatchObject({ chunks: 7, uncompressedBytes: 400 })
    expect((await x.get([slice(95, null)])).data).toEqual(ints(95, 96, 97, 98, 99))
  })

  test('is done or fails: nothing is written once the array has its new shape', async () => {
    const store = new FaultStore(new MemoryStore())
    await using file = await create({ store, path: 'a.af' }, { blockBytes: 64 })
    const x = file.createArray('x', { ...OPTIONS, shape: [5], chunks: [100] })
    await x.set(null, [1, 2, 3, 4, 5])
    store.faultAfter(0)
    const [resized] = await Promise.allSettled([x.resize([90])])
    expect([resized.status, x.shape]).toEqual(resized.status === 'fulfilled' ? ['fulfilled', [90]] : ['rejected', [5]])
    store.faultAfter(Number.POSITIVE_INFINITY)
    await file.flush()
    expect((await x.get([slice(3, 7)])).data).toEqual(resized.status === 'fulfilled' ? ints(4, 5, -1, -1) : ints(4, 5))
  })

  test('a read that was planned before the array was cut is told', async () => {
    await using file = await create(place())
    const x = file.createArray('x', OPTIONS)
    await x.set(null, 1)
    const source = x.source
    await x.resize([2])
    const out = { data: ints(0, 0, 0, 0, 0), shape: [5], stride: [1], offset: 0 }
    const box = [{ start: 0, stop: 5, step: 1 }]
    for (const work of [source.readBlock(box, out), source.writeBlock!(box, out)]) {
      await expect(work).rejects.toMatchObject({ tag: 'ConflictError', details: { array: 'x', axis: 0, actual: 5, expected: 2 } })
    }
  })

  test.each<[string, readonly number[], object]>([
    ['an axis beyond 32 bits', [2 ** 32, 1], { axis: 0, actual: 2 ** 32, expected: 2 ** 32 - 1 }],
    ['chunks beyond 4 GiB', [2 ** 20, 2 ** 20], { actual: 2 ** 32 * 4, expected: 2 ** 32 - 1 }],
    ['more elements than numbers', [2 ** 31, 2 ** 31], { actual: [2 ** 31, 2 ** 31] }],
    ['a negative length', [-1, 1], { actual: [-1, 1] }],
    ['another number of axes', [1], { actual: [1], expected: 2 }],
  ])('refuses %s before anything changes', async (_, shape, details) => {
    await using file = await create(place())
    const x = file.createArray('x', { dtype: 'int32', shape: [2, 2], chunks: [2 ** 16, 2 ** 16] })
    await x.set(null, 1)
    await file.flush()
    await expect(x.resize(shape)).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
      details: { array: 'x', file: 'memory:a.af', ...details },
    })
    expect([x.shape, file.changed]).toEqual([[2, 2], false])
  })

  test('pending changes follow a resize by another writer; two resizes are a conflict unless they agree', async () => {
    const where = place()
    await using first = await create(where)
    await first.createArray('x', OPTIONS).set(null, [1, 2, 3, 4, 5])
    await first.flush()
    await using second = await open(where)
    await using third = await open(where)
    await second.array('x').set([4], 50)
    await third.array('x').resize([7])
    await first.array('x').append('time', [6, 7])
    await first.flush()
    await expect(second.flush()).rejects.toMatchObject({ tag: 'ConflictError' })
    await second.refresh()
    expect((await second.array('x').get()).data).toEqual(ints(1, 2, 3, 4, 50, 6, 7))
    await second.flush()
    await third.refresh()
    expect((await third.array('x').get()).data).toEqual(ints(1, 2, 3, 4, 50, 6, 7))
    await third.array('x').resize([9])
    await second.array('x').resize([8])
    await second.flush()
    await expect(third.refresh()).rejects.toMatchObject({ tag: 'ConflictError', message: expect.stringContaining('resized') })
  })

  test('a resize takes in what another writer puts into chunks that end elsewhere', async () => {
    const where = place()
    await using first = await create(where)
    first.createArray('x', { ...OPTIONS, shape: [6] })
    await first.flush()
    await using second = await open(where)
    await second.array('x').resize([7])
    await first.array('x').set([5], 5)
    await first.flush()
    await second.refresh()
    await second.flush()
    await using reader = await open(where)
    expect((await reader.array('x').get()).data).toEqual(ints(-1, -1, -1, -1, -1, 5, -1))
  })

  test('old sidecars that come back over a compacted array count for nothing', async () => {
    const where = place()
    await using file = await create(where, { extensionBlocks: false })
    await file.createArray('x', OPTIONS).set(null, [1, 2, 3, 4, 5])
    await file.flush()
    await file.array('x').resize([9])
    await file.flush()
    const sidecars = await Promise.all(
      ['a.1.af', 'a.2.af'].map(
        async (key) => [key, (await where.store.getRange(key, 0, (await where.store.stat(key))!.size))!] as const,
      ),
    )
    await file.compact()
    for (let left = 0; left < 2; left++) {
      for (const [key, bytes] of sidecars.slice(left)) await where.store.put(key, bytes)
      await using reader = await open(where)
      expect(reader.layers()).toHaveLength(1)
      expect((await reader.array('x').get()).data).toEqual(ints(1, 2, 3, 4, 5, -1, -1, -1, -1))
      for (const [key] of sidecars) await where.store.delete(key)
    }
  })
})

test('no block gets larger than the format can count, unless by a single chunk', async () => {
  const store = new MemoryStore()
  const packer = new BlockPacker({
    file: 'a.af',
    codecs: new Codecs(),
    codec: 'none',
    targetBytes: 100,
    maxBytes: 64,
    openStage: () => store.stage(),
  })
  for (const size of [60, 30, 40, 80]) await packer.put(new PendingChunk(), new Uint8Array(size))
  const { blocks } = await packer.finish()
  expect(blocks.map(({ uncompressedBytes }) => uncompressedBytes)).toEqual([60, 30, 40, 80])
  await packer.discard()
})

test('what two writers change of the attributes of one array is put together', async () => {
  const where = place()
  await using first = await create(where)
  first.createArray('x', OPTIONS).attrs.set('a', 1).set('b', 1).set('c', 1).set('d', 1)
  await first.flush()
  await using second = await open(where)
  first.array('x').attrs.set('a', 2).set('new', 'first').delete('c')
  first.attrs.set('title', 'first')
  await first.flush()
  second.array('x').attrs.set('b', 2).set('other', 'second').delete('d')
  second.attrs.set('by', 'second')
  await second.refresh()
  await second.flush()
  await using reader = await open(where)
  expect(Object.fromEntries(reader.array('x').attrs)).toEqual({ a: 2, b: 2, new: 'first', other: 'second' })
  expect(Object.fromEntries(reader.attrs)).toEqual({ title: 'first', by: 'second' })
})
