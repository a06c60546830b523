import { describe, expect, test } from 'vitest'
import { generate } from '../../src/array/combine.ts'
import { DiskArray } from '../../src/array/disk-array.ts'
import { type DType, isFloat } from '../../src/core/dtype.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { showBox } from '../../src/grid/range.ts'
import { CountingSource } from '../support/counting-source.ts'
import { cells, type Plain } from '../support/oracle.ts'

/** A seeded generator of numbers in [0, 1). */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function counted<D extends DType>(dtype: D, shape: number[], chunks: number[], data: Plain<D>['data']) {
  const source = new CountingSource({ dtype, shape, data } as Plain<D>, ChunkGrid.regular(shape, chunks))
  return { source, array: new DiskArray(source) }
}

const bools = (values: boolean[]): Uint8Array => Uint8Array.from(values, Number)

// Rows of the tests of DiskArrays.jl, their shapes reversed: the last axis is the fastest here.
describe('reductions as in DiskArrays.jl', () => {
  const next = random(7)
  const data = Float64Array.from({ length: 400 }, next)
  const shape = [2, 20, 10]
  const make = () => counted('float64', shape, [2, 4, 5], data)
  const sum = (list: number[]): number => list.reduce((a, b) => a + b, 0)
  const rows = [
    ['minimum', (a: DiskArray, o: object) => a.min(o), (list: number[]) => Math.min(...list)],
    ['maximum', (a: DiskArray, o: object) => a.max(o), (list: number[]) => Math.max(...list)],
    ['product', (a: DiskArray, o: object) => a.prod(o), (list: number[]) => list.reduce((x, y) => x * y, 1)],
    ['sum', (a: DiskArray, o: object) => a.sum(o), sum],
    [
      'all',
      (a: DiskArray, o: object) => a.all({ ...o, where: (x: unknown) => (x as number) > 0.1 }),
      (l: number[]) => l.every((x) => x > 0.1),
    ],
    [
      'any',
      (a: DiskArray, o: object) => a.any({ ...o, where: (x: unknown) => (x as number) < 0.1 }),
      (l: number[]) => l.some((x) => x < 0.1),
    ],
    [
      'count',
      (a: DiskArray, o: object) => a.count({ ...o, where: (x: unknown) => (x as number) < 0.1 }),
      (l: number[]) => l.filter((x) => x < 0.1).length,
    ],
    [
      'mapReduce',
      (a: DiskArray, o: object) =>
        a.mapReduce(
          (x) => 2 * (x as number),
          (x, y) => x + y,
          0,
          o,
        ),
      (l: number[]) => 2 * sum(l),
    ],
  ] as const

  test.each(rows)('%s', async (_, run, expected) => {
    const { source, array } = make()
    expect(Number(await run(array as never, {}))).toBeCloseTo(Number(expected([...data])), 10)
    expect(source.reads.length).toBeLessThanOrEqual(10)
  })

  test.each(rows.flatMap((row) => [[row[0], [1], row] as const, [row[0], [0, 2], row] as const]))(
    '%s along axes %j',
    async (_, axis, [, run, expected]) => {
      const { source, array } = make()
      const { data: found } = (await run(array as never, { axis })) as unknown as { data: ArrayLike<number> }
      const { members } = cells(shape, new Set(axis))
      expect(found.length).toBe(members.length)
      members.forEach((list, cell) => {
        expect(found[cell]).toBeCloseTo(Number(expected(list.map((at) => data[at]!))), 10)
      })
      expect(source.reads.length).toBeLessThanOrEqual(10)
    },
  )

  test('any stops at the first chunk', async () => {
    const { source, array } = counted('bool', [10], [2], bools(new Array(10).fill(true)))
    expect([await array.any(), await array.any({ where: (x) => x === true })]).toEqual([true, true])
    expect(source.reads.length).toBe(2)
  })

  test('all stops at the first chunk', async () => {
    const { source, array } = counted('bool', [10], [2], bools(new Array(10).fill(false)))
    expect([await array.all(), await array.all({ where: (x) => x === true })]).toEqual([false, false])
    expect(source.reads.length).toBe(2)
  })

  test('chunks come in their order', async () => {
    // So many elements in a chunk that there are two units.
    const [rows, columns] = [3 * 1024, 2 * 1024]
    const { source, array } = counted('float32', [rows, columns], [1024, 1024], new Float32Array(rows * columns).fill(1))
    const { data: sums } = await array.variance({ axis: 0 })
    expect(sums).toEqual(new Float64Array(columns))
    expect(source.reads.map(showBox)).toEqual(['[0:2048, 0:2048]', '[2048:3072, 0:2048]'])
  })

  test('booleans', async () => {
    const values = Array.from({ length: 10 }, (_, i) => i + 1 > 3)
    const { source, array } = counted('bool', [10], [3], bools(values))
    expect([await array.sum(), await array.prod(), await array.any(), await array.all()]).toEqual([7, 0, true, false])
    expect([await array.min(), await array.max(), await array.countNonzero()]).toEqual([false, true, 7])
    expect((await array.countNonzero()) + (await array.count({ where: (x) => !x }))).toBe(await array.count())
    expect(source.reads.length).toBeLessThanOrEqual(9 * 4)
  })

  test('unique', async () => {
    const { source, array } = counted(
      'int64',
      [100],
      [9],
      BigInt64Array.from({ length: 100 }, (_, i) => BigInt((i + 1) & 7)),
    )
    expect([...(await array.unique()).values.data]).toEqual([0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n])
    expect(source.reads.length).toBeLessThanOrEqual(12)
  })

  test('extrema, mean, std, median', async () => {
    const list = Float64Array.from({ length: 90 }, (_, i) => 1 + i)
    const { array } = counted('float64', [9, 10], [3, 5], list)
    expect(await array.extrema()).toEqual({ min: 1, max: 90 })
    expect([await array.mean(), await array.median()]).toEqual([45.5, 45.5])
    expect((await array.mean({ axis: 1 })).data).toEqual(Float64Array.from({ length: 9 }, (_, i) => 10 * i + 5.5))
    expect(await array.std({ ddof: 1 })).toBeCloseTo(Math.sqrt((90 * 91) / 12), 12)
    expect((await array.median({ axis: 1 })).data).toEqual(Float64Array.from({ length: 9 }, (_, i) => 10 * i + 5.5))
    expect((await array.median({ axis: 0 })).data).toEqual(Float64Array.from({ length: 10 }, (_, i) => 41 + i))
  })
})

