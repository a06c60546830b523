import fc from 'fast-check'
import { expect, test } from 'vitest'
import { between, Dataset } from '../../src/runtime/dataset.ts'

const DAY = 86_400_000
const days = (start: string, count: number): Date[] =>
  Array.from({ length: count }, (_, i) => new Date(Date.parse(start) + i * DAY))

test('minPeriods makes sums of few values missing, and counts stay', async () => {
  const time = [new Date('1998-01-05'), new Date('1998-01-06'), new Date('1998-03-01')]
  const ds = new Dataset({ t: { dims: ['time'], data: [1, Number.NaN, 3] } }, { coords: { time } })
  const sums = (minPeriods?: number) =>
    ds
      .get('t')
      .resample({ time: 'MS' }, minPeriods === undefined ? {} : { minPeriods })
      .sum()
      .values()
  expect(await sums()).toEqual(Float64Array.of(1, 0, 3))
  expect(await sums(1)).toEqual(Float64Array.of(1, Number.NaN, 3))
  expect(await sums(2)).toEqual(Float64Array.of(Number.NaN, Number.NaN, Number.NaN))
  const monthly = ds.groupBy('time.month', { minPeriods: 2 })
  expect(await monthly.sum().get('t').values()).toEqual(Float64Array.of(Number.NaN, Number.NaN))
  expect(await monthly.count().get('t').values()).toEqual(Float64Array.of(1, 1))
  expect(() => ds.resample({ time: 'MS' }, { minPeriod: 1 } as never)).toThrow(/resample has no option 'minPeriod'/)
})

test('weeks, closed, label and offset reach resample of arrays and datasets', async () => {
  const time = days('1998-01-01', 14)
  const ds = new Dataset({ t: { dims: ['time'], data: time.map((_, i) => i) } }, { coords: { time } })
  const weeks = ds.resample({ time: 'W' }).sum()
  // 1998-01-04 is a Sunday.
  expect(await weeks.get('time').dates()).toEqual(['1998-01-04', '1998-01-11', '1998-01-18'].map((day) => new Date(day)))
  expect(await weeks.get('t').values()).toEqual(Float64Array.of(6, 49, 36))
  const left = ds.get('t').resample({ time: '7D' }, { closed: 'right', label: 'right', offset: '1D' }).sum()
  expect(await left.coords['time']!.dates()).toEqual(['1998-01-02', '1998-01-09', '1998-01-16'].map((day) => new Date(day)))
  expect(await left.values()).toEqual(Float64Array.of(1, 35, 55))
  expect(() => ds.resample({ time: 'MS' }, { offset: '6h' })).toThrow(
    /offset is for steps of one length such as 6h, not for 'MS'/,
  )
  expect(() => ds.resample({ time: 'D' }, { offset: 'soon' })).toThrow(/an offset is text like '6h'/)
  expect(() => ds.resample({ time: 'W-FOO' })).toThrow(/unknown/)
})

test('a reversed range of longitudes goes around the globe, and is an error along other dimensions', async () => {
  for (const lon of [
    [0, 90, 170, 180, 200, 350],
    [-180, -160, -90, 0, 170, 179],
  ]) {
    const ds = new Dataset(
      { t: { dims: ['lon'], data: lon } },
      { coords: { lon: { dims: ['lon'], data: lon, attrs: { units: 'degrees_east' } } } },
    )
    const found = ds.get('t').sel({ lon: between(170, -160) })
    const expected = lon
      .map((each) => (each < 0 ? each + 360 : each))
      .filter((each) => each >= 170 && each <= 200)
      .sort((a, b) => a - b)
    expect([...((await found.coords['lon']!.values()) as Float64Array)]).toEqual(expected)
    expect([...((await found.values()) as Float64Array)].map((each) => (each < 0 ? each + 360 : each))).toEqual(expected)
  }
  const ds = new Dataset({ t: { dims: ['lat'], data: [1, 2] } }, { coords: { lat: [10, 20] } })
  expect(() => ds.sel({ lat: between(20, 10) })).toThrow(/the lower one comes first/)
})

test('a partial date stays a range beside a method for other labels', async () => {
  const time = days('1998-01-30', 4)
  const t = { dims: ['time', 'lat'], data: { data: Float64Array.from({ length: 8 }, (_, i) => i), shape: [4, 2] } }
  const ds = new Dataset({ t }, { coords: { time, lat: [10, 20] } })
  expect(await ds.get('t').sel({ time: '1998-01', lat: 18 }, { method: 'nearest' }).values()).toEqual(Float64Array.of(1, 3))
  expect(await ds.get('t').sel({ time: '1998-01-31', lat: 18 }, { method: 'nearest' }).get()).toBe(3)
})

test('weights along two dimensions weight like those of the naive sum', async () => {
  const value = fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: -9, max: 9 }) },
    { weight: 1, arbitrary: fc.constant(Number.NaN) },
  )
  const [times, rows, columns] = [2, 3, 4]
  await fc.assert(
    fc.asyncProperty(
      fc.array(value, { minLength: 24, maxLength: 24 }),
      fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 12, maxLength: 12 }),
      async (data, weights) => {
        const t = { dims: ['time', 'lat', 'lon'], data: { data: Float64Array.from(data), shape: [times, rows, columns] } }
        const area = { dims: ['lat', 'lon'], data: { data: Float64Array.from(weights), shape: [rows, columns] } }
        const ds = new Dataset({ t, area })
        const weighted = ds.get('t').weighted(ds.get('area'))
        const mean = (cells: readonly number[]) => {
          const present = cells.filter((cell) => !Number.isNaN(data[cell]))
          const total = present.reduce((sum, cell) => sum + weights[cell % 12]!, 0)
          return total === 0 ? Number.NaN : present.reduce((sum, cell) => sum + weights[cell % 12]! * data[cell]!, 0) / total
        }
        const cells = [...Array(24).keys()]
        const near = (actual: ArrayLike<unknown>, expected: readonly number[]) =>
          expect(Array.from(actual as ArrayLike<number>, (each) => Math.round(each * 1e9) + 0)).toEqual(
            expected.map((each) => Math.round(each * 1e9) + 0),
          )
        near([await weighted.mean().get()], [mean(cells)])
        near(
          await weighted.mean({ axis: ['lat', 'lon'] }).values(),
          [0, 1].map((time) => mean(cells.filter((cell) => Math.floor(cell / 12) === time))),
        )
        near(
          await weighted.mean({ axis: 'lon' }).values(),
          [...Array(6).keys()].map((row) => mean(cells.filter((cell) => Math.floor(cell / 4) === row))),
        )
      },
    ),
    { numRuns: 25 },
  )
  const ds = new Dataset({
    t: { dims: ['x'], data: [1, 2] },
    w: { dims: ['x', 'y'], data: { data: Float64Array.of(1, 1), shape: [2, 1] } },
  })
  expect(() => ds.get('t').weighted(ds.get('w'))).toThrow(/weights lie along some of the dimensions x, not along \[x, y\]/)
})
