import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HyperslabError } from '../../src/core/errors.ts'
import { between } from '../../src/dataset/between.ts'
import { concatDatasets } from '../../src/dataset/concat-datasets.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { CFTime } from '../../src/dataset/time/instant.ts'
import { DiskArray } from '../../src/runtime/index.ts'
import { ChunkGrid } from '../../src/runtime/plan.ts'
import { CountingSource } from '../support/counting-source.ts'

const along = (dim: string, labels: readonly number[] | readonly string[], units?: string) =>
  new Dataset(
    { t: { dims: [dim], data: Float64Array.from({ length: labels.length }, (_, i) => i) } },
    { coords: { [dim]: { dims: [dim], data: labels as number[], attrs: units ? { units } : {} } } },
  )

const values = async (ds: Dataset, name = 't'): Promise<number[]> =>
  Array.from((await ds.get(name).values()) as ArrayLike<number>)

describe('ranges of longitudes', () => {
  const grids = fc.record({
    first: fc.constantFrom(0, -180, 2.5, -90),
    step: fc.constantFrom(10, 30, 45, 90),
    descending: fc.boolean(),
    low: fc.integer({ min: -400, max: 400 }),
    width: fc.integer({ min: 0, max: 360 }),
  })

  test('hold each place in them once, with labels in the range, in the order of the axis', async () => {
    await fc.assert(
      fc.asyncProperty(grids, async ({ first, step, descending, low, width }) => {
        const ascending = Array.from({ length: 360 / step }, (_, i) => first + i * step)
        const labels = descending ? [...ascending].reverse() : ascending
        const ds = along('lon', labels, 'degrees_east')
        // The naive way: each turn of each label.
        const inside = labels.flatMap((label, at) =>
          [-3, -2, -1, 0, 1, 2, 3].flatMap((turn) => {
            const place = label + 360 * turn
            return place >= low && place <= low + width ? [{ at, place, turn }] : []
          }),
        )
        // If a position is in the range twice, the label itself is taken, or else the one of the nearest
        // turn.
        const least = (at: number) => Math.min(...inside.filter((each) => each.at === at).map(({ turn }) => Math.abs(turn)))
        const wanted = inside
          .filter(({ at, turn }) => Math.abs(turn) === least(at))
          .sort((a, b) => (descending ? b.place - a.place : a.place - b.place) || a.turn - b.turn)
        if (wanted.length === 0) {
          expect(() => ds.sel({ lon: between(low, low + width) })).toThrow(/no label along lon/)
          return
        }
        const taken = ds.sel({ lon: between(low, low + width) })
        expect(await values(taken)).toEqual(wanted.map(({ at }) => at))
        expect(Array.from((await taken.get('lon').values()) as ArrayLike<number>)).toEqual(wanted.map(({ place }) => place))
      }),
    )
  })

  test('single ones are found on any turn, the nearest across the end', async () => {
    const ds = along('lon', [0, 90, 180, 270], 'degrees_east')
    expect(await ds.get('t').sel({ lon: -90 }).get()).toBe(3)
    expect(await ds.get('t').sel({ lon: 350 }, { method: 'nearest' }).get()).toBe(0)
    expect(await ds.get('t').sel({ lon: -10 }, { method: 'nearest', tolerance: 10 }).get()).toBe(0)
    expect(() => ds.get('t').sel({ lon: -20 }, { method: 'nearest', tolerance: 10 })).toThrow(/further away than 10/)
    expect(() => ds.get('t').sel({ lon: 0 }, { tolerance: 10 })).toThrow(/tolerance along lon limits a method, and there is none/)
    expect(() => ds.get('t').sel({ lon: between(0, 400) })).toThrow(/a range along lon is of 360 at most/)
  })
})

