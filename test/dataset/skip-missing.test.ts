import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Dataset } from '../../src/runtime/dataset.ts'
import { coarsen, DiskArray, MemoryStore } from '../../src/runtime/index.ts'
import { runs } from '../support/budget.ts'
import { createWithBase as create } from '../support/containers.ts'

const KINDS = ['sum', 'prod', 'min', 'max', 'mean', 'variance', 'std', 'count', 'countNonzero', 'any', 'all', 'median'] as const
const WINDOWED = ['sum', 'min', 'max', 'mean', 'count'] as const

interface Case {
  readonly dtype: 'float32' | 'float64' | 'int16'
  readonly rows: number
  readonly columns: number
  readonly values: readonly number[]
  /** Fill value; undefined without one. */
  readonly fill: number | undefined
  readonly from: 'container' | 'source' | 'source that names NaN'
}

const cases = fc
  .record({
    dtype: fc.constantFrom('float32' as const, 'float64' as const, 'int16' as const),
    rows: fc.integer({ min: 1, max: 5 }),
    columns: fc.integer({ min: 1, max: 4 }),
    fill: fc.constantFrom(undefined, Number.NaN, -1),
    from: fc.constantFrom('container' as const, 'source' as const, 'source that names NaN' as const),
  })
  .filter(({ dtype, fill, from }) => dtype !== 'int16' || (!Number.isNaN(fill ?? 0) && from !== 'source that names NaN'))
  .chain((one) =>
    fc
      .array(fc.constantFrom(...(one.dtype === 'int16' ? [-1, 0, 1, 3] : [-1, 0, 1, 3, Number.NaN, Number.NaN])), {
        minLength: one.rows * one.columns,
        maxLength: one.rows * one.columns,
      })
      .map((values): Case => ({ ...one, values })),
  )

async function arrayOf({ dtype, rows, columns, values, fill, from }: Case): Promise<DiskArray> {
  const shape = [rows, columns]
  const dimensionNames = ['y', 'x']
  const fillValue = fill === undefined ? {} : { fillValue: fill }
  if (from === 'container') {
    const file = await create({ store: new MemoryStore(), path: 'a.af' })
    const x = file.createArray('x', { dtype, shape, chunks: [2, 2], dimensionNames, ...fillValue })
    await x.set(null, values as never)
    await file.flush()
    return x as never
  }
  return new DiskArray({
    dtype,
    shape,
    chunks: [2, 2],
    dimensionNames,
    ...fillValue,
    ...(from === 'source that names NaN' && { missing: { values: fill === undefined ? [] : [fill], nan: true } }),
    readBlock([row, column], out) {
      for (let i = row!.start; i < row!.stop; i++)
        for (let j = column!.start; j < column!.stop; j++)
          out.data[out.offset + (i - row!.start) * out.stride[0]! + (j - column!.start) * out.stride[1]!] = values[
            i * columns + j
          ] as never
    },
  }) as never
}

/** Returns the numbers of a result, or the tag of its error. */
const outcome = async (compute: () => Promise<unknown>): Promise<unknown> => {
  try {
    const found = (await compute()) as { data?: ArrayLike<unknown> }
    return Array.from(found.data ?? (found as unknown as ArrayLike<unknown>), (value) => Number(value))
  } catch (error) {
    return (error as { tag: unknown }).tag
  }
}