describe('what nothing is reduced to', () => {
  const empty = () => counted('float32', [0, 3], [2, 2], new Float32Array(0))
  test('identities', async () => {
    const { source, array } = empty()
    expect([await array.sum(), await array.prod(), await array.count(), await array.any(), await array.all()]).toEqual([
      0,
      1,
      0,
      false,
      true,
    ])
    expect([await array.mean(), await array.variance(), await array.std(), await array.median()]).toEqual(
      new Array(4).fill(Number.NaN),
    )
    expect((await array.prod({ axis: 0 })).data).toEqual(Float64Array.of(1, 1, 1))
    expect((await array.median({ axis: 0 })).data).toEqual(new Float64Array(3).fill(Number.NaN))
    expect((await array.median({ axis: 1 })).data).toEqual(new Float64Array(0))
    expect((await array.unique()).values.shape).toEqual([0])
    expect((await array.histogram({ bins: 2 })).counts.data).toEqual(Float64Array.of(0, 0))
    expect((await array.cumsum(1)).shape).toEqual([0, 3])
    expect((await array.groupBy(0, [], 'sum')).values.shape).toEqual([0, 3])
    expect(source.reads).toEqual([])
  })

  test.each(['min', 'max', 'extrema', 'argMin', 'argMax'] as const)('no %s', async (kind) => {
    const { array } = empty()
    await expect(array[kind]()).rejects.toMatchObject({ tag: 'EmptyReductionError', details: { array: 'plain' } })
    await expect(array[kind]({ axis: 0 })).rejects.toMatchObject({ tag: 'EmptyReductionError' })
  })

  test.each(['min', 'max', 'argMin', 'argMax'] as const)(
    'no %s along an axis, unless missing values are skipped',
    async (kind) => {
      const isPosition = kind.startsWith('arg')
      const floats = generate(() => 1, { dtype: 'float64', shape: [0, 2] })
      await expect(floats[kind]({ axis: 0 })).rejects.toMatchObject({ tag: 'EmptyReductionError' })
      const found = await floats[kind]({ axis: 0, skipNaN: true })
      expect(found.data).toEqual(new Float64Array(2).fill(isPosition ? -1 : Number.NaN))
      const integers = generate(() => 1, { dtype: 'int16', shape: [0, 2], fillValue: -9 })
      expect([...(await integers[kind]({ axis: 0 })).data]).toEqual(isPosition ? [-1, -1] : [-9, -9])
      await expect(integers[kind]({ axis: 0, skipMissing: false })).rejects.toMatchObject({ tag: 'EmptyReductionError' })
    },
  )
})

