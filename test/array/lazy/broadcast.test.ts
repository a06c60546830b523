import { describe, expect, expectTypeOf, test } from 'vitest'
import { broadcast, generate, zip } from '../../../src/array/combine.ts'
import { DiskArray } from '../../../src/array/disk-array.ts'
import { allocate } from '../../../src/core/dtype.ts'
import type { Tensor } from '../../../src/core/tensor.ts'
import { ChunkGrid } from '../../../src/grid/chunks.ts'
import { slice } from '../../../src/grid/slice.ts'
import { numbered } from '../../support/arbitraries.ts'
import { CountingSource } from '../../support/counting-source.ts'
import { all, chunkLengths, counted, range, refused } from './support.ts'

const fixture = () => {
  const da = counted([2, 9, 10], [2, 3, 5])
  const ea = counted([9, 1], [3, 1], { dtype: 'int32' })
  const m: Tensor<'float64'> = { data: Float64Array.of(1, 2), shape: [2, 1, 1], stride: [1, 1, 1], offset: 0 }
  const s = broadcast((a: number, e: number) => a + (e * 2) / 2, da.array, ea.array, { dtype: 'float64' })
  const s2 = broadcast((x: number, y: number) => x / y, s, m, { dtype: 'float64' })
  const expected = range(0, 180).map((i) => (i + 1 + (Math.floor(i / 10) % 9) + 1) / (i < 90 ? 1 : 2))
  return { da, ea, s, s2, expected }
}

describe('broadcast', () => {
  test('lazy', () => {
    const { da, ea, s, s2 } = fixture()
    expect([s.shape, s.dtype, s2.shape, s.chunks.chunkShape]).toEqual([[2, 9, 10], 'float64', [2, 9, 10], [2, 3, 5]])
    expect([da.reads, ea.reads]).toEqual([[], []])
    expectTypeOf(s).toEqualTypeOf<DiskArray<'float64'>>()
  })

  test('read into memory', async () => {
    const { da, ea, s2, expected } = fixture()
    expect(await all(broadcast((x: number) => (x * 2) / 2, s2))).toEqual(expected)
    expect(da.reads.length).toBeLessThanOrEqual(6)
    expect(ea.reads.length).toBeLessThanOrEqual(6)
  })

  test('written elsewhere', async () => {
    const { da, ea, s2, expected } = fixture()
    const out = counted([2, 9, 10], [2, 3, 5], { same: 0 })
    await out.array.copyFrom(s2)
    expect([...out.data]).toEqual(expected)
    for (const { length } of [out.writes, da.reads, ea.reads]) expect(length).toBeLessThanOrEqual(6)
  })

  test('reduced', async () => {
    const { da, ea, s2, expected } = fixture()
    const sums = await s2.sum({ axis: [1, 2] })
    expect([...sums.data]).toEqual([0, 90].map((from) => expected.slice(from, from + 90).reduce((a, b) => a + b)))
    for (const { length } of [da.reads, ea.reads]) expect(length).toBeLessThanOrEqual(6)
  })

  test('an array smaller than the result', async () => {
    const [a, b] = [counted([1, 9, 10], [1, 3, 5]), counted([9, 1], [3, 1])]
    const both = broadcast((x: number, y: number) => x + y, a.array, b.array)
    expect([both.shape, both.chunks.counts]).toEqual([[1, 9, 10], [1, 3, 2]]) // biome-ignore format: one line
    const memory: Tensor<'float64'> = { data: new Float64Array(90), shape: [9, 10], stride: [10, 1], offset: 0 }
    const wide = broadcast((x: number, y: number) => x + y, b.array, memory)
    expect([wide.chunks.shape, await wide.sum()]).toEqual([[9, 10], 450]) // biome-ignore format: one line
  })

  test('arrays of one chunk are not read all at once for each other', () => {
    const large = () => new DiskArray({ dtype: 'float64', shape: [5000, 5000], readBlock: () => undefined })
    const both = broadcast((x: number, y: number) => x + y, large(), large())
    expect(both.chunks.count).toBeGreaterThan(10)
    const [rows, columns] = [[1, 5000], [5000, 1]].map((chunks) => new DiskArray({ dtype: 'float64', shape: [5000, 5000], chunks, readBlock: () => undefined })) // biome-ignore format: one line
    const crossed = broadcast((x: number, y: number) => x + y, rows!, columns!)
    expect(crossed.chunks.chunkShape.reduce((a, b) => a * b)).toBeLessThan(2 ** 21)
  })

  test('single elements, strings, booleans', async () => {
    const [two, three] = [counted([], [], { same: 2 }), counted([], [], { same: 3 })]
    expect(await broadcast((x: number, y: number) => x - y, two.array, three.array).get([])).toBe(-1)
    expect(await broadcast((x: number, y: number) => x + y, two.array, three.array).get([])).toBe(5)
    await two.array.copyFrom(counted([], [], { same: 0 }).array)
    expect([...two.data]).toEqual([0])
    const strings = new DiskArray(new CountingSource(numbered('string', [4, 3]), ChunkGrid.regular([4, 3], [4, 3])))
    const equal = broadcast((x: string, y: string) => x === y, strings, strings, { dtype: 'bool' })
    expect(await all(equal)).toEqual(new Array(12).fill(1))
    const not = broadcast((x: boolean) => !x, equal)
    expect([not.dtype, await not.get([0, 0])]).toEqual(['bool', false])
  })

  test.each([
    [
      [1, 1],
      [2, 1],
    ],
    [
      [1, 1],
      [4, 3],
    ],
    [
      [1, 1],
      [8, 6],
    ],
    [
      [8, 6],
      [4, 3],
    ],
    [
      [4, 3],
      [2, 1],
    ],
    [
      [5, 7],
      [4, 6],
    ],
  ])('assigned under other chunks: to %j from %j', async (to, from) => {
    const [target, source] = [counted([16, 24], to, { same: 0 }), counted([16, 24], from)]
    await target.array.copyFrom(source.array)
    expect([...target.data]).toEqual(range(1, 385))
    const large = counted([21, 30], [7, 5])
    await target.array.copyFrom(large.array.view([slice(1, 17), slice(2, 26)]))
    expect(target.data[25]).toBe(1 + 30 * 2 + 3)
    expect(large.reads.length).toBe(1)
  })

  test('an array used twice is read once', async () => {
    const { array, reads } = counted([4], [2])
    expect(await all(broadcast((x: number, y: number, z: number) => x * y + z, array, array, 1))).toEqual([2, 5, 10, 17])
    expect(reads.length).toBe(1)
  })

  test('types and shapes that do not go together, and results that are no values', async () => {
    const { array } = counted([4], [4], { dtype: 'int16' })
    expect(() => broadcast(() => 0, array, counted([3]).array)).toThrow('shapes [4], [3] do not go together')
    expect(() => broadcast((() => 0) as never, 1, 2)).toThrow(refused('InvalidArgumentError'))
    await expect(broadcast((x: number) => x / 2, array).get()).rejects.toThrow(
      "counting: array 'plain': 0.5 is not a int16 value",
    )
    const wide = broadcast((x: bigint, y: number) => x + BigInt(y), counted([2], [2], { dtype: 'int64' }).array, 3)
    expectTypeOf(wide).toEqualTypeOf<DiskArray<'int64'>>()
    expect(await all(wide)).toEqual([4n, 5n])
  })
})

