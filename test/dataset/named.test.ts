import { expect, test } from 'vitest'
import { type Tensor, tensorOf } from '../../src/core/tensor.ts'
import { cos } from '../../src/dataset/data-array.ts'
import { Dataset } from '../../src/dataset/dataset.ts'

/** Monthly values of three years, of which some are missing, at two latitudes. */
const MONTHS = 36
const value = (month: number, lat: number): number =>
  month % 7 === 3 ? Number.NaN : 10 * lat + (month % 12) + Math.floor(month / 12)
const ds = new Dataset(
  {
    t: {
      dims: ['time', 'lat'],
      data: tensorOf(
        'float64',
        [MONTHS, 2],
        Float64Array.from({ length: 2 * MONTHS }, (_, i) => value(i >> 1, i % 2)),
      ),
    },
    land: { dims: ['lat'], data: [0, 1] },
  },
  {
    coords: {
      time: Array.from({ length: MONTHS }, (_, month) => new Date(Date.UTC(2001, month, 15))),
      lat: [0, 50],
    },
  },
)
const t = ds.get('t')
const numbers = async (array: { get(): Promise<unknown> }) => [...((await array.get()) as Tensor<'float64'>).data]
const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length
const known = (values: readonly number[]) => values.filter((each) => !Number.isNaN(each))
const months = (of: number, from = 0, to = MONTHS) =>
  Array.from({ length: MONTHS }, (_, i) => i).filter((i) => i % 12 === of && i >= from && i < to)

test('climatologies are means over all years, or those of a period', async () => {
  const all = t.climatology('month')
  expect(all.dims).toEqual(['month', 'lat'])
  const wanted = (from: number, to: number) =>
    Array.from({ length: 12 }, (_, of) =>
      [0, 1].map((lat) => mean(known(months(of, from, to).map((month) => value(month, lat))))),
    ).flat()
  expect(await numbers(all)).toEqual(wanted(0, 36))
  expect(await numbers(t.climatology('month', { period: ['2001', '2002'] }))).toEqual(wanted(0, 24))
  expect(await numbers(t.anomaly('month', { period: ['2002', '2002'] }))).toEqual(
    Array.from({ length: MONTHS }, (_, month) =>
      [0, 1].map((lat) => value(month, lat) - mean(known(months(month % 12, 12, 24).map((each) => value(each, lat))))),
    ).flat(),
  )
})

test('climatologies of what there is not are refused', () => {
  expect(() => t.climatology('month', { period: ['1999', '2002'] })).toThrow(/no label|2001/)
  expect(() => t.climatology('fortnight')).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
  expect(() => t.climatology('month', { period: ['2001'] as never })).toThrow(/first and its last/)
  expect(() => t.climatology('month', { preiod: ['2001', '2002'] } as never)).toThrow(/preiod/)
  expect(() => ds.get('land').climatology('month')).toThrow(/times along one dimension/)
})

test('values are kept where something holds', async () => {
  const all = await numbers(t)
  expect(await numbers(t.where((each) => each > 5))).toEqual(all.map((each) => (each > 5 ? each : Number.NaN)))
  const land = t.where(ds.get('land').ne(0))
  expect(land.dims).toEqual(['time', 'lat'])
  expect(await numbers(land)).toEqual(all.map((each, i) => (i % 2 === 1 ? each : Number.NaN)))
  expect(await numbers(t.where(t.ne(3)))).toEqual(all.map((each) => (each === 3 ? Number.NaN : each)))
  for (const condition of [ds.get('land'), t.sub(3)])
    expect(() => t.where(condition)).toThrow(/where takes booleans, and '.*' has (int|float).*\.ne\(0\)/)
  expect(() => t.where(1 as never)).toThrow(/function/)
  expect(() => t.where(true as never)).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
  expect(() => ds.get('time').where(() => true)).toThrow(expect.objectContaining({ tag: 'UnsupportedError' }))
})

