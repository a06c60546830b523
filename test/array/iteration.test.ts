import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { zipBlocks } from '../../src/array/combine.ts'
import { DiskArray } from '../../src/array/disk-array.ts'
import { arrayOrder } from '../../src/array/iteration.ts'
import type { TransferProgress } from '../../src/array/transfers.ts'
import { allocate, type DType, readElement } from '../../src/core/dtype.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { dtypes, grids, numbered, plains, shapes } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import type { Plain } from '../support/oracle.ts'

const arrays = fc
  .tuple(shapes, dtypes)
  .chain(([shape, dtype]) => fc.record({ plain: plains(dtype, shape) as fc.Arbitrary<Plain>, a: grids(shape), b: grids(shape) }))

const copyOf = (plain: Plain): Plain => ({ ...plain, data: plain.data.slice() as Plain['data'] })

/** A source whose reads take time, that counts those under way and ends them when it is told to. */
function slow(length = 100) {
  const state = { running: 0, most: 0, started: 0, aborted: 0 }
  const source = {
    dtype: 'int32' as const,
    shape: [length],
    chunks: [1],
    readBlock: async (_: unknown, __: unknown, { signal }: { signal?: AbortSignal } = {}) => {
      state.started++
      state.most = Math.max(state.most, ++state.running)
      try {
        await new Promise<void>((resolve, reject) => {
          let over = false
          const timer = setTimeout(() => {
            over = true
            resolve()
          }, 2)
          signal?.addEventListener('abort', () => {
            clearTimeout(timer)
            if (!over) state.aborted++
            reject(signal.reason)
          })
        })
      } finally {
        state.running--
      }
    },
  }
  return { state, array: new DiskArray(source as never) as DiskArray<'int32'> }
}

describe('going through an array', () => {
  test('elements come in C order of the array, each chunk read once, and so do values', async () => {
    await fc.assert(
      fc.asyncProperty(arrays, async ({ plain, a }) => {
        const source = new CountingSource(plain, a)
        const found: unknown[] = []
        for await (const value of new DiskArray(source)) found.push(value)
        expect(found).toEqual(Array.from({ length: plain.data.length }, (_, i) => readElement(plain.dtype, plain.data, i)))
        expect(source.reads.length).toBeLessThanOrEqual(a.count)
        expect(await new DiskArray(source).values()).toEqual(plain.data)
        expect(source.reads.length).toBeLessThanOrEqual(2 * a.count)
      }),
      { numRuns: runs(200) },
    )
  })

  test('parts in array order fit, lie behind one another and cover everything', () => {
    fc.assert(
      fc.property(
        shapes.chain((shape) => fc.tuple(grids(shape), fc.integer({ min: 8, max: 4000 }))),
        ([chunks, maxBytes]) => {
          const { shape } = chunks
          const order = arrayOrder({ shape, chunks, dtype: 'float64', readBlock: () => undefined }, maxBytes)
          let next = 0
          for (let number = 0; number < order.count; number++) {
            const box = order.box(order.index(number))
            const first = box.reduce((at, { start }, axis) => at * shape[axis]! + start, 0)
            const last = box.reduce((at, { stop }, axis) => at * shape[axis]! + stop - 1, 0)
            const size = box.reduce((n, { start, stop }) => n * (stop - start), 1)
            expect(first).toBe(next)
            expect(last - first + 1).toBe(size)
            expect(8 * size).toBeLessThanOrEqual(maxBytes)
            next = last + 1
          }
          expect(next).toBe(shape.reduce((a, b) => a * b, 1))
        },
      ),
    )
  })

  test('an array without axes has one element', async () => {
    const array = new DiskArray(new CountingSource({ dtype: 'int32', shape: [], data: Int32Array.of(42) }, new ChunkGrid([])))
    const found = []
    for await (const value of array) found.push(value)
    expect(found).toEqual([42])
    expect((await array.toTensor()).data).toEqual(Int32Array.of(42))
  })

  test('blocks are read ahead as far as wanted', async () => {
    for (const prefetch of [0, 1, 3]) {
      const { state, array } = slow(10)
      let count = 0
      for await (const { index } of array.blocks({ prefetch })) expect(index).toEqual([count++])
      expect([count, state.most]).toEqual([10, prefetch + 1])
    }
    await expect(slow().array.blocks({ prefetch: -1 }).next()).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })

  test('leaving early ends what is under way', async () => {
    const { state, array } = slow()
    for await (const { index } of array.blocks({ prefetch: 4 })) if (index[0] === 2) break
    expect([state.running, state.started, state.aborted]).toEqual([0, 7, state.aborted])
    expect(state.aborted).toBeGreaterThan(0)
  })

  test('an abort ends it', async () => {
    const { state, array } = slow()
    const controller = new AbortController()
    const walk = async (): Promise<void> => {
      for await (const { index } of array.blocks({ prefetch: 2, signal: controller.signal }))
        if (index[0] === 3) controller.abort(new Error('enough'))
    }
    await expect(walk()).rejects.toThrow('enough')
    expect(state.running).toBe(0)
  })

  test('arrays together: parts that are whole chunks of all, each read once', async () => {
    const a = new CountingSource(numbered('int16', [2, 9, 10]), ChunkGrid.regular([2, 9, 10], [2, 3, 5]))
    const b = new CountingSource(numbered('float32', [2, 9, 10]), ChunkGrid.regular([2, 9, 10], [1, 3, 2]))
    let size = 0
    for await (const { box, data } of zipBlocks([new DiskArray(a), new DiskArray(b)])) {
      expect(data.map(({ shape }) => shape)).toEqual([box, box].map((ranges) => ranges.map(({ start, stop }) => stop - start)))
      size += data[0]!.data.length
    }
    expect(size).toBe(180)
    expect(a.reads.length).toBeLessThanOrEqual(6)
    expect(b.reads.length).toBeLessThanOrEqual(6)
  })

  test('shapes that differ', async () => {
    const [a, b] = [[2], [3]].map(
      (shape) => new DiskArray(new CountingSource(numbered('int8', shape), ChunkGrid.regular(shape, [1]))),
    )
    await expect(zipBlocks([a!, b!]).next()).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })
})