test('a histogram of a wider range than numbers go', async () => {
  const values = Float64Array.of(-1.5e308, -1e308, 0, 1e308, 1.5e308)
  const { counts, edges } = await counted('float64', [5], [2], values).array.histogram({ bins: 3 })
  expect(counts.data).toEqual(Float64Array.of(2, 1, 2))
  expect(Array.from(edges.data, (edge) => edge / 1e308)).toEqual([-1.5, expect.closeTo(-0.5), expect.closeTo(0.5), 1.5])
})

describe('what is no reduction', () => {
  test('arguments', async () => {
    const { source, array } = counted('float32', [2, 2], [1, 1], new Float32Array(4))
    const invalid = [
      () => array.quantile(1.5),
      () => array.quantile([0.5, Number.NaN]),
      () => array.argMin({ axis: [0, 1] }),
      () => array.histogram({ bins: 0 }),
      () => array.histogram({ bins: [1, 1] }),
      () => array.histogram({ range: [2, 1] }),
      () => array.weightedMean({ 0: [1] }),
      () => array.weightedMean({ lat: [1, 1] }),
      () => array.weightedMean({ 0: [1, 1], '-2': [1, 2] }),
      () => array.groupBy(0, ['a'], 'sum'),
      () => array.cumsum(2),
      () => array.cumsum(0, { into: counted('float64', [2], [2], new Float64Array(2)).array }),
    ]
    for (const call of invalid) await expect(call()).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    expect(source.reads).toEqual([])
  })

  test('types without a meaning', async () => {
    const { array } = counted('string', [1], [1], ['a'])
    for (const kind of ['prod', 'variance', 'extrema', 'argMin', 'median', 'histogram'] as const)
      await expect((array[kind] as () => Promise<unknown>).call(array)).rejects.toMatchObject({
        tag: 'UnsupportedError',
        details: { actual: 'string' },
      })
  })
})

