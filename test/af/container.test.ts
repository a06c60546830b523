import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DType, NumericDType, ScalarOf } from '../../src/core/dtype.ts'
import type { Selector } from '../../src/grid/selection.ts'
import { MemoryStore, open, slice } from '../../src/runtime/index.ts'
import { FaultStore } from '../../src/testing/index.ts'
import { dtypes, elements, grids, numbered, selections, shapes } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'
import { createWithBase as create } from '../support/containers.ts'
import { type Plain, plainGet, plainSet, touched } from '../support/oracle.ts'

const place = (path = 'a.af') => ({ store: new MemoryStore(), path })

const cases = shapes.chain((shape) =>
  fc.record({
    shape: fc.constant(shape),
    dtype: dtypes,
    grid: grids(shape, false),
    selection: selections(shape),
    codec: fc.constantFrom('none', 'lz4'),
    blockBytes: fc.constantFrom(1, 64, 1 << 20),
  }),
)

/** Returns the elements of a result. A scalar becomes a list of one element. */
const elementsOf = (result: unknown): unknown[] =>
  typeof result === 'object' && result !== null && 'data' in result
    ? [...(result as { data: Iterable<unknown> }).data]
    : [typeof result === 'boolean' ? Number(result) : result]

describe('reading', () => {
  test('equals the oracle, fetching each block it needs once', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, dtype, grid, selection, codec, blockBytes }) => {
        const where = place()
        const plain = numbered(dtype, shape)
        await using writer = await create(where, { codec, blockBytes })
        await writer.createArray('x', { dtype, shape, chunks: grid.chunkShape }).set(null, plain.data as never)
        await writer.flush()
        await using file = await open(where)
        const result = await file.array('x', dtype).get(selection)
        expect(elementsOf(result)).toEqual([...plainGet(plain, selection).data])
        const chunks = grid.axes.reduce(
          (n, axis, i) => n * touched(selection[i] ?? null, axis.length, axis.chunkLength).chunks,
          1,
        )
        const [layer] = file.layers().slice(1)
        // Uncompressed blocks are read in part: once for each chunk at most.
        expect(file.readCost.blocks).toBeLessThanOrEqual(codec === 'none' ? chunks : Math.min(chunks, layer!.blocks))
        if (chunks > 0) expect(file.readCost.blocks).toBeGreaterThan(0)
        const again = file.readCost.blocks
        if (codec === 'lz4' && chunks < grid.count) {
          await file.array('x', dtype).get(selection)
          if (layer!.blocks === 1) expect(file.readCost.blocks).toBe(again)
        }
      }),
      { numRuns: runs(400) },
    )
  })

  test('chunks nobody wrote cost nothing and read as the fill value', async () => {
    const where = place()
    await using file = await create(where)
    const array = file.createArray('x', { dtype: 'int16', shape: [4, 6], chunks: [2, 3], fillValue: -7 })
    await array.set([0, 0], 5)
    await file.flush()
    await using reader = await open(where)
    expect(await reader.array('x').get([3, null])).toMatchObject({ data: new Int16Array(6).fill(-7) })
    expect(reader.readCost.blocks).toBe(0)
    expect(await reader.array('x').get([slice(2), 0])).toMatchObject({ data: Int16Array.of(5, -7) })
    expect(reader.array('x').storage()).toMatchObject({ chunks: 1, uncompressedBytes: 12 })
  })

  test('a few chunks of very many are found', async () => {
    const where = place()
    await using writer = await create(where)
    const array = writer.createArray('x', { dtype: 'int32', shape: [1_000_000, 1000], chunks: [1, 1], fillValue: -1 })
    const written = [0, 1, 4096, 999_999, 77_777]
    for (const y of written) await array.set([y, y % 1000], y)
    await writer.flush()
    await using file = await open(where)
    for (const y of written) expect(await file.array('x').get([y, y % 1000])).toBe(y)
    for (const y of [2, 4095, 999_998]) expect(await file.array('x').get([y, y % 1000])).toBe(-1)
    expect(file.array('x').storage().chunks).toBe(written.length)
  })

  test('concurrent reads of one block fetch it once', async () => {
    const where = place()
    await using writer = await create(where)
    await writer.createArray('x', { dtype: 'int32', shape: [8], chunks: [2] }).set(null, [0, 1, 2, 3, 4, 5, 6, 7])
    await writer.flush()
    await using file = await open(where)
    const array = file.array('x')
    expect(await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((i) => array.get([i])))).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(file.readCost.blocks).toBe(1)
  })
})