test('labels that ascend, descend or do neither are found as a search one by one finds them', async () => {
  const axis = fc.uniqueArray(fc.integer({ min: -50, max: 50 }), { minLength: 1, maxLength: 12 })
  const order = fc.constantFrom('up', 'down', 'none')
  await fc.assert(
    fc.asyncProperty(
      axis,
      order,
      fc.integer({ min: -60, max: 60 }),
      fc.constantFrom('nearest', 'pad', 'backfill', undefined),
      async (given, way, label, method) => {
        // biome-ignore format: one line
        const sorted = [...given].sort((a, b) => (way === 'down' ? b - a : a - b))
        const labels = way === 'none' ? given : sorted
        const isOrdered =
          labels.every((each, i) => i === 0 || each > labels[i - 1]!) ||
          labels.every((each, i) => i === 0 || each < labels[i - 1]!)
        const ds = along('x', labels)
        const select = () => ds.get('t').sel({ x: label }, method ? { method } : {})
        const away = (at: number): number => Math.abs(labels[at]! - label)
        const all = [...labels.keys()].filter((at) => (method === undefined ? labels[at] === label : method === 'pad' ? labels[at]! <= label : method === 'backfill' ? labels[at]! >= label : true)) // biome-ignore format: one line
        if (all.length === 0 || (!isOrdered && (method === 'pad' || method === 'backfill'))) {
          expect(select).toThrow(expect.objectContaining({ tag: 'InvalidSelectionError' }))
          return
        }
        const found = Number(await select().get())
        expect(away(found)).toBe(Math.min(...all.map(away)))
      },
    ),
  )
})

describe('what is not there', () => {
  test('is named with its neighbours, or with the ends', () => {
    const t = along('lat', [10, 20, 30]).get('t')
    expect(() => t.sel({ lat: 22 })).toThrow(/no label along lat is 22: its neighbours are 20 and 30/)
    expect(() => t.sel({ lat: 45 })).toThrow(/they go from 10 to 30/)
    expect(() => t.sel({ lat: between(12, 18) })).toThrow(/no label along lat is from 12 to 18/)
    expect(() => t.sel({ lat: between(20, 10) })).toThrow(/the lower one comes first/)
    expect(() => t.sel({ lat: 5 }, { method: 'pad' })).toThrow(/at or before 5/)
    expect(() => t.sel({ lon: 5 })).toThrow(/there is no dimension "lon"; labels are along lat/)
    expect(() => t.sel({ lat: '20' })).toThrow(/labels along lat are numbers/)
    expect(() => t.sel({ lat: Number.NaN })).toThrow(/NaN is not a label/)
    expect(() => along('lat', [10, 20, 10]).get('t').sel({ lat: 10 })).toThrow(/the label 10 along lat occurs 2 times/)
    expect(() =>
      along('lat', [10, 30, 20])
        .get('t')
        .sel({ lat: between(10, 20) }),
    ).toThrow(/neither ascend nor descend/)
  })

  test('labels that are no numbers are near nothing', async () => {
    const t = along('x', [Number.NaN, 10, 20]).get('t')
    expect(await t.sel({ x: 18 }, { method: 'nearest' }).get()).toBe(2)
  })

  test('text is found exactly', async () => {
    const ds = along('station', ['Potsdam', 'Zugspitze'])
    expect(await ds.get('t').sel({ station: 'Zugspitze' }).get()).toBe(1)
    expect(() => ds.get('t').sel({ station: 'Brocken' })).toThrow(/no label along station is Brocken/)
    expect(() => ds.get('t').sel({ station: 'Brocken' }, { method: 'nearest' })).toThrow(/none is nearer/)
  })
})