test('labelled data skip what an array skips that says that NaN is missing', async () => {
  await fc.assert(
    fc.asyncProperty(cases, fc.constantFrom(undefined, true, false), fc.constantFrom(0, 1), async (one, skipMissing, axis) => {
      // Labelled data have no stored numbers of missing elements.
      fc.pre(skipMissing !== false || one.fill !== -1 || !one.values.includes(-1))
      const array = await arrayOf(one)
      const labelled = new Dataset({ v: array }).get('v')
      const skips = skipMissing === undefined ? {} : { skipMissing }
      const says = one.from === 'source that names NaN' || one.dtype === 'int16' || skipMissing === false
      const own = says ? skips : { ...skips, skipNaN: true }
      const dim = ['y', 'x'][axis]!
      for (const kind of KINDS) {
        const found = await outcome(() => array[kind as 'sum']({ axis, ...own }))
        expect(await outcome(() => labelled[kind]({ axis: dim, ...skips }).values() as never), kind).toEqual(found)
      }
      for (const kind of WINDOWED) {
        const found = await outcome(() => coarsen(array, { [dim]: 1 }, kind, own).toTensor())
        expect(
          await outcome(
            () =>
              labelled
                .coarsen({ [dim]: 1 })
                [kind](skips)
                .values() as never,
          ),
          `coarsen ${kind}`,
        ).toEqual(found)
        const labels = Array.from({ length: array.shape[axis]! }, (_, i) => i % 2)
        const groups = await outcome(async () => (await array.groupBy(axis, labels, kind, own)).values)
        const keys = new Dataset({ v: array }, { coords: { [dim]: labels } }).get('v')
        expect(await outcome(() => keys.groupBy(dim)[kind](skips).values() as never), `groupBy ${kind}`).toEqual(groups)
      }
      const sums = await outcome(() => array.cumsum(axis, own))
      expect(await outcome(() => labelled.cumsum(dim, skips).values() as never)).toEqual(sums)
      expect(await labelled.describe(skips)).toEqual(await array.describe(own))
      expect((await labelled.histogram({ range: [-2, 4], ...skips })).counts).toEqual(
        (await array.histogram({ range: [-2, 4], ...skips })).counts,
      )
    }),
    { numRuns: runs(150) },
  )
})

test('NaN propagates in arrays that do not name it as missing, unless skipNaN skips it', async () => {
  const values = [1, Number.NaN, -1, 4]
  const one = { dtype: 'float64', rows: 2, columns: 2, values, fill: -1, from: 'container' } as const
  const array = (await arrayOf(one)) as DiskArray<'float64'>
  expect([await array.sum(), await array.count(), await array.min()]).toEqual([Number.NaN, 3, Number.NaN])
  expect([await array.sum({ skipNaN: true }), await array.count({ skipNaN: true })]).toEqual([5, 2])
  expect([await array.sum({ skipMissing: false }), await array.count({ skipMissing: false })]).toEqual([Number.NaN, 4])
  expect(await array.sum({ skipMissing: false, skipNaN: true })).toBe(4)
  const named = (await arrayOf({ ...one, from: 'source that names NaN' })) as DiskArray<'float64'>
  expect([await named.sum(), await named.sum({ skipMissing: false })]).toEqual([5, Number.NaN])
})

test('statistics of chunks answer reductions that skip NaN without reading', async () => {
  const store = new MemoryStore()
  const file = await create({ store, path: 'a.af' })
  const x = file.createArray('x', { dtype: 'float64', shape: [6], chunks: [2] })
  await x.set(null, [1, Number.NaN, Number.NaN, Number.NaN, 4, 5])
  await file.flush()
  const blocks = file.readCost.blocks
  const skip = { skipNaN: true }
  expect([await x.sum(skip), await x.mean(skip), await x.extrema(skip)]).toEqual([10, 10 / 3, { min: 1, max: 5 }])
  expect(file.readCost.blocks).toBe(blocks)
})

test('a dataset describes each variable as the variable does, reads each chunk once, and omits text', async () => {
  const file = await create({ store: new MemoryStore(), path: 'a.af' }, { blockBytes: 1 })
  const fill = { fillValue: -1 }
  const x = file.createArray('x', { dtype: 'int16', shape: [6], chunks: [2], dimensionNames: ['i'], ...fill })
  await x.set(null, [1, -1, 3, 4, 5, 6])
  const y = file.createArray('y', { dtype: 'float32', shape: [6], chunks: [2], dimensionNames: ['i'] })
  await y.set(null, [1, Number.NaN, 3, 4, 5, 6])
  await file.flush()
  const names = { dims: ['i'], data: ['a', 'b', 'c', 'd', 'e', 'f'] }
  const ds = new Dataset({ x: x as never, y: y as never, names })
  const before = file.readCost.blocks
  const all = await ds.describe()
  expect(file.readCost.blocks - before).toBe(6)
  expect(Object.keys(all)).toEqual(['x', 'y'])
  for (const name of ['x', 'y']) {
    expect(all[name]).toMatchObject({ count: 5, missing: 1, min: 1, max: 6, mean: 3.8 })
    expect(all[name]).toEqual(await ds.get(name).describe())
  }
  const sample = (await ds.describe({ ddof: 1, skipMissing: false }))['x']!
  expect(sample).toEqual(await ds.get('x').describe({ ddof: 1, skipMissing: false }))
  expect(sample.mean).toBeNaN()
  await expect(ds.describe({ axis: 'i' } as never)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  await expect(ds.describe({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
})
