import { describe, expect, test } from 'vitest'
import { concat, mosaic, stack } from '../../../src/array/combine.ts'
import type { DiskArray } from '../../../src/array/disk-array.ts'
import { DiskArray as Handle } from '../../../src/array/disk-array.ts'
import { HyperslabError } from '../../../src/core/errors.ts'
import { sizeOf } from '../../../src/core/shape.ts'
import { slice } from '../../../src/grid/slice.ts'
import { all, bounds, chunkLengths, counted, range, refused } from './support.ts'

const sum = (values: readonly unknown[]): number => (values as number[]).reduce((a, b) => a + b, 0)

describe('concatenated', () => {
  const halves = () => {
    const { array, data, reads } = counted([1, 6, 4])
    return { parts: [array.view([null, slice(0, 3)]), array.view([null, slice(3, 6)])], array, data, reads }
  }

  test('halves make a whole, written through', async () => {
    const { parts, data } = halves()
    const whole = concat(parts, { axis: 1 })
    expect(await all(whole)).toEqual(range(1, 25))
    expect(await all(whole.map((x) => 2 * x))).toEqual(range(1, 25).map((x) => 2 * x))
    await whole.set(null, range(0, 24))
    expect(sum([...data])).toBe(276)
  })

  test('along any axis, also new ones, also several at once', async () => {
    const { parts } = halves()
    expect(concat(parts).shape).toEqual([2, 3, 4])
    expect(concat(parts, { axis: -1 }).shape).toEqual([1, 3, 8])
    expect(await concat(parts, { axis: -1 }).get([0, 1, 4])).toBe(17)
    expect([0, 1, 2, 3].map((axis) => stack(parts, { axis }).shape)).toEqual([[2, 1, 3, 4], [1, 2, 3, 4], [1, 3, 2, 4], [1, 3, 4, 2]]) // biome-ignore format: one line
    expect(await stack(parts, { axis: 3 }).get([0, 2, 3, 1])).toBe(24)
    const square = concat([parts, [...parts].reverse()], { axis: [0, 1] })
    expect(square.shape).toEqual([2, 6, 4])
    expect(await all(square)).toEqual([...range(1, 25), ...range(13, 25), ...range(1, 13)])
  })

  test('arrays in one chunk each', () => {
    const parts = [10, 15, 18].map((length) => counted([20, length]).array)
    expect(chunkLengths(concat(parts, { axis: 1 }))).toEqual([[20], [10, 15, 18]])
  })

  test('true boundaries, and only tiles that are touched', async () => {
    const parts = [counted([10], [3]), counted([9], [4], { first: 11 }), counted([7], [3], { first: 20 })]
    const whole = concat(parts.map(({ array }) => array))
    expect(chunkLengths(whole)).toEqual([[3, 3, 3, 1, 4, 4, 1, 3, 3, 1]])
    expect(await all(whole)).toEqual(range(1, 27))
    await whole.get([slice(8, 12)])
    expect(parts.map(({ reads }) => reads.slice(1).map(bounds))).toEqual([[[[8, 10]]], [[[0, 2]]], []])
    await whole.set(null, range(1, 27))
    expect([...parts[2]!.data]).toEqual(range(20, 27))
    expect(sum(parts.map(({ writes }) => writes.length))).toBeLessThanOrEqual(10)
  })

  test('data types are promoted', async () => {
    const parts = [counted([4]).array, counted([4], [4], { dtype: 'float32' }).array] as DiskArray[]
    const whole = concat(parts)
    expect([whole.dtype, await all(whole)]).toEqual(['float64', [1, 2, 3, 4, 1, 2, 3, 4]])
    expect(() => concat([parts[0]!, new Handle({ dtype: 'string', shape: [2], readBlock: () => undefined }) as never])).toThrow(
      'no data type for values of string and of float64',
    )
  })

  test('missing tiles', async () => {
    const tile = (shape: number[], same: number) => counted(shape, undefined, { same, dtype: 'int32' }).array
    const whole = concat([[tile([3, 4], 0), tile([3, 5], 2)], [tile([2, 4], 1), null]]) // biome-ignore format: one line
    expect([whole.shape, chunkLengths(whole), whole.dtype]).toEqual([[5, 9], [[3, 2], [4, 5]], 'int32']) // biome-ignore format: one line
    expect(await all(whole.view([slice(2, 4), slice(3, 6)]))).toEqual([0, 2, 2, 1, 0, 0])
    await whole.set([0], 7)
    await expect(whole.set([4], 7)).rejects.toMatchObject({ tag: 'ReadOnlyError' })
  })

  test('many, some missing', async () => {
    const missing = (k: number): boolean => k === 0 || k % 5 === 4
    const { array } = counted([100, 50], undefined, { same: 1 })
    const whole = stack(range(0, 100).map((k) => (missing(k) ? null : array)))
    expect(whole.chunks.axes[0]).toMatchObject({ chunkLength: 1, length: 100, offset: 0 })
    const line = await all(whole.view([null, 1, 1]))
    expect([line.slice(0, 5), line.slice(-6)]).toEqual([[0, 1, 1, 1, 0], [0, 1, 1, 1, 1, 0]]) // biome-ignore format: one line
  })

  test.each<[string, () => unknown]>([
    ['nothing', () => concat([])],
    ['only missing ones', () => concat([null, null] as never)],
    ['lengths that do not form a grid', () => concat([[counted([2, 3]).array, counted([3, 3]).array]])],
    ['other lengths beside', () => concat([counted([2, 3]).array, counted([2, 4]).array])],
    ['another rank', () => concat([counted([2]).array, counted([2, 4]).array])],
    ['uneven lists', () => concat([[counted([2, 3]).array], []])],
    ['more levels than axes', () => concat([[counted([2]).array]])],
  ])('refuses %s', (_, make) => {
    expect(make).toThrow(refused('InvalidArgumentError'))
  })
})