describe('times', () => {
  const time = ['1998-01-01', '1998-01-02', '1998-02-01', '1999-01-01'].map((day) => new Date(day))
  const ds = new Dataset({ t: { dims: ['time'], data: [0, 1, 2, 3] } }, { coords: { time } })
  const t = ds.get('t')

  test.each([
    ['1998', [0, 1, 2]],
    ['1998-01', [0, 1]],
    [between('1998-02', '1999'), [2, 3]],
    [
      ['1999-01-01', '1998-01-02'],
      [3, 1],
    ],
  ])('%s', async (label, wanted) => {
    expect(Array.from((await t.sel({ time: label as never }).values()) as ArrayLike<number>)).toEqual(wanted)
  })

  test('a date as precise as the labels is one of them; Dates, instants and Temporal are', async () => {
    const instant = BigInt(Date.UTC(1998, 1, 1)) * 1_000_000n
    for (const label of ['1998-02-01', new Date('1998-02-01'), instant, { epochNanoseconds: instant }])
      expect(await t.sel({ time: label }).get()).toBe(2)
    expect(() => t.sel({ time: '1998-02-02' })).toThrow(/its neighbours are 1998-02-01T00:00 and 1999-01-01T00:00/)
    expect(() => t.sel({ time: 35 as never })).toThrow(/is not a time/)
    expect(() => t.sel({ time: new CFTime({ year: 1998 }, '360_day') })).toThrow(/360_day/)
    expect(await t.sel({ time: '1998-02-03' }, { method: 'nearest', tolerance: '2D' }).get()).toBe(2)
    expect(() => t.sel({ time: '1998-02-05' }, { method: 'nearest', tolerance: '2D' })).toThrow(
      /further away than 172800000000000 ns$/,
    )
    expect(await t.sel({ time: '1998-02-01' }).coords['time']!.dates()).toEqual([new Date('1998-02-01')])
  })
})

test('times of the standard calendar that no 64 bits hold select all the same', async () => {
  const plain = { dtype: 'float64' as const, shape: [3], data: Float64Array.of(0, 365, 730) }
  const attrs = new Map([['units', 'days since 0850-01-01']])
  const array = new DiskArray(new CountingSource(plain, ChunkGrid.regular([3], [3]), { attrs })) as DiskArray
  const ds = await Dataset.from({ variables: [{ name: 'time', array, dims: ['time'] }] })
  const [time] = await ds.get('time').sel({ time: '0851' }).dates()
  expect(String(time)).toBe('0851-01-01T00:00')
  expect(ds.get('time').attrs).toEqual({ units: 'days since 0850-01-01' })
})

test('what is selected reads its own box, and labels no more', async () => {
  const source = new CountingSource(
    { dtype: 'float32', shape: [4, 6], data: Float32Array.from({ length: 24 }, (_, i) => i) },
    ChunkGrid.regular([4, 6], [1, 3]),
  )
  const lat = new CountingSource(
    { dtype: 'float64', shape: [6], data: Float64Array.from({ length: 6 }, (_, i) => 10 * i) },
    ChunkGrid.regular([6], [6]),
  )
  const arrays = [
    { name: 't', array: new DiskArray(source) as DiskArray, dims: ['time', 'lat'] },
    { name: 'lat', array: new DiskArray(lat) as DiskArray, dims: ['lat'] },
  ]
  const ds = await Dataset.from({ variables: arrays })
  expect(lat.reads).toHaveLength(1)
  const series = await ds.get('t').sel({ lat: 40 }).get()
  expect(series).toMatchObject({ shape: [4], data: Float32Array.of(4, 10, 16, 22) })
  expect(source.reads).toEqual([[expect.objectContaining({ start: 0, stop: 4 }), expect.objectContaining({ start: 4, stop: 5 })]])
  expect(lat.reads).toHaveLength(1)
})