describe('opening', () => {
  test('takes two range reads a layer at most, whatever the footer’s size, and reads no block', async () => {
    const memory = new MemoryStore()
    await using writer = await create({ store: memory, path: 'a.af' }, { codec: 'none' })
    // Footers of 1 chunk, of 5000, of none.
    await writer.createArray('x', { dtype: 'uint8', shape: [2] }).set(null, 1)
    await writer.flush()
    await writer.createArray('y', { dtype: 'uint8', shape: [5000], chunks: [1] }).set(null, 1)
    await writer.flush()
    writer.array('x').attrs.set('a', 1)
    await writer.flush()
    const store = new FaultStore(memory)
    await using file = await open({ store, path: 'a.af' })
    expect(file.layers().length).toBe(4)
    const reads = (key: string) => store.log.filter((entry) => entry === `get ${key}`).length
    expect(['a.af', 'a.1.af', 'a.2.af', 'a.3.af'].map(reads)).toEqual([1, 1, 2, 1])
    expect(store.log.filter((entry) => entry.startsWith('list')).length).toBe(1)
    expect(file.readCost).toEqual({ blocks: 0, bytes: 0 })
  })
})

describe('writing', () => {
  const histories = shapes.chain((shape) =>
    dtypes.chain((dtype) =>
      fc.record({
        shape: fc.constant(shape),
        dtype: fc.constant(dtype),
        grid: grids(shape, false),
        fill: fc.option(elements(dtype), { nil: undefined }),
        codec: fc.constantFrom('none', 'lz4'),
        blockBytes: fc.constantFrom(1, 40, 1 << 20),
        steps: fc.array(
          fc.record({
            selection: selections(shape),
            value: elements(dtype),
            after: fc.constantFrom('nothing', 'flush', 'compact', 'reopen'),
          }),
          { maxLength: 6 },
        ),
      }),
    ),
  )

  test('any history of writes, flushes and compactions equals the oracle', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async ({ shape, dtype, grid, fill, codec, blockBytes, steps }) => {
        const where = place()
        const asScalar = (value: unknown): ScalarOf<DType> => (dtype === 'bool' ? value === 1 : value) as ScalarOf<DType>
        let file = await create(where, { codec, blockBytes })
        const options = {
          dtype,
          shape,
          chunks: grid.chunkShape,
          ...(fill === undefined || dtype === 'binary' ? {} : { fillValue: asScalar(fill) }),
        }
        let array = file.createArray<DType>('x', options)
        const expected = blank(dtype, shape, dtype === 'binary' ? undefined : fill)
        for (const { selection, value, after } of steps) {
          await array.set(selection, asScalar(value))
          plainSet(expected, selection, new Array(expected.data.length).fill(value))
          expect([...(await whole(array))]).toEqual([...expected.data])
          if (after === 'flush') await file.flush()
          if (after === 'compact') await file.compact()
          if (after === 'reopen') {
            await file.flush()
            await file.close()
            file = await open(where, { codec, blockBytes })
            array = file.array('x')
          }
          expect([...(await whole(array))]).toEqual([...expected.data])
        }
        await file.flush()
        await using reader = await open(where)
        expect([...(await whole(reader.array('x')))]).toEqual([...expected.data])
        const { rowCount } = await reader.stats('x')
        expect(rowCount).toBe(expected.data.length)
        // No bytes of replaced chunks are left in any layer.
        for (const layer of reader.layers()) expect(layer.uncompressedBytes).toBe(storedBytes(reader, layer.number))
        await file.close()
      }),
      { numRuns: runs(250) },
    )
  })

  const blank = (dtype: DType, shape: readonly number[], fill: unknown): Plain => {
    const plain = numbered(dtype, shape)
    const zero =
      dtype === 'string'
        ? ''
        : dtype === 'binary'
          ? new Uint8Array(0)
          : ['int64', 'uint64', 'timestamp_ns'].includes(dtype)
            ? 0n
            : 0
    for (let i = 0; i < plain.data.length; i++) plain.data[i] = (fill ?? zero) as never
    return plain
  }
  const whole = async (array: { get(selection: Selector[]): Promise<unknown>; shape: readonly number[] }): Promise<unknown[]> =>
    elementsOf(await array.get(array.shape.map(() => null)))
  const storedBytes = (file: Awaited<ReturnType<typeof open>>, layer: number): number =>
    file.layers().find(({ number }) => number === layer)!.uncompressedBytes

  test('rows written one after another into chunks of many rows leave no holes', async () => {
    const where = place()
    await using file = await create(where, { codec: 'none', blockBytes: 64 })
    const array = file.createArray('x', { dtype: 'uint8', shape: [16, 16], chunks: [8, 8] })
    for (let y = 0; y < 16; y++)
      await array.set(
        [y],
        Array.from({ length: 16 }, (_, x) => 16 * y + x),
      )
    await file.flush()
    expect(file.layers()[1]).toMatchObject({ uncompressedBytes: 256, chunks: 4 })
    await using reader = await open(where)
    expect((await reader.array('x').get()).data).toEqual(Uint8Array.from({ length: 256 }, (_, i) => i))
  })

  test('what is not flushed is nobody else’s, and close drops it', async () => {
    const where = place()
    await using file = await create(where)
    const array = file.createArray('x', { dtype: 'uint8', shape: [2] })
    await file.flush()
    await array.set(null, 7)
    expect(file.changed).toBe(true)
    await using other = await open(where)
    expect((await other.array('x').get()).data).toEqual(Uint8Array.of(0, 0))
    await file.close()
    await using again = await open(where)
    expect((await again.array('x').get()).data).toEqual(Uint8Array.of(0, 0))
    await expect(array.get()).rejects.toMatchObject({ tag: 'ClosedError' })
    await expect(file.flush()).rejects.toMatchObject({ tag: 'ClosedError' })
  })
})