describe('whole arrays', () => {
  test('toTensor, equals, copyTo, assign and fill', async () => {
    await fc.assert(
      fc.asyncProperty(arrays, fc.nat(), async ({ plain, a, b }, seed) => {
        const source = new CountingSource(plain, a)
        const array = new DiskArray(source)
        expect((await array.toTensor()).data).toEqual(plain.data)
        const target = { ...plain, data: allocate(plain.dtype, plain.data.length) }
        const other = new DiskArray(new CountingSource(target, b))
        const told: TransferProgress[] = []
        await array.copyTo(other, { onProgress: (progress) => told.push(progress) })
        expect(target.data).toEqual(plain.data)
        expect(told.at(-1)?.done).toBe(b.count === 0 ? undefined : b.count)
        expect(told.every(({ total }) => total === b.count)).toBe(true)
        expect(await array.equals(other, { equalNaN: true })).toBe(true)
        const nans = Array.from(plain.data as ArrayLike<unknown>).some((x) => Number.isNaN(x))
        expect(await array.equals(other)).toBe(!nans)
        if (plain.data.length === 0) return
        const at = seed % plain.data.length
        const value = readElement(plain.dtype, plain.data, at)
        await other.fill(value)
        expect(Array.from(target.data as ArrayLike<unknown>)).toEqual(new Array(plain.data.length).fill(plain.data[at]))
      }),
      { numRuns: runs(200) },
    )
  })

  test('equals sees one difference and stops there', async () => {
    await fc.assert(
      fc.asyncProperty(arrays, fc.nat(), async ({ plain, a, b }, seed) => {
        const other = copyOf(plain)
        if (plain.data.length === 0 || plain.dtype === 'binary') return
        const at = seed % plain.data.length
        const different: Partial<Record<DType, unknown>> = { bool: 1 - Number(plain.data[at]), string: `${plain.data[at]}x` }
        const one = typeof plain.data[at] === 'bigint' ? 1n : 1
        other.data[at] = (different[plain.dtype] ??
          ((plain.data[at] as bigint) === one ? (typeof one === 'bigint' ? 2n : 2) : one)) as never
        const [x, y] = [new DiskArray(new CountingSource(plain, a)), new DiskArray(new CountingSource(other, b))]
        expect(await x.equals(y, { equalNaN: true })).toBe(false)
      }),
      { numRuns: runs(200) },
    )
    const length = 4 * 2 ** 20
    const sources = [0, 1].map((first) => {
      const data = new Float64Array(length)
      data[0] = first
      return new CountingSource({ dtype: 'float64', shape: [length], data }, ChunkGrid.regular([length], [2 ** 20]))
    })
    expect(await new DiskArray(sources[0]!).equals(new DiskArray(sources[1]!))).toBe(false)
    expect(sources.map(({ reads }) => reads.length)).toEqual([1, 1])
  })

  test('another shape or type is not equal, and nothing is read', async () => {
    const make = (dtype: DType, shape: number[]): [CountingSource<DType>, DiskArray] => {
      const source = new CountingSource(numbered(dtype, shape), ChunkGrid.regular(shape, shape))
      return [source, new DiskArray(source)]
    }
    const [source, a] = make('int8', [2, 3])
    expect(await a.equals(make('int16', [2, 3])[1])).toBe(false)
    expect(await a.equals(make('int8', [3, 2])[1])).toBe(false)
    expect(source.reads).toEqual([])
    await expect(a.copyTo(make('int16', [2, 3])[1])).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })

  test('what cannot be written', async () => {
    const { array } = slow()
    await expect(array.fill(1)).rejects.toMatchObject({ tag: 'ReadOnlyError' })
    await expect(array.copyFrom(array)).rejects.toMatchObject({ tag: 'ReadOnlyError' })
    const source = new CountingSource(numbered('int8', [2]), ChunkGrid.regular([2], [1]))
    await expect(new DiskArray(source).fill(1000)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    expect(source.writes).toEqual([])
  })
})