test('cosines are of degrees where units say so, or those of a latitude say nothing', async () => {
  const of = async (name: string, data: number[], attrs = {}): Promise<number> => {
    const ds = new Dataset({}, { coords: { [name]: { dims: [name], data, attrs } } })
    return (await cos(ds.get(name))
      .isel({ [name]: 0 })
      .get()) as number
  }
  for (const found of [
    await of('lat', [60]),
    await of('y', [60], { units: 'degrees_north' }),
    await of('y', [60], { standard_name: 'latitude' }),
    await of('lat', [Math.PI / 3], { units: 'radian' }),
    await of('x', [Math.PI / 3]),
  ])
    expect(found).toBeCloseTo(0.5, 14)
})

test('a description of an array skips missing values, unless they are to be kept', async () => {
  const values = known(Array.from({ length: 2 * MONTHS }, (_, i) => value(i >> 1, i % 2)))
  const std = Math.sqrt(mean(values.map((each) => (each - mean(values)) ** 2)))
  const found = await t.describe()
  expect(found).toMatchObject({ count: values.length, missing: 10, min: Math.min(...values), max: Math.max(...values) })
  expect([found.mean, found.std]).toEqual([expect.closeTo(mean(values), 9), expect.closeTo(std, 9)])
  expect((await t.describe({ std: false })).std).toBeNaN()
  expect(await t.describe({ skipMissing: false })).toMatchObject({ count: 2 * MONTHS, missing: 0, min: Number.NaN })
  const { time } = ds.coords
  expect(await time!.describe()).toMatchObject({
    count: MONTHS,
    min: BigInt(Date.UTC(2001, 0, 15)) * 10n ** 6n,
    mean: Number.NaN,
  })
  expect(() => t.describe({ axis: 'time' } as never)).toThrow('axis')
})

test('quantiles and histograms leave out what is missing', async () => {
  const of = (values: readonly number[], q: number): number => {
    const sorted = known(values).sort((a, b) => a - b)
    const at = q * (sorted.length - 1)
    const low = Math.floor(at)
    return sorted[low]! + (at - low) * ((sorted[low + 1] ?? sorted[low]!) - sorted[low]!)
  }
  const column = (lat: number) => Array.from({ length: MONTHS }, (_, month) => value(month, lat))
  const quantiles = t.quantile([0.1, 0.5], { axis: 'time' })
  expect(quantiles.dims).toEqual(['quantile', 'lat'])
  expect(await numbers(quantiles.sel({ quantile: 0.5 }))).toEqual([of(column(0), 0.5), of(column(1), 0.5)])
  expect(await numbers(quantiles)).toEqual([0.1, 0.5].flatMap((q) => [of(column(0), q), of(column(1), q)]))
  expect(await t.quantile(0.25).get()).toBe(of([...column(0), ...column(1)], 0.25))
  expect(() => t.quantile(1.5)).toThrow(/0 to 1/)
  expect(() => t.quantile(0.5, { axis: 'lon' })).toThrow(/lon/)
  const { counts } = await t.histogram({ bins: [0, 5, 20] })
  const all = [...column(0), ...column(1)]
  expect([...counts.data]).toEqual([all.filter((each) => each < 5).length, all.filter((each) => each >= 5 && each <= 20).length])
})

test('counts are of what is not missing, zeros, false, midnight of 1970 and empty text among them', async () => {
  const counted = new Dataset({
    floats: { dims: ['x'], data: [0, 1, Number.NaN, -0] },
    times: { dims: ['x'], data: [new Date(0), new Date(864e5), new Date(0), new Date(1)] },
    whole: { dims: ['x', 'y'], data: tensorOf('int16', [4, 2], Int16Array.of(0, 1, 0, 0, 2, 0, 0, 0)) },
    texts: { dims: ['x'], data: ['', 'a', '', 'b'] },
  })
  const counts = Object.values(counted.variables).map((array) => array.count().get())
  expect(await Promise.all(counts)).toEqual([3, 4, 8, 4])
  expect(await numbers(counted.get('whole').count({ axis: 'x' }))).toEqual([4, 4])
  expect(await counted.get('floats').count({ skipMissing: false }).get()).toBe(4)
  // Counts along an axis follow the same rule.
  expect(await numbers(t.count({ axis: 'time' }))).toEqual([0, 1].map((lat) => known(Array.from({ length: MONTHS }, (_, month) => value(month, lat))).length)) // biome-ignore format: one line
  for (const q of [1.5, -0.1, Number.NaN, [0.5], '0.5'])
    expect(() => t.groupBy('time.year').quantile(q as number)).toThrow('a quantile of parts is a share from 0 to 1')
  const perYear = await t.groupBy('time.year').count().values()
  expect(Array.from(perYear as ArrayLike<number>).reduce((a, b) => a + b, 0)).toBe(await t.count().get())
})