describe('layers', () => {
  test('a deleted array is gone, and what lay below does not come back when it is defined anew', async () => {
    const where = place()
    await using file = await create(where)
    const options = { dtype: 'int32' as const, shape: [4], chunks: [2], fillValue: -1 }
    await file.createArray('x', options).set(null, [1, 2, 3, 4])
    await file.flush()
    const old = file.array('x')
    file.delete('x')
    expect(file.arrays()).toEqual([])
    await expect(old.get()).rejects.toMatchObject({ tag: 'UnknownArrayError', details: { file: 'memory:a.af', array: 'x' } })
    const anew = file.createArray('x', options)
    await anew.set([0], 9)
    const expected = Int32Array.of(9, -1, -1, -1)
    expect((await anew.get()).data).toEqual(expected)
    await file.flush()
    expect((await anew.get()).data).toEqual(expected)
    await using reader = await open(where)
    expect((await reader.array('x').get()).data).toEqual(expected)
    await file.compact()
    await using compacted = await open(where)
    expect((await compacted.array('x').get()).data).toEqual(expected)
    expect(await where.store.list('')).toEqual(expect.arrayContaining(['a.af', 'a.stats']))
    expect((await where.store.list('')).length).toBe(2)
  })

  test('an older reader keeps what it opened, or is told', async () => {
    const where = place()
    await using file = await create(where, { codec: 'none' })
    const array = file.createArray('x', { dtype: 'uint8', shape: [4], chunks: [2] })
    await array.set(null, [1, 2, 3, 4])
    await file.compact()
    await using reader = await open(where)
    await array.set([0], 9)
    await file.compact()
    await expect(reader.array('x').get()).rejects.toMatchObject({ tag: 'ConflictError', details: { file: 'memory:a.af' } })
  })

  test('of two writers one is told, loses nothing, and can go on', async () => {
    const where = place()
    await using first = await create(where)
    await first.createArray('x', { dtype: 'uint8', shape: [4], chunks: [2] }).set(null, 1)
    await first.flush()
    await using second = await open(where)
    await first.array('x').set([0], 2)
    await second.array('x').set([3], 3)
    second.array('x').attrs.set('by', 'second')
    await first.flush()
    await expect(second.flush()).rejects.toMatchObject({ tag: 'ConflictError' })
    expect((await second.array('x').get()).data).toEqual(Uint8Array.of(1, 1, 1, 3))
    await second.refresh()
    expect((await second.array('x').get()).data).toEqual(Uint8Array.of(2, 1, 1, 3))
    await second.flush()
    await using reader = await open(where)
    expect((await reader.array('x').get()).data).toEqual(Uint8Array.of(2, 1, 1, 3))
    expect(reader.array('x').attrs.get('by')).toBe('second')
    expect(await reader.stats('x')).toEqual({ min: 1, max: 3, nullCount: 0, rowCount: 4 })
  })

  test('two writers of one chunk both keep their elements', async () => {
    for (const dtype of ['int32', 'string', 'float64'] as const) {
      const where = place()
      const value = (text: string) => (dtype === 'string' ? text : Number(text))
      await using first = await create(where)
      const options = { dtype, shape: [6], chunks: [6] }
      const array = first.createArray<DType>('x', options)
      if (dtype !== 'float64') await array.set(null, ['1', '2', '3', '4', '5', '6'].map(value))
      await first.flush()
      await using second = await open(where)
      await first.array('x').set([slice(0, 3)], ['10', '2', '30'].map(value))
      await second.array('x').set([slice(2, 5)], ['33', '44', '5'].map(value))
      await first.flush()
      await second.refresh()
      const base = dtype === 'float64' ? ['10', '2', '33', '44', '5', '0'] : ['10', '2', '33', '44', '5', '6']
      expect([...((await second.array('x').get(null)).data as Iterable<unknown>)]).toEqual(base.map(value))
      await second.flush()
      await using reader = await open(where)
      expect([...((await reader.array('x').get(null)).data as Iterable<unknown>)]).toEqual(base.map(value))
    }
  })

  test('a writer who adds a layer while another compacts keeps its change, and the statistics know of it', async () => {
    class Interrupted extends MemoryStore {
      onDelete: (() => Promise<void>) | undefined
      override async delete(...args: Parameters<MemoryStore['delete']>): Promise<void> {
        const [key] = args
        await super.delete(...args)
        if (key !== 'a.1.af') return
        const act = this.onDelete
        this.onDelete = undefined
        await act?.()
      }
    }
    const store = new Interrupted()
    await using first = await create({ store, path: 'a.af' })
    await first.createArray('x', { dtype: 'uint8', shape: [4], chunks: [2] }).set(null, 1)
    await first.flush()
    await using second = await open({ store, path: 'a.af' })
    await second.array('x').set([slice(0, 2)], 9)
    store.onDelete = async () => {
      // The base that the change was written on was compacted away meanwhile.
      await expect(second.flush()).rejects.toMatchObject({ tag: 'ConflictError' })
      await second.refresh()
      await second.flush()
    }
    await first.compact()
    await using reader = await open({ store, path: 'a.af' })
    expect(reader.layers().map(({ number }) => number)).toEqual([0, 1])
    expect((await reader.array('x').get()).data).toEqual(Uint8Array.of(9, 9, 1, 1))
    expect(await reader.stats('x')).toEqual({ min: 1, max: 9, nullCount: 0, rowCount: 4 })
    expect(await first.stats('x')).toEqual({ min: 1, max: 9, nullCount: 0, rowCount: 4 })
  })

  test('a change whose ground is gone is refused, and kept', async () => {
    const where = place()
    await using first = await create(where)
    await first.createArray('x', { dtype: 'uint8', shape: [4] }).set(null, 1)
    await first.compact()
    await using second = await open(where)
    await second.array('x').set([3], 3)
    await first.array('x').set([0], 2)
    await first.compact()
    for (let i = 0; i < 2; i++) await expect(second.refresh()).rejects.toMatchObject({ tag: 'ConflictError' })
    expect(second.changed).toBe(true)
    // Overwriting a whole chunk needs no earlier content.
    await second.array('x').set(null, [7, 7, 7, 7])
    await second.refresh()
    await second.flush()
    await using reader = await open(where)
    expect((await reader.array('x').get()).data).toEqual(Uint8Array.of(7, 7, 7, 7))
  })

  test('an array that somebody else deleted cannot be written on', async () => {
    const where = place()
    await using first = await create(where)
    first.createArray('x', { dtype: 'uint8', shape: [4] })
    await first.flush()
    await using second = await open(where)
    await second.array('x').set([0], 1)
    first.delete('x')
    await first.flush()
    await expect(second.flush()).rejects.toMatchObject({ tag: 'ConflictError' })
    await expect(second.refresh()).rejects.toMatchObject({ tag: 'ConflictError', details: { array: 'x' } })
  })
})

