import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { CFTime, NAT } from '../../src/dataset/time/instant.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { CountingSource } from '../support/counting-source.ts'

/** Times along `x` and `y`, in chunks of two by two, as a file has them. */
function timesOf(data: readonly bigint[], rows: number): { ds: Dataset; reads: readonly unknown[] } {
  const shape = [rows, data.length / rows]
  const content = { dtype: 'timestamp_ns', shape, data: BigInt64Array.from(data) } as const
  const source = new CountingSource<'timestamp_ns'>(content, ChunkGrid.regular(shape, [2, 2]), { fillValue: NAT })
  const t = { dims: ['x', 'y'], data: new DiskArray(source) as DiskArray }
  return { ds: new Dataset({ t }, { coords: { x: Array.from({ length: rows }, (_, i) => i % 2) } }), reads: source.reads }
}

/** The mean to the nearest integer, of halves the greater one. */
function meanOf(times: readonly bigint[], skipMissing: boolean): bigint {
  const present = times.filter((time) => time !== NAT)
  if (present.length === 0 || (!skipMissing && present.length < times.length)) return NAT
  const count = BigInt(present.length)
  const total = present.reduce((sum, time) => sum + time, 0n)
  let mean = total / count - 2n
  while (2n * (total - mean * count) >= count) mean++
  return mean
}

test('means of times are exact, to the nanosecond', async () => {
  const time = fc.oneof(fc.constant(NAT), fc.bigInt(NAT + 1n, 2n ** 63n - 1n), fc.bigInt(-3n, 3n))
  const drawn = fc.array(time, { minLength: 6, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(drawn, fc.constantFrom('x', 'y', ['x', 'y']), fc.boolean(), async (data, axis, skipMissing) => {
      const { ds } = timesOf(data, 3)
      const rows = [data.slice(0, 2), data.slice(2, 4), data.slice(4)]
      const cells = axis === 'y' ? rows : axis === 'x' ? [0, 1].map((y) => rows.map((row) => row[y]!)) : [data]
      const mean = ds.get('t').mean({ axis, skipMissing })
      expect(mean.dtype).toBe('timestamp_ns')
      expect(await mean.values()).toEqual(BigInt64Array.from(cells, (cell) => meanOf(cell, skipMissing)))
    }),
    { numRuns: 30 },
  )
})

test('means of times in groups and blocks read chunks three times', async () => {
  const { ds, reads } = timesOf([1n, 2n, NAT, 4n, 8n, 16n], 3)
  const t = ds.get('t')
  expect(await t.groupBy('x').mean().values()).toEqual(BigInt64Array.of(5n, 9n, NAT, 4n))
  // Seconds, what is below a second, and how many: each of all chunks at once.
  expect(reads.length).toBe(3)
  expect(await t.coarsen({ x: 2 }, { boundary: 'pad' }).mean().values()).toEqual(BigInt64Array.of(1n, 3n, 8n, 16n))
  expect(await t.mean().dates()).toEqual([new Date(0)])
})

test('what is no time is not called one', async () => {
  const { ds } = timesOf([1n, 2n, 3n, 4n], 2)
  for (const kind of ['sum', 'prod', 'variance', 'std', 'median'] as const)
    expect(() => ds.get('t')[kind]()).toThrow(`there is no ${kind} of times`)
  expect(() => ds.get('t').quantile(0.5)).toThrow('there is no quantile of times')
  const attrs = { units: 'days since 2000-01-01', calendar: 'noleap' }
  const days = new DiskArray(
    new CountingSource(
      { dtype: 'float64', shape: [4], data: Float64Array.of(58, 59, 60, 61) } as never,
      ChunkGrid.regular([4], [2]),
      {
        attrs: new Map(Object.entries(attrs)),
      },
    ) as never,
  ) as DiskArray
  const noleap = (await Dataset.from({ variables: [{ name: 'time', array: days, dims: ['time'] }] })).get('time')
  for (const kind of ['sum', 'std'] as const) {
    expect(() => noleap[kind]()).toThrow(`array 'time': there is no ${kind} of times`)
    expect(() => noleap.coarsen({ time: 2 })[kind]()).toThrow(`there is no ${kind} of times`)
  }
  const shown = async (array: typeof noleap): Promise<string[]> => (await array.dates()).map(String)
  expect(await shown(noleap.mean())).toEqual([new CFTime({ year: 2000, month: 3, day: 1, hour: 12 }, 'noleap').toString()])
  // Not the labels that it had before.
  expect(await shown(noleap.coarsen({ time: 4 }).mean())).toEqual(['2000-03-01T12:00'])
  expect(await shown(noleap.where((day) => day > 60))).toEqual(['null', 'null', 'null', '2000-03-03T00:00'])
  for (const number of [noleap.count(), noleap.add(1), noleap.coarsen({ time: 2 }).count()]) {
    expect(number.attrs).toEqual({})
    await expect(number.dates()).rejects.toThrow('has no times')
  }
})