test('tiles whose first chunk is shortened', async () => {
  const { array } = counted([13], [5])
  const whole = concat([array.view([slice(2, 12)]), array.view([slice(0, 10)])])
  expect(chunkLengths(whole)).toEqual([[3, 5, 2, 5, 5]])
})

test('a mosaic: tiles anywhere, gaps read as the fill value, tiles that overlap are refused', async () => {
  const [a, b] = [counted([2, 2], [1, 2]), counted([3, 1], [3, 1], { first: 10 })]
  const whole = mosaic([{ origin: [1, 1], array: a.array }, { origin: [0, 3], array: b.array }], { shape: [4, 5], fillValue: -1 }) // biome-ignore format: one line
  expect(await all(whole)).toEqual([-1, -1, -1, 10, -1, -1, 1, 2, 11, -1, -1, 3, 4, 12, -1, -1, -1, -1, -1, -1])
  expect([a.reads.length, b.reads.length]).toEqual([1, 1])
  expect(await whole.get([3, 0])).toBe(-1)
  expect([a.reads.length, b.reads.length]).toEqual([1, 1])
  await whole.set([slice(1, 3), slice(1, 4)], [9, 8, 7, 6, 5, 4])
  expect([[...a.data], [...b.data]]).toEqual([[9, 8, 6, 5], [10, 7, 4]]) // biome-ignore format: one line
  const at = (...origin: number[]) => ({ origin, array: a.array })
  expect(() => mosaic([at(0, 0), at(1, 1)])).toThrow('tiles at [0, 0] and [1, 1] overlap')
  expect(() => mosaic([at(0, 0), at(0, 4)], { shape: [2, 5] })).toThrow(refused('InvalidArgumentError'))
})

test('an error in a tile names the tile', async () => {
  const broken = new Handle({
    dtype: 'float64',
    shape: [2],
    label: { file: 'b.af', array: 'x' },
    readBlock: () => {
      throw new HyperslabError('StoreError', 'lost')
    },
  })
  const typed = broken.astype('int8')
  await expect(concat([counted([2]).array, broken]).get()).rejects.toThrow("b.af: array 'x': lost")
  await expect(counted([2], [2], { first: 300 }).array.astype('int8').get()).rejects.toThrow(
    "counting: array 'plain': 300 is not a int8 value",
  )
  expect(typed.source.label).toEqual({ file: 'b.af', array: 'x' })
})

describe('padded', () => {
  const padded = () => {
    const inner = counted([4, 120, 100], [2, 128, 128])
    return { ...inner, pad: inner.array.pad([[1, 2], [30, 40], [10, 20]], { value: 999 }) } // biome-ignore format: one line
  }

  test('chunks', () => {
    const { pad } = padded()
    expect(pad.shape).toEqual([7, 190, 130])
    expect(chunkLengths(pad)).toEqual([[1, 2, 2, 2], [30, 128, 32], [10, 120]]) // biome-ignore format: one line
  })

  test.each<[string, number[][], number[][] | null]>([
    [
      'where there is nothing',
      [
        [0, 1],
        [0, 30],
        [0, 10],
      ],
      null,
    ],
    [
      'inside',
      [
        [2, 4],
        [30, 40],
        [10, 20],
      ],
      [
        [1, 3],
        [0, 10],
        [0, 10],
      ],
    ],
    [
      'across the first corner',
      [
        [0, 2],
        [29, 40],
        [9, 20],
      ],
      [
        [0, 1],
        [0, 10],
        [0, 10],
      ],
    ],
    [
      'across the last corner',
      [
        [4, 7],
        [140, 160],
        [100, 120],
      ],
      [
        [3, 4],
        [110, 120],
        [90, 100],
      ],
    ],
  ])('%s', async (_, box, below) => {
    // biome-ignore format: one line
    const { pad, array, reads } = padded()
    const result = await pad.get(box.map(([start, stop]) => slice(start!, stop!)))
    expect(reads.map(bounds)).toEqual(below === null ? [] : [below])
    const size = sizeOf(box.map(([start, stop]) => stop! - start!))
    const inside = below === null ? [] : await all(array.view(below.map(([start, stop]) => slice(start!, stop!))))
    expect(sum([...result.data])).toBe(sum(inside) + 999 * (size - inside.length))
  })

  test('by much more than there is', async () => {
    const { array, data } = counted([4, 20, 10])
    const pad = array.pad([[1, 2], [39, 3], [21, 17]], { value: 1 }) // biome-ignore format: one line
    expect(await pad.sum()).toBe(sizeOf(pad.shape) + sum([...data]) - data.length)
    await expect(pad.set(null, 1)).rejects.toMatchObject({ tag: 'ReadOnlyError' })
  })

  test('edges are repeated', async () => {
    const { array, reads } = counted([2, 3])
    const pad = array.pad([[1, 0], [0, 2]], { mode: 'edge' }) // biome-ignore format: one line
    expect(await all(pad)).toEqual([1, 2, 3, 3, 3, 1, 2, 3, 3, 3, 4, 5, 6, 6, 6])
    expect(reads.length).toBe(1)
    expect(() => counted([0]).array.pad(1, { mode: 'edge' })).toThrow(refused('InvalidArgumentError'))
    expect(await all(counted([0]).array.pad(1))).toEqual([0, 0])
  })
})