describe('attributes', () => {
  test('of every kind come back after flush, overlay and compaction', async () => {
    const where = place()
    await using file = await create(where)
    const x = file.createArray('x', { dtype: 'uint8', shape: [] })
    const y = file.createArray('y', { dtype: 'uint8', shape: [] })
    const values: [string, unknown][] = [
      ['number', 1.5],
      ['bigint', -5n],
      ['big', 2n ** 64n - 1n],
      ['text', 'é漢😀'],
      ['yes', true],
      ['bytes', Uint8Array.of(1, 2)],
      ['floats', Float32Array.of(1, Number.NaN)],
      ['longs', BigInt64Array.of(1n, -1n)],
      ['words', ['a', 'b']],
      ['flags', [true, false]],
      ['blobs', [Uint8Array.of(1), new Uint8Array(0)]],
    ]
    for (const [name, value] of values) x.attrs.set(name, value as never)
    y.attrs.set('text', 'other').set('only', -0)
    await file.flush()
    x.attrs.set('text', 'changed').delete('yes')
    file.attrs.set('title', 'a test')
    await file.flush()
    await y.set(null, 1)
    await file.flush()
    const expected = new Map([
      ...values.filter(([name]) => name !== 'yes').map(([name, value]) => [name, name === 'text' ? 'changed' : value] as const),
    ])
    const check = async (): Promise<void> => {
      await using reader = await open(where)
      expect(new Map(reader.array('x').attrs)).toEqual(expected)
      expect([...reader.array('y').attrs]).toEqual(expect.arrayContaining([['text', 'other']]))
      expect(reader.array('y').attrs.get('only')).toBe(-0)
      expect([...reader.attrs]).toEqual([['title', 'a test']])
      expect(reader.array('x').attrs.typed('number')).toEqual({ type: 'float64', value: 1.5 })
    }
    await check()
    await file.compact()
    await check()
  })

  test('a type can be forced; what has no type is refused', async () => {
    await using file = await create(place())
    const { attrs } = file.createArray('x', { dtype: 'uint8', shape: [] })
    attrs.set('n', { type: 'int16', value: 5 })
    expect(attrs.typed('n')).toEqual({ type: 'int16', value: 5 })
    for (const value of [undefined, null, {}, [1, 'a'], () => 1]) {
      expect(() => attrs.set('bad', value as never)).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
    }
    expect(() => attrs.set('', 1)).toThrow(/needs a name/)
    expect([...attrs.keys()]).toEqual(['n'])
  })
})