describe('zip, map, generate', () => {
  test('together, in array order', async () => {
    const [a, b] = [counted([2, 9, 10], [2, 3, 5]), counted([2, 9, 10], [1, 3, 2], { first: 1001 })]
    const pairs: [number, number][] = []
    for await (const [x, y] of zip(a.array, b.array)) pairs.push([x, y])
    expect(pairs).toEqual(range(1, 181).map((x) => [x, 1000 + x]))
    expect(Math.max(a.reads.length, b.reads.length)).toBeLessThanOrEqual(6)
  })

  test('computed arrays in any place', async () => {
    const { array } = counted([2, 2], [1, 2])
    const index = generate((i, j) => 10 * i + j, { dtype: 'int32', shape: [2, 2] })
    const found: unknown[] = []
    for await (const each of zip(index, array, index)) found.push(each)
    expect(found).toEqual([[0, 1, 0], [1, 2, 1], [10, 3, 10], [11, 4, 11]]) // biome-ignore format: one line
  })

  test('shapes differ', () => {
    expect(() => zip(counted([2]).array, counted([3]).array)).toThrow('arrays of one shape are zipped, got [2], [3]')
    expect(() => zip()).toThrow(refused('InvalidArgumentError'))
  })

  test('functions of each element, one read a chunk, in array order', async () => {
    const { array, reads } = counted([9, 10], [3, 5])
    const squares = array.map((x) => x * x)
    expect([squares.shape, squares.size, squares.chunks.counts]).toEqual([[9, 10], 90, [3, 2]]) // biome-ignore format: one line
    const seen: number[] = []
    for await (const { data } of squares.blocks()) seen.push(...data.data)
    expect(reads.length).toBe(6)
    expect(seen.sort((x, y) => x - y)).toEqual(range(1, 91).map((x) => x * x))
    const sums = generate((i, j) => i + j, { dtype: 'int16', shape: [100, 200], chunks: [10, 10] })
    expect(await all(sums.map((x) => x))).toEqual(range(0, 20000).map((k) => Math.floor(k / 200) + (k % 200)))
    expect(await all(sums.view([slice(1, null, 50), slice(null, null, -100)]))).toEqual([200, 100, 250, 150])
  })

  test('values come in order, some MiB at a time', async () => {
    const shape = [3, 700, 1100]
    const reads: number[] = []
    const source = new DiskArray({
      dtype: 'float64',
      shape,
      chunks: [3, 100, 1000],
      readBlock: (box, out) => {
        reads.push(out.data.length)
        const { data, stride } = out
        for (let y = 0; y < out.shape[1]!; y++)
          for (let x = 0; x < out.shape[2]!; x++)
            data[y * stride[1]! + x * stride[2]!] = (box[0]!.start * 700 + box[1]!.start + y) * 1100 + box[2]!.start + x
      },
    })
    let next = 0
    for await (const [value] of zip(source)) if (value !== next++) throw new Error(`${value} at ${next - 1}`)
    expect(next).toBe(3 * 700 * 1100)
    expect(Math.max(...reads) * 8).toBeLessThanOrEqual(8 * 1024 * 1024)
    expect(reads.length).toBeLessThan(10)
  })
})

test('a function of arrays of nothing', async () => {
  const none = new DiskArray(
    new CountingSource({ dtype: 'float64', shape: [0, 3], data: allocate('float64', 0) }, ChunkGrid.regular([0, 3], [1, 3])),
  )
  expect(await all(broadcast((x: number, y: number) => x + y, none, 1))).toEqual([])
  expect(chunkLengths(broadcast((x: number) => x, none))[0]).toEqual([])
})