test('groups and windows count zeros as values, also where they make means or need so many', async () => {
  const rain = [0, 2, 0, 4, Number.NaN, 0, 3, 0]
  const wet = new Dataset(
    { r: { dims: ['x', 'y'], data: tensorOf('float32', [4, 2], Float32Array.from(rain)) }, n: { dims: ['x'], data: Int16Array.of(0, 0, 5, 0) } },
    { coords: { x: [0, 0, 1, 1].map((group, i) => 10 * group + i) } },
  ) // biome-ignore format: one line
  const [r, n] = [wet.get('r'), wet.get('n')]
  const bins = { x: [-1, 5, 20] }
  expect(await numbers(r.groupBy(bins).count())).toEqual([2, 2, 1, 2])
  expect(await numbers(r.groupBy(bins).count({ axis: ['x', 'y'] }))).toEqual([4, 3])
  expect(await numbers(r.groupBy(bins).mean({ axis: ['x', 'y'] }))).toEqual([6 / 4, 3 / 3])
  expect(await numbers(n.groupBy(bins).count())).toEqual([2, 2])
  expect(await numbers(r.coarsen({ x: 2, y: 2 }).count())).toEqual([4, 3])
  expect(await numbers(n.rolling({ x: 2 }, { minPeriods: 2 }).sum())).toEqual([Number.NaN, 0, 5, 5])
  expect(await numbers(n.rolling({ x: 2 }).count())).toEqual([Number.NaN, 2, 2, 2])
  // countNonzero leaves out zeros, and missing values as the others do.
  expect(await r.countNonzero().get()).toBe(3)
  expect(await wet.countNonzero().get('n').get()).toBe(1)
  expect(await numbers(r.groupBy(bins).countNonzero())).toEqual([0, 2, 1, 0])
  expect(await numbers(r.groupBy(bins).countNonzero({ axis: ['x', 'y'] }))).toEqual([2, 1])
  expect(await numbers(r.coarsen({ x: 2, y: 2 }).countNonzero())).toEqual([2, 1])
  expect(await numbers(n.rolling({ x: 2 }).countNonzero())).toEqual([Number.NaN, 0, 1, 1])
  expect(await numbers(r.rolling({ y: 2 }, { minPeriods: 1 }).countNonzero())).toEqual([0, 1, 0, 1, Number.NaN, 0, 1, 1])
})

test('repeated labels make groups, are refused between labels, and a coordinate may be called coord', async () => {
  const repeated = new Dataset({ t: { dims: ['coord'], data: [1, 2, 4] } }, { coords: { coord: [10, 20, 10] } }).get('t')
  const sums = repeated.groupBy('coord').sum()
  expect(await sums.get()).toMatchObject({ data: Float64Array.of(5, 2) })
  expect(await sums.sel({ coord: 10 }).get()).toBe(5)
  expect(
    await repeated
      .groupBy({ coord: [0, 10, 20] })
      .sum()
      .get(),
  ).toMatchObject({ data: Float64Array.of(5, 2) })
  expect(() => repeated.groupBy(null as never)).toThrow(/groupBy takes a key/)
  await expect((async () => repeated.interp({ coord: 15 }))()).rejects.toThrow(/the label 10 is there twice along coord/)
})