describe('statistics', () => {
  test('equal what the data says, and need no reading of what was written before', async () => {
    const where = place()
    await using file = await create(where)
    const shape = [6, 5]
    const array = file.createArray<NumericDType>('x', { dtype: 'int16', shape, chunks: [2, 2], fillValue: 0 })
    await array.set(
      [slice(0, 4)],
      Array.from({ length: 20 }, (_, i) => i - 3),
    )
    await file.flush()
    expect(await file.stats('x')).toEqual({ min: -3, max: 16, nullCount: 11, rowCount: 30 })
    await array.set([0, 0], 100)
    expect(await file.stats('x')).toEqual({ min: -2, max: 100, nullCount: 11, rowCount: 30 })
    await file.flush()
    const readForWriting = file.readCost.blocks
    expect(await file.stats('x')).toEqual({ min: -2, max: 100, nullCount: 11, rowCount: 30 })
    expect(file.readCost.blocks).toBe(readForWriting)
    await using reader = await open(where)
    expect(await reader.stats('x')).toEqual({ min: -2, max: 100, nullCount: 11, rowCount: 30 })
    expect(reader.readCost.blocks).toBe(0)
    await where.store.delete('a.stats')
    await using recomputed = await open(where)
    expect(await recomputed.stats('x')).toEqual({ min: -2, max: 100, nullCount: 11, rowCount: 30 })
  })

  test('floats are in total order, strings by their bytes', async () => {
    const where = place()
    await using file = await create(where)
    await file.createArray('f', { dtype: 'float64', shape: [4] }).set(null, [0, -0, 0, -0])
    await file.createArray('n', { dtype: 'float32', shape: [3] }).set(null, [1, Number.NaN, 2])
    await file.createArray('s', { dtype: 'string', shape: [3], fillValue: 'zz' }).set(null, ['zz', 'b', 'äh'])
    await file.flush()
    const f = await file.stats('f')
    expect([Object.is(f.min, -0), Object.is(f.max, 0)]).toEqual([true, true])
    expect(await file.stats('n')).toEqual({ min: 1, max: 2, nullCount: 0, nanCount: 1, rowCount: 3 })
    expect(await file.stats('s')).toEqual({ min: 'b', max: 'äh', nullCount: 1, rowCount: 3 })
  })
})
