import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { CFTime, NAT, unitsSince } from '../../src/dataset/time/instant.ts'
import { parseTimeLabel } from '../../src/dataset/time/labels.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { runs } from '../support/budget.ts'
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
  for (const kind of ['sum', 'prod', 'variance', 'std'] as const)
    expect(() => ds.get('t')[kind]()).toThrow(`there is no ${kind} of times`)
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

test('medians and quantiles of times with nanoseconds are exact over a hundred days, and missing without times', async () => {
  const start = 1_600_000_000_000_000_001n
  const time = fc.oneof({ weight: 1, arbitrary: fc.constant(NAT) }, { weight: 3, arbitrary: fc.bigInt(start, start + 2n ** 52n) })
  const drawn = fc.array(time, { minLength: 6, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(drawn, fc.boolean(), async (data, skipMissing) => {
      const { ds } = timesOf(data, 3)
      const t = ds.get('t')
      const ranked = (list: readonly bigint[], twice: 0 | 1 | 2): bigint => {
        const sorted = list.filter((each) => each !== NAT).sort((a, b) => Number(a - b))
        if (sorted.length === 0 || (!skipMissing && sorted.length < list.length)) return NAT
        const at = (twice * (sorted.length - 1)) / 2
        const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!]
        return low + BigInt(Math.round(Number(high - low) / 2))
      }
      const columns = [0, 1].map((y) => [data[y]!, data[2 + y]!, data[4 + y]!])
      const median = t.median({ axis: 'x', skipMissing })
      const extremes = t.quantile([0, 1], { axis: 'x', skipMissing })
      expect([median.dtype, extremes.dims]).toEqual(['timestamp_ns', ['quantile', 'y']])
      const near = async (array: typeof t, wanted: bigint[]): Promise<void> => {
        const found = Array.from((await array.values()) as BigInt64Array)
        // Halves of nanoseconds are rounded.
        for (const [i, each] of found.entries())
          expect([each === NAT, (each - wanted[i]!) ** 2n <= 1n]).toEqual([wanted[i] === NAT, true])
        expect(found.length).toBe(wanted.length)
      }
      await near(
        median,
        columns.map((column) => ranked(column, 1)),
      )
      await near(
        extremes,
        [0, 2].flatMap((twice) => columns.map((column) => ranked(column, twice as 0 | 2))),
      )
      await near(t.median({ skipMissing }).expandDims('n'), [ranked(data, 1)])
      await near(
        t.groupBy('x').median({ skipMissing }),
        [[0, 2], [1]].flatMap((rows) =>
          [0, 1].map((y) =>
            ranked(
              rows.map((x) => columns[y]![x]!),
              1,
            ),
          ),
        ),
      )
    }),
    { numRuns: runs(60) },
  )
})

/** A time as text, to seconds; `null` for a missing one. */
const shownTime = (time: Date | CFTime | null): string =>
  time instanceof Date ? time.toISOString().slice(0, 19) : String(time).slice(0, 19)

/** The quantile of the values that are not null, interpolated linearly; null without any. */
function quantileOf(values: readonly (number | null)[], q: number): number | null {
  const sorted = values.filter((each): each is number => each !== null).sort((a, b) => a - b)
  if (sorted.length === 0) return null
  const at = q * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!]
  return low + (high - low) * (at - Math.floor(at))
}

test.each(['standard', 'julian', 'noleap', '360_day'] as const)(
  'medians and quantiles of parts of decoded times of %s are times',
  async (calendar) => {
    const units = { unit: 3_600_000_000_000n, reference: parseTimeLabel('2000-01-01', calendar).start }
    const hours = fc.oneof(
      { weight: 5, arbitrary: fc.integer({ min: 0, max: 20_000 }) },
      { weight: 1, arbitrary: fc.constant(null) },
    )
    const drawn = fc.array(hours, { minLength: 16, maxLength: 16 })
    const attrs = new Map<string, unknown>([
      ['units', 'hours since 2000-01-01'],
      ['calendar', calendar],
      ['_FillValue', -1],
    ])
    await fc.assert(
      fc.asyncProperty(drawn, fc.constantFrom(0, 0.3, 0.5, 1), async (data, q) => {
        const content = { dtype: 'float64', shape: [8, 2], data: Float64Array.from(data, (hour) => hour ?? -1) } as const
        const grid = ChunkGrid.regular([8, 2], [4, 2])
        const source = new CountingSource<'float64'>(content, grid, { attrs, fillValue: -1 })
        const days = { dtype: 'float64', shape: [8], data: Float64Array.from({ length: 8 }, (_, i) => 20 * i) } as const
        const labels = new Map<string, unknown>([...attrs, ['units', 'days since 2000-01-01']])
        const time = new DiskArray(new CountingSource<'float64'>(days, ChunkGrid.regular([8], [8]), { attrs: labels }))
        const ds = await Dataset.from({
          variables: [
            { name: 'time', array: time as never, dims: ['time'] },
            { name: 'seen', array: new DiskArray(source) as never, dims: ['time', 'y'] },
          ],
        })
        source.reads.length = 0
        const seen = ds.get('seen')
        const months = (await ds.get('time').dates()).map((date) => /\d{4}-\d{2}/.exec(shownTime(date))![0])
        const each = [...new Set(months)].map((month) => months.flatMap((other, i) => (other === month ? [i] : [])))
        const pairs = [0, 2, 4, 6].map((i) => [i, i + 1])
        const windows = Array.from({ length: 8 }, (_, i) => (i < 2 ? [] : [i - 2, i - 1, i]))
        // `time.month` orders months by number, as these are.
        const parts = [
          ['groupBy', each, seen.groupBy('time.month').quantile(q), seen.groupBy('time.month').median()],
          ['resample', each, seen.resample({ time: 'MS' }).quantile(q), seen.resample({ time: 'MS' }).median()],
          ['coarsen', pairs, seen.coarsen({ time: 2 }).quantile(q), seen.coarsen({ time: 2 }).median()],
          ['rolling', windows, seen.rolling({ time: 3 }).quantile(q), seen.rolling({ time: 3 }).median()],
        ] as const
        expect(source.reads.length).toBe(0)
        for (const [name, rows, quantile, median] of parts)
          for (const [share, array] of [
            [q, quantile],
            [0.5, median],
          ] as const) {
            const wanted = rows.flatMap((row) =>
              [0, 1].map((y) => {
                const cell = row.map((x) => data[2 * x + y] as number | null)
                // A window with a missing time is missing.
                return name === 'rolling' && (cell.length === 0 || cell.includes(null)) ? null : quantileOf(cell, share)
              }),
            )
            const hoursOf = (time: Date | CFTime | null): number | null =>
              shownTime(time) === 'null' ? null : unitsSince(parseTimeLabel(shownTime(time), calendar).start, units)
            const found = (await array.dates()).map(hoursOf)
            expect(found.length, name).toBe(wanted.length)
            for (const [i, hour] of found.entries()) {
              const other = wanted[i]!
              if (other === null || hour === null) expect([name, i, hour]).toEqual([name, i, other])
              else expect(hour, `${name} ${i}`).toBeCloseTo(other, 3)
            }
          }
      }),
      { numRuns: runs(40) },
    )
  },
)