describe('datasets', () => {
  const ds = new Dataset(
    { a: { dims: ['x'], data: [1, 2, 3] }, b: { dims: ['y', 'x'], data: { data: new Float64Array(6), shape: [2, 3] } } },
    { coords: { x: [10, 20, 30] }, attrs: { title: 'a test' } },
  )

  test('are assigned to, merged, renamed and dropped from', async () => {
    const more = ds.assign({ c: ds.get('a').mul(2) })
    expect(Object.keys(more.variables)).toEqual(['a', 'b', 'c'])
    expect(await values(more.sel({ x: [30, 10] }), 'c')).toEqual([6, 2])
    expect(Object.keys(ds.merge(new Dataset({ d: { dims: ['y'], data: [1, 2] } })).variables)).toEqual(['a', 'b', 'd'])
    expect(() => ds.merge(new Dataset({ a: { dims: ['y'], data: [1, 2] } }))).toThrow(/rename or drop one/)
    const renamed = ds.rename({ x: 'lon', a: 'tas' })
    expect(renamed.dims).toEqual({ lon: 3, y: 2 })
    expect(await renamed.get('tas').sel({ lon: 20 }).get()).toBe(2)
    expect(() => ds.rename({ a: 'b' })).toThrow(/cannot be named "b"/)
    expect(Object.keys(ds.drop('b').variables)).toEqual(['a'])
    expect(() => ds.get('z')).toThrow(expect.objectContaining({ tag: 'UnknownArrayError' }))
  })

  test('what cannot be read is dropped by name', async () => {
    const problem = new HyperslabError('UnsupportedError', 'nested')
    const ds = await Dataset.from({ variables: [], unreadable: new Map([['bad', problem], ['worse', problem]]) }) // biome-ignore format: one line
    expect(String(ds)).toMatch(/^Left out \(see decodeErrors\): bad, worse$/m)
    expect([...ds.drop('bad').decodeErrors.keys()]).toEqual(['worse'])
    expect(() => ds.drop('good')).toThrow(expect.objectContaining({ tag: 'UnknownArrayError' }))
  })

  test('keep their labels whatever is computed or put in', async () => {
    const point = ds.get('a').sel({ x: 20 })
    expect(await values(ds.assign({ c: point }).sel({ x: 10 }), 'a')).toEqual([1])
    for (const differences of [ds.get('a').sub(point), point.sub(ds.get('a'))])
      expect(Math.abs(Number(await differences.sel({ x: 30 }).get()))).toBe(1)
    const scalar = (label: number) => ds.get('a').sel({ x: label }).rename(`at${label}`)
    const [one, other] = [10, 20].map((label) => new Dataset({ [`a${label}`]: scalar(label) })) as [Dataset, Dataset]
    expect(() => one.merge(other)).toThrow(/two coordinates of this name/)
    expect(() => ds.rename({ a: 'z', b: 'z' })).toThrow(/two cannot be named "z"/)
  })

  test('refuse values that are none, and options of other names', async () => {
    for (const data of [
      [1, undefined],
      [1, 'x'],
      ['x', 1],
      [1, 2n],
    ])
      expect(() => new Dataset({ a: { dims: ['x'], data: data as never } })).toThrow(
        expect.objectContaining({ tag: 'InvalidArgumentError' }),
      )
    await expect(Dataset.from({ variables: [] }, { decod: false } as never)).rejects.toThrow(/no option 'decod'/)
  })

  test('refuse lengths and labels that do not go together', () => {
    const twice = new Dataset({ a: { dims: ['x'], data: [1, 2, 3] } }, { coords: { x: [10, 10, 30] } })
    expect(() => ds.get('a').add(twice.get('a'), { join: 'inner' })).toThrow(/are there twice/)
    expect(() => ds.assign({ e: { dims: ['x'], data: [1] } })).toThrow(/x is of length 1 here, and of 3/)
    const other = new Dataset({ a: { dims: ['x'], data: [1, 2, 3] } }, { coords: { x: [10, 20, 31] } })
    expect(() => ds.get('a').add(other.get('a'))).toThrow(
      /labels along x differ, first at position 2: 30 and 31; `join: 'inner'`/,
    )
    // Methods without the option do not name it.
    for (const joined of [() => ds.merge(other.drop('a')), () => ds.assign({ e: other.get('a') })])
      expect(joined).toThrow(/first at position 2: 30 and 31$/)
    expect(ds.get('a').add(other.get('a'), { join: 'inner' }).shape).toEqual([2])
  })

  test('show themselves', () => {
    expect(String(ds)).toBe(`<Dataset>
Dimensions: (x: 3, y: 2)
Coordinates:
  * x  (x)  float64  10 ... 30
Data variables:
    a  (x)     float64  chunks (3)
    b  (y, x)  float64  chunks (2, 3)
Attributes:
    title:  a test`)
  })
})

