import { expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { CountingSource } from '../support/counting-source.ts'

const days = ['2001-01-01', '2001-02-01', '2001-03-01'].map((day) => new Date(day))

/** Integers with a missing one, floats with another, and text. */
const ds = new Dataset(
  {
    pres: {
      dims: ['time'],
      data: new DiskArray({
        dtype: 'int32',
        shape: [3],
        fillValue: -999,
        readBlock: (_, out) => void out.data.set([0, -999, 200]),
      }),
      attrs: { units: 'hPa' },
    },
    temp: {
      dims: ['time'],
      data: [271.5, 280, Number.NaN],
      attrs: { units: 'K', standard_name: 'air_temperature', long_name: 'T' },
    },
    name: { dims: ['time'], data: ['b', 'a', 'c'] },
  },
  { coords: { time: days } },
)
const [pres, temp] = [ds.get('pres'), ds.get('temp')]
const bits = async (array: ReturnType<typeof ds.get>): Promise<number[]> => [...((await array.values()) as Uint8Array)]

test('a missing value is neither less, equal nor greater, and differs from every value', async () => {
  for (const [name, expected] of [
    ['lt', [1, 0, 0]],
    ['le', [1, 0, 1]],
    ['gt', [0, 0, 0]],
    ['ge', [0, 0, 1]],
    ['eq', [0, 0, 1]],
    ['ne', [1, 1, 0]],
  ] as const) {
    const found = pres[name](200)
    expect(found.dtype).toBe('bool')
    expect(await bits(found)).toEqual(expected)
    expect(await bits(pres[name](Number.NaN))).toEqual(name === 'ne' ? [1, 1, 1] : [0, 0, 0])
  }
  expect(await bits(pres.eq(temp))).toEqual([0, 0, 0])
  expect(await bits(pres.ne(temp))).toEqual([1, 1, 1])
  expect(await bits(pres.lt(temp))).toEqual([1, 0, 0])
})

test('a mask keeps zeros, which a comparison of their own finds', async () => {
  expect(await temp.where(pres.lt(100)).values()).toEqual(Float64Array.of(271.5, Number.NaN, Number.NaN))
  expect(await temp.where(await pres.map((p) => p < 100, { dtype: 'bool', fillValue: false })).values()).toEqual(
    Float64Array.of(271.5, Number.NaN, Number.NaN),
  )
  expect(await pres.where(pres.lt(100)).values()).toEqual(Float64Array.of(0, Number.NaN, Number.NaN))
  expect(() => temp.where(pres)).toThrow(
    expect.objectContaining({ tag: 'InvalidArgumentError', message: expect.stringMatching(/'pres' has int32.*\.ne\(0\)/) }),
  )
  expect(() => ds.where(temp)).toThrow(/where takes booleans, and 'temp' has float64/)
  expect(() => temp.where(ds.get('name'))).toThrow(/where takes booleans, and 'name' has string: compare first$/)
})

test('numbers of 64 bits are compared exactly', async () => {
  const big = 2n ** 62n
  const source = new CountingSource({ dtype: 'int64', shape: [4], data: BigInt64Array.of(big, big + 1n, -9n, 5n) } as never, ChunkGrid.regular([4], [2]), {
    fillValue: -9n as never,
  }) // biome-ignore format: one line
  const v = new Dataset({ v: { dims: ['x'], data: new DiskArray(source as never) } }).get('v')
  expect(await bits(v.gt(big))).toEqual([0, 1, 0, 0])
  expect(source.reads.length).toBe(1)
  expect(await bits(v.eq(big + 1n))).toEqual([0, 1, 0, 0])
  expect(await bits(v.ne(5))).toEqual([1, 1, 1, 0])
  expect(await bits(v.lt(5.5))).toEqual([0, 0, 0, 1])
  expect(await bits(v.eq(v))).toEqual([1, 1, 0, 1])
  expect(await v.abs().values()).toEqual(BigInt64Array.of(big, big + 1n, -9n, 5n))
})

test('a number is rounded to float32 for values of this type, as in numpy', async () => {
  const v = new Dataset({ v: { dims: ['x'], data: { data: Float32Array.of(0.1, 0.2, 2 ** 24), shape: [3] } } }).get('v')
  expect(await bits(v.eq(0.1))).toEqual([1, 0, 0])
  expect(await bits(v.lt(0.1))).toEqual([0, 0, 0])
  expect(await bits(v.ge(2 ** 24 + 1))).toEqual([0, 0, 1])
})

test('times compare with dates and with times, and missing times with none', async () => {
  const time = ds.get('time')
  expect(await bits(time.ge(new Date('2001-02-01')))).toEqual([0, 1, 1])
  expect(await bits(time.lt(BigInt(days[1]!.getTime()) * 1_000_000n))).toEqual([1, 0, 0])
  const shifted = time.shift({ time: 1 })
  expect(await bits(time.gt(shifted))).toEqual([0, 1, 1])
  expect(await bits(time.ne(shifted))).toEqual([1, 1, 1])
  expect(await bits(shifted.ne(-(2n ** 63n)))).toEqual([1, 1, 1])
  expect(await bits(shifted.eq(-(2n ** 63n)))).toEqual([0, 0, 0])
  expect(await temp.where(time.gt(new Date('2001-01-15'))).values()).toEqual(Float64Array.of(Number.NaN, 280, Number.NaN))
})

test('text compares with text', async () => {
  expect(await bits(ds.get('name').eq('a'))).toEqual([0, 1, 0])
  expect(await bits(ds.get('name').ge('b'))).toEqual([1, 0, 1])
})

test('values of different kinds are not compared', () => {
  const wrong = [
    () => temp.lt('271'),
    () => temp.lt(days[0]!),
    () => temp.eq(null as never),
    () => temp.eq({} as never),
    () => ds.get('time').lt(5),
    () => ds.get('time').lt('2001-02' as never),
    () => ds.get('time').lt(new Date(Number.NaN)),
    () => ds.get('name').eq(5),
    () => ds.get('name').eq(ds.get('time')),
    () => temp.lt(ds.get('time')),
    () => temp.lt(1, { jion: 'inner' } as never),
    () => temp.and(temp.lt(1)),
    () => temp.lt(1).and(temp),
    () => temp.lt(1).or(true as never),
    () => temp.not(),
  ]
  for (const call of wrong) expect(call, String(call)).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
})

test('booleans combine as masks do', async () => {
  const [a, b] = [pres.lt(100), temp.gt(0)]
  expect(await bits(a.and(b))).toEqual([1, 0, 0])
  expect(await bits(a.or(b))).toEqual([1, 1, 0])
  expect(await bits(a.not())).toEqual([0, 1, 1])
  expect(a.attrs).toEqual({})
})

test('computed values lose the units and the standard name that no longer hold', async () => {
  const kept = { units: 'K', standard_name: 'air_temperature', long_name: 'T' }
  for (const each of [
    temp.abs(),
    temp.sub(temp),
    temp.add(temp),
    temp.where(temp.gt(0)),
    temp.clip(0),
    temp.mean(),
    temp.std(),
    temp.max(),
  ])
    expect(each.attrs).toEqual(kept)
  const others = [
    ...[temp.add(1), temp.sub(273.15), temp.mul(2), temp.div(2), temp.mul(temp), temp.div(temp), temp.add(pres), temp.sub(pres)],
    ...[temp.sqrt(), temp.log(), temp.exp(), temp.map((value) => value - 273.15), temp.isnull(), temp.variance(), temp.prod()],
    ...[temp.count(), temp.countNonzero(), temp.any(), temp.all(), temp.argMin(), temp.groupBy('time.month').count()],
  ] // biome-ignore format: groups
  for (const each of others) expect(each.attrs).toEqual({ long_name: 'T' })
})

test('functions get no missing values, and results keep them missing', async () => {
  const seen: number[] = []
  const doubled = pres.map((value) => {
    seen.push(value)
    return 2 * value
  })
  expect(doubled.dtype).toBe('int32')
  expect(await doubled.astype('float64').values()).toEqual(Float64Array.of(0, Number.NaN, 400))
  expect(seen).toEqual([0, 200])
  expect(await pres.sqrt().values()).toEqual(Float64Array.of(0, Number.NaN, Math.sqrt(200)))
  expect(() => pres.map((value) => value > 0, { dtype: 'bool' })).toThrow(/fillValue/)
  expect(() => temp.map(5 as never)).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
  expect(() => ds.get('name').sqrt()).toThrow(expect.objectContaining({ tag: 'UnsupportedError' }))
  expect(() => ds.get('time').abs()).toThrow(expect.objectContaining({ tag: 'UnsupportedError' }))
})