describe('accuracy', () => {
  test('sums stay within the bound, against exact arithmetic', async () => {
    const next = random(3)
    const list = Float64Array.from({ length: 200_000 }, () => (next() - 0.5) * 2 ** (40 * next()))
    // Multiples of 2^-60 are integers here: exact sums in bigints.
    const scaled = (x: number): bigint => BigInt(Math.round(x * 2 ** 20)) * 2n ** 40n
    const rounded = list.map((x) => Math.round(x * 2 ** 20) / 2 ** 20)
    const exact = Number(rounded.reduce((total, x) => total + scaled(x), 0n)) / 2 ** 60
    const magnitude = rounded.reduce((total, x) => total + Math.abs(x), 0)
    const { array } = counted('float64', [200_000], [777], rounded)
    const bound = magnitude * (280 + Math.log2(200_000)) * 2 ** -53
    expect(Math.abs((await array.sum()) - exact)).toBeLessThanOrEqual(bound)
    // Compensated ones are off by a rounding of the result and next to nothing of the magnitudes.
    const { values } = await array.groupBy(0, new Array(200_000).fill('all'), 'sum')
    const tight = Math.abs(exact) * 2 ** -52 + magnitude * 2 ** -80
    expect(Math.abs(values.data[0]! - exact)).toBeLessThanOrEqual(tight)
    expect(Math.abs((await array.cumsum(0)).data.at(-1)! - exact)).toBeLessThanOrEqual(tight)
  })

  test('a variance far from zero keeps its digits', async () => {
    const length = 100_000
    const list = Float64Array.from({ length }, (_, i) => 1e8 + (i % 3))
    const { array } = counted('float64', [length], [999], list)
    const mean = list.reduce((a, x) => a + (x - 1e8), 0) / length
    const exact = list.reduce((a, x) => a + (x - 1e8 - mean) ** 2, 0) / length
    const bound = exact * (260 + length / 1024) * 2 ** -53 * Math.sqrt(1 + 1e16 / exact)
    expect(Math.abs((await array.variance()) - exact)).toBeLessThanOrEqual(bound)
  })

  test.each(['float64', 'float32', 'int32'] as const)('a sketched quantile of %s is as near as promised', async (dtype) => {
    const next = random(11)
    const length = 50_000
    const list = Array.from({ length }, (_, i) => (i % 50 === 0 ? 0 : (next() - 0.4) * 10 ** (6 * next())))
    const data =
      dtype === 'int32' ? Int32Array.from(list) : dtype === 'float32' ? Float32Array.from(list) : Float64Array.from(list)
    const sorted = Float64Array.from(data).sort()
    const { source, array } = counted(dtype, [length], [999], data as never)
    const qs = [0, 0.01, 0.25, 0.5, 0.75, 0.99, 1]
    const found = await array.quantile(qs, { maxBytes: 1000 })
    qs.forEach((q, i) => {
      const element = sorted[Math.floor(q * (length - 1))]!
      expect(Math.abs(found.data[i]! - element), `${q}`).toBeLessThanOrEqual(Math.abs(element) * 2 ** -12)
    })
    expect(source.reads.length).toBeLessThanOrEqual(51)
    await expect(array.median({ axis: 0, maxBytes: 1000 })).rejects.toMatchObject({ tag: 'TooLargeError' })
    expect(isFloat(dtype) || Number.isFinite(await array.median())).toBe(true)
  })

  test('infinities in a sketch', async () => {
    const list = Float64Array.of(-Infinity, -Infinity, -0, 1, 2, Infinity, Infinity)
    const { array } = counted('float64', [7], [2], list)
    const { data } = await array.quantile([0, 0.2, 0.34, 0.5, 0.7, 0.9, 1], { maxBytes: 0 })
    expect([data[0], data[1], data[2], data[5], data[6]]).toEqual([-Infinity, -Infinity, 0, Infinity, Infinity])
    expect(await counted('float64', [2], [2], Float64Array.of(1, Number.NaN)).array.median({ maxBytes: 0 })).toBeNaN()
  })
})

test('an abort ends a reduction and leaves nothing running', async () => {
  const controller = new AbortController()
  const length = 32 * 2 ** 20
  let [running, started] = [0, 0]
  const source = {
    dtype: 'float32' as const,
    shape: [length],
    chunks: [2 ** 20],
    readBlock: async () => {
      started++
      running++
      await new Promise((resolve) => setTimeout(resolve, 5))
      running--
      if (started === 2) controller.abort(new Error('enough'))
    },
  }
  await expect(new DiskArray(source).variance({ signal: controller.signal })).rejects.toThrow('enough')
  expect(running).toBe(0)
  expect(started).toBeLessThan(4)
})