describe('grids that have both ends of the circle', () => {
  const ends = [
    [-180, -90, 0, 90, 180],
    [180, 90, 0, -90, -180],
    [0, 90, 180, 270, 360],
  ]

  test.each(ends)('every position of %s, %s, %s, %s, %s is in a range of a whole turn once', async (...labels) => {
    const ds = along('lon', labels, 'degrees_east')
    for (let low = -360; low <= 180; low += 45) {
      const taken = ds.sel({ lon: between(low, low + 360) })
      expect((await values(taken)).sort()).toEqual([0, 1, 2, 3, 4])
      const found = Array.from((await taken.get('lon').values()) as ArrayLike<number>)
      expect(found.every((label) => label >= low && label <= low + 360)).toBe(true)
    }
    const whole = ds.sel({ lon: between(Math.min(...labels), Math.max(...labels)) })
    expect(await values(whole)).toEqual([0, 1, 2, 3, 4])
  })

  test.each(ends)('each label of %s, %s, %s, %s, %s is the one that is there', async (...labels) => {
    const ds = along('lon', labels, 'degrees_east')
    for (const [at, lon] of labels.entries()) {
      expect(await ds.get('t').sel({ lon }).get()).toBe(at)
      expect(
        await ds
          .get('t')
          .sel({ lon: lon + 0.25 }, { method: 'nearest', tolerance: 1 })
          .get(),
      ).toBeTypeOf('number')
      expect(await (await ds.get('t').interp({ lon })).get()).toBe(at)
    }
  })

  test('labels of float32 whose ends are a turn apart by rounding are both found', async () => {
    const lon = Float32Array.of(0.1, 90.1, 180.1, 270.1, 360.1)
    const ds = new Dataset(
      { t: { dims: ['lon'], data: [0, 1, 2, 3, 4] } },
      { coords: { lon: { dims: ['lon'], data: lon as never } } },
    )
    expect(await ds.get('t').sel({ lon: 0.1 }).get()).toBe(0)
    expect(await ds.get('t').sel({ lon: 360.1 }).get()).toBe(4)
    expect(await values(ds.sel({ lon: between(0.1, 360.1) }))).toEqual([0, 1, 2, 3, 4])
  })
})

describe('labels that are there twice', () => {
  test('are in ranges all of them, whichever way labels run', async () => {
    const labels = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(
        labels,
        fc.boolean(),
        fc.integer({ min: 0, max: 6 }),
        fc.integer({ min: 0, max: 6 }),
        async (list, down, a, b) => {
          const sorted = [...list].sort((one, other) => (down ? other - one : one - other))
          const [low, high] = [Math.min(a, b), Math.max(a, b)]
          const wanted = sorted.flatMap((label, at) => (label >= low && label <= high ? [at] : []))
          const ds = along('x', sorted)
          if (wanted.length === 0) expect(() => ds.sel({ x: between(low, high) })).toThrow(/no label along x/)
          else expect(await values(ds.sel({ x: between(low, high) }))).toEqual(wanted)
        },
      ),
    )
  })

  test('are named, with their places, where they are in no order', () => {
    const t = along('x', [10, 30, 20, 30]).get('t')
    expect(() => t.sel({ x: between(10, 20) })).toThrow(/the label 30 is there twice along x, at the positions 1 and 3/)
    expect(() =>
      along('x', ['b', 'a', 'b'])
        .get('t')
        .sel({ x: between('a', 'b') }),
    ).toThrow(/label b is there twice along x/)
  })

  test('have nothing between them', async () => {
    const t = along('x', [10, 20, 20, 30]).get('t')
    await expect(t.interp({ x: 15 })).rejects.toThrow(/the label 20 is there twice along x, at the positions 1 and 2/)
  })
})

describe('labels that are no time', () => {
  const time = BigInt64Array.of(-(2n ** 63n), 86_400_000_000_000n, 172_800_000_000_000n)
  const source = new CountingSource({ dtype: 'timestamp_ns', shape: [3], data: time } as never, ChunkGrid.regular([3], [3]))
  const open = () =>
    Dataset.from({
      variables: [
        { name: 'time', array: new DiskArray(source as never), dims: ['time'] },
        { name: 't', array: along('time', [1, 2, 3]).get('t').array, dims: ['time'] },
      ],
    })

  test('are near nothing, and the reason why there are no ranges', async () => {
    const ds = await open()
    expect(await ds.get('t').sel({ time: '1678-01-01' }, { method: 'nearest' }).get()).toBe(1)
    expect(await ds.get('t').sel({ time: '1970-01-02' }).get()).toBe(1)
    expect(() => ds.get('t').sel({ time: between('1970-01-01', '1970-01-03') })).toThrow(/position 0 is missing \(NaT\)/)
    expect(() => ds.get('t').sel({ time: '1970-01-01' }, { method: 'pad' })).toThrow(/position 0 is missing/)
  })
})

describe('labels beyond 2^53', () => {
  const big = 2n ** 53n
  const of = (labels: bigint[], dtype: 'int64' | 'uint64' = 'int64') => {
    const data = dtype === 'int64' ? BigInt64Array.from(labels) : BigUint64Array.from(labels)
    const values = Float64Array.from(labels, (_, i) => i)
    return new Dataset({ t: { dims: ['id'], data: values } }, { coords: { id: { dims: ['id'], data } } })
  }
  const labels = [5n, 7n, big + 1n, big + 2n, big + 3n]

  test.each([
    ['ascending', labels],
    ['descending', [...labels].reverse()],
    ['unordered', [labels[2]!, labels[0]!, labels[4]!, labels[1]!, labels[3]!]],
  ])('are found exactly in %s integers of 64 bits', async (_, list) => {
    for (const ds of [of(list), of(list, 'uint64')]) {
      for (const [at, label] of list.entries()) expect(await ds.get('t').sel({ id: label }).get()).toBe(at)
      expect(await ds.get('t').sel({ id: 7 }).get()).toBe(list.indexOf(7n))
      expect(
        await ds
          .get('t')
          .sel({ id: big + 9n }, { method: 'nearest', tolerance: 6n })
          .get(),
      ).toBe(list.indexOf(big + 3n))
      expect(await values(ds.sel({ id: [7, big + 2n] }))).toEqual([list.indexOf(7n), list.indexOf(big + 2n)])
      expect(() => ds.sel({ id: big })).toThrow(/no label along id is 9007199254740992/)
      expect(() => ds.sel({ id: 2 ** 53 })).toThrow(/pass a bigint/)
      expect(() => ds.sel({ id: 5.5 })).toThrow(/pass a bigint/)
      expect(() => ds.sel({ id: 'a' })).toThrow(/pass a bigint/)
    }
  })

  test('are the ends of ranges, as well as numbers of any kind that is exact', async () => {
    const ds = of(labels)
    expect(await values(ds.sel({ id: between(6, big + 1n) }))).toEqual([1, 2])
    expect(await values(ds.sel({ id: between(5.5, Infinity) }))).toEqual([1, 2, 3, 4])
    expect(() => ds.sel({ id: between(0, 2 ** 53 + 2) })).toThrow(/pass a bigint/)
  })

  test('are shared with an array whose labels are all numbers, and told apart from them', async () => {
    const [one, other] = [of([5n, 7n, big + 1n]).get('t'), of([7n, 9n]).get('t')]
    for (const sum of [one.add(other, { join: 'inner' }), other.add(one, { join: 'inner' })])
      expect(await sum.values()).toEqual(Float64Array.of(1))
    expect(() =>
      of([5n, big + 1n])
        .get('t')
        .add(of([5n, 7n]).get('t')),
    ).toThrow(/first at position 1: 9007199254740993 and 7/)
  })

  test('join with smaller labels, which are numbers, along one dimension', async () => {
    const joined = await concatDatasets([of([5n, 7n]), of([big + 1n])], 'id', { gaps: 'keep' })
    expect(
      await joined
        .get('t')
        .sel({ id: big + 1n })
        .get(),
    ).toBe(0)
    expect(await joined.get('t').sel({ id: 7n }).get()).toBe(1)
  })
})
