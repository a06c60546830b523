import { describe, expect, test } from 'vitest'
import { roll } from '../../../src/array/combine.ts'
import { DiskArray } from '../../../src/array/disk-array.ts'
import { slice } from '../../../src/grid/slice.ts'
import { all, bounds, chunkLengths, counted, range, refused } from './support.ts'

describe('views', () => {
  test('a view is read and written through', async () => {
    const { array, reads, writes, data } = counted([1, 5, 4], undefined, { same: 0 })
    const view = array.view([0, slice(1, 4), slice(1, 3)])
    expect(view.shape).toEqual([3, 2])
    await view.set([0, slice(0, 2)], [1, 2])
    await view.set([slice(1, 3), slice(0, 2)], 4)
    expect([...((await view.get([0, slice(0, 2)])) as { data: Float64Array }).data]).toEqual([1, 2])
    await view.get([0, slice(0, 2)])
    await view.get([0])
    expect([...((await view.get([slice(1, 3), slice(0, 2)])) as { data: Float64Array }).data]).toEqual([4, 4, 4, 4])
    expect([writes.length, reads.length]).toEqual([2, 4])
    expect([...data.slice(5, 7)]).toEqual([1, 2])
  })

  test('an axis of which nothing is taken has no chunks', () => {
    const { array } = counted([1, 5, 4])
    const view = array.view([slice(0, 0), slice(1, 4), slice(1, 3)])
    expect([view.shape, view.chunks.counts]).toEqual([[0, 3, 2], [0, 1, 1]]) // biome-ignore format: one line
  })

  test.each([
    ['in chunks', [1, 5, 2], [5, 4, 5]],
    ['in one', undefined, [1, 1, 1]],
  ] as const)('values of a view of an array %s', async (_, chunkShape, counts) => {
    // biome-ignore format: one line
    const { array, reads } = counted([5, 20, 10], chunkShape && [...chunkShape])
    expect(array.chunks.counts).toEqual(counts)
    expect(await all(array.view([slice(0, 3), 0, slice(0, 2)]))).toEqual([1, 2, 201, 202, 401, 402])
    expect(reads.length).toBe(1)
  })

  test('writing a view writes no more blocks than it touches', async () => {
    const { array, reads, writes, data } = counted([1, 9, 10], [1, 3, 5], { same: 0 })
    await array.view([0, slice(4, 8), slice(4, 10)]).set(null, 2)
    expect(writes.length).toBeLessThanOrEqual(4)
    expect([reads.length, data.reduce((a, b) => a + b)]).toEqual([0, 48])
  })

  test('by lists and masks, also none at all', async () => {
    const { array, reads, writes } = counted([100], [10])
    const some = array.view([[0, 49, 98]])
    expect([await all(some), reads.length, chunkLengths(some)]).toEqual([[1, 50, 99], 3, [[1, 1, 1]]]) // biome-ignore format: one line
    expect(
      await all(
        array
          .view([[98, 0, 3, 0, 2]])
          .flip()
          .view([slice(0, 4)]),
      ),
    ).toEqual([3, 1, 4, 1])
    expect(await all(array.view([range(0, 100).map((i) => i % 49 === 0)]))).toEqual([1, 50, 99])
    await some.set([slice(1, 3)], [-1, -2])
    expect([await all(array.view([[98, 49]])), writes.length]).toEqual([[-2, -1], 2]) // biome-ignore format: one line
    await expect(array.view([[1, 5, 1]]).set(null, 0)).rejects.toMatchObject({ tag: 'ReadOnlyError' })
    const none = counted([1, 5, 4]).array.view([[], slice(1, 4), slice(1, 3)])
    expect([none.shape, none.chunks.counts, await all(none)]).toEqual([[0, 3, 2], [0, 1, 1], []]) // biome-ignore format: one line
    expect([array.view([[[1, 2]]]).shape, await all(array.view([[[1, 2]]]))]).toEqual([[1, 2], [-2 + 4, 3]]) // biome-ignore format: one line
  })

  test('a view of a view, permuted and reversed, is one layer', async () => {
    const { array, reads } = counted([6, 8], [2, 3])
    const view = array
      .view([slice(1, null), slice(null, null, 2)])
      .transpose()
      .flip(0)
      .expandDims(1)
      .view([slice(1, 3), 0, slice(null, null, -2)])
    expect(await all(view)).toEqual([45, 29, 13, 43, 27, 11])
    expect(reads.length).toBe(1)
    expect(view.shape).toEqual([2, 3])
  })

  test.each([
    [
      [5, 4],
      [20, 1],
    ],
    [[8], [1, 2, 4, 1]],
    [
      [1, 5, 1, 4],
      [20, 1, 1],
    ],
    [
      [6, 1, 2],
      [1, 3, 1, 4],
    ],
  ])('%j becomes %j, with axes of length 1 that come and go', async (from, to) => {
    const { array } = counted(from)
    const size = from.reduce((a, b) => a * b)
    const reshaped = array.reshape(to)
    expect([reshaped.shape, await all(reshaped)]).toEqual([to, Array.from({ length: size }, (_, i) => i + 1)])
  })

  test.each([
    ['two elements at one place', [1, 1], 0],
    ['all elements at one place', [0, 1], 0],
    ['backwards over each other', [-1, 1], 3],
    ['a fraction', [3.5, 1], 0],
    ['an offset that is a fraction', [3, 1], 0.5],
  ])('refuses a place for the result with strides that bring %s', async (_, stride, offset) => {
    const { array } = counted([2, 3])
    const out = { data: new Float64Array(12), shape: [2, 3], stride, offset }
    await expect(array.get(null as never, { out } as never)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })

  test('takes a place for the result whose strides interleave rows without a meeting', async () => {
    const { array } = counted([2, 3])
    const out = { data: new Float64Array(8), shape: [2, 3], stride: [3, 2], offset: 0 }
    await array.get(null as never, { out } as never)
    expect([...out.data]).toEqual([1, 0, 2, 4, 3, 5, 0, 6])
  })

  test('names, fill value and label stay', () => {
    const { source } = counted([3, 1, 4])
    const named = new DiskArray({ ...base(source), dimensionNames: ['t', 'y', 'x'], fillValue: -9 })
    expect(named.transpose(['x', 't', 'y']).dimensionNames).toEqual(['x', 't', 'y'])
    expect(named.view([0]).squeeze().expandDims(-1, 'band').dimensionNames).toEqual(['x', 'band'])
    expect(named.reshape([12]).dimensionNames).toEqual([''])
    expect(named.flip('t').pad(1).cache().rechunk([1, 1, 1]).dimensionNames).toEqual(['t', 'y', 'x'])
    const lazy = named.transpose().astype('float32')
    expect([lazy.fillValue, lazy.source.label]).toEqual([-9, source.label])
    expect(() => named.transpose([0, 1])).toThrow("counting: array 'plain': 2 axes named of an array of 3")
  })

  test.each<[string, (array: DiskArray) => unknown, string]>([
    ['an index beyond the end', (a) => a.view([9]), 'InvalidSelectionError'],
    ['an axis twice', (a) => a.transpose([0, 0]), 'InvalidArgumentError'],
    ['squeezing a longer axis', (a) => a.squeeze(0), 'InvalidArgumentError'],
    ['a new axis beyond the end', (a) => a.expandDims(4), 'InvalidArgumentError'],
    ['another size', (a) => a.reshape([5]), 'InvalidArgumentError'],
    ['two open lengths', (a) => a.reshape([-1, -1]), 'InvalidArgumentError'],
    ['torn chunks', (a) => a.rechunk([2, 3]).reshape([-1]), 'UnsupportedError'],
    ['negative padding', (a) => a.pad([[0, -1], 0]), 'InvalidArgumentError'],
    ['padding of other axes', (a) => a.pad([1]), 'InvalidArgumentError'],
    ['padding of another type', (a) => a.pad(1, { value: 'a' as never }), 'InvalidArgumentError'],
    ['chunks of another rank', (a) => a.rechunk([2]), 'InvalidArgumentError'],
    ['a cache of -1 bytes', (a) => a.cache({ maxBytes: -1 }), 'InvalidArgumentError'],
    ['numbers as strings', (a) => a.astype('string'), 'UnsupportedError'],
    ['a fractional shift', (a) => roll(a, 0.5, 0), 'InvalidArgumentError'],
  ])('refuses %s', (_, make, tag) => {
    const { array, reads } = counted([4, 6])
    expect(() => make(array as never)).toThrow(refused(tag))
    expect(reads).toEqual([])
  })
})

const base = ({ dtype, shape, chunks, label, readBlock }: ReturnType<typeof counted>['source']) => ({
  dtype,
  shape,
  chunks,
  label,
  readBlock,
})

describe('without axes', () => {
  test('one element', async () => {
    const { array, data, reads, writes } = counted([], [], { same: 0 })
    expect(await array.view().get([])).toBe(0)
    await array.view([]).set([], 5)
    expect([...data]).toEqual([5])
    expect(await all(array.expandDims(0).flip().squeeze())).toEqual([5])
    expect([reads.length, writes.length]).toEqual([2, 1])
    expect(await all(array.reshape([1, 1]))).toEqual([5])
  })
})

describe('reshaped', () => {
  test('more axes of length 1', async () => {
    const { array, reads } = counted([1, 1, 2, 2, 5, 5])
    const more = array.reshape([1, 1, 1, 2, 2, 5, 5])
    expect(await more.get([0, 0, 0, 1, 1, 4, 4])).toBe(100)
    expect(reads.length).toBe(1)
  })

  test('axes of length 1 come and go', async () => {
    const { array, data, reads, writes } = counted([5, 1, 10], [2, 1, 5])
    const shaped = array.reshape([1, 1, 5, 10, 1])
    expect(chunkLengths(shaped)).toEqual([[1], [1], [2, 2, 1], [5, 5], [1]])
    expect(await all(shaped)).toEqual(range(1, 51))
    await shaped.set([0, 0, 4, 9, 0], -1)
    expect(data[49]).toBe(-1)
    expect(array.squeeze(1).shape).toEqual([5, 10])
    expect([reads.length, writes.length]).toEqual([1, 1])
  })

  test.each<[number[], number[], number[], number[][]]>([
    [[6, 4], [2, 4], [24], [[8, 8, 8]]],
    [[6, 4], [1, 3], [24], [new Array(6).fill([3, 1]).flat()]],
    [[24], [8], [6, 4], [[2, 2, 2], [4]]],
    [[24], [2], [3, 4, 2], [[1, 1, 1], [1, 1, 1, 1], [2]]],
    [
      [24],
      [3],
      [4, 6],
      [
        [1, 1, 1, 1],
        [3, 3],
      ],
    ],
    [
      [2, 3, 4],
      [1, 3, 4],
      [6, 4],
      [[3, 3], [4]],
    ],
    [
      [5, 4, 3],
      [2, 4, 3],
      [5, 12],
      [[2, 2, 1], [12]],
    ],
    [
      [4, 6, 2],
      [2, 3, 2],
      [4, 12],
      [
        [2, 2],
        [6, 6],
      ],
    ],
  ])('%j in chunks of %j as %j', async (shape, chunkShape, to, lengths) => {
    const { array, reads } = counted(shape, chunkShape)
    const shaped = array.reshape(to)
    expect(chunkLengths(shaped)).toEqual(lengths)
    expect(await all(shaped)).toEqual(await all(array))
    reads.length = 0
    for await (const { data } of shaped.blocks()) expect(data.data.length).toBeGreaterThan(0)
    expect(reads.length).toBe(array.chunks.count)
    reads.length = 0
    await shaped.get(to.map((_, axis) => (axis === 0 ? slice(1, 3) : 1)))
    expect(reads.length).toBeLessThanOrEqual((await shaped.plan(to.map((_, axis) => (axis === 0 ? slice(1, 3) : 1)))).chunks)
  })

  test('empty ones', async () => {
    const { array, reads } = counted([0, 3])
    expect(await all(array.reshape([3, 0, 2]))).toEqual([])
    expect(reads).toEqual([])
  })
})

describe('permuted, reversed, rolled', () => {
  test('one read is one read', async () => {
    const { array, reads } = counted([2, 9, 10], [2, 3, 5])
    const permuted = array.transpose([2, 0, 1])
    expect(permuted.chunks.chunkShape).toEqual([5, 2, 3])
    expect(await permuted.get([3, 1, 2])).toBe(1 + 90 + 20 + 3)
    await permuted.get([slice(1, 7), 0, slice(2, 5)])
    expect(reads.map(bounds)).toEqual([[[1, 2], [2, 3], [3, 4]], [[0, 1], [2, 5], [1, 7]]]) // biome-ignore format: one line
  })

  test('turned round and round', async () => {
    const { array, reads } = counted([9, 10], [3, 5])
    expect(await all(array.flip())).toEqual(range(1, 91).reverse())
    expect(await array.flip(1).get([0, 0])).toBe(10)
    expect(await array.transpose().flip(0).get([0, 0])).toBe(10)
    expect(reads.length).toBe(3)
    expect(await all(roll(array, 2, 0).view([null, 0]))).toEqual([71, 81, 1, 11, 21, 31, 41, 51, 61])
    expect(chunkLengths(roll(array, 2, 0))[0]).toEqual([2, 3, 3, 1])
  })
})

describe('chunks of arrays that name none', () => {
  test.each([
    [100e6, 100, [1000, 200], [1000, 200]],
    [1e6, 100, [625, 200], [50, 200]],
    [1e6, 1000, [625, 200], [5, 200]],
  ] as const)('%d bytes a chunk, %d an element of unknown size', (defaultChunkBytes, elementBytes, numbers, strings) => {
    const readBlock = (): void => undefined
    const shape = [1000, 200]
    expect(new DiskArray({ dtype: 'int64', shape, readBlock }, { defaultChunkBytes }).chunks.chunkShape).toEqual(numbers)
    const options = { defaultChunkBytes, elementBytes }
    expect(new DiskArray({ dtype: 'string', shape, readBlock }, options).chunks.chunkShape).toEqual(strings)
  })

  test('chunks can be put on', () => {
    const { array } = counted([10, 10])
    expect(array.rechunk([5, 5]).chunks.counts).toEqual([2, 2])
    expect(array.rechunk([2, 2]).chunks.counts).toEqual([5, 5])
  })

  test('chunk by chunk', async () => {
    const { array } = counted([5, 4])
    const blocks: number[][] = []
    for await (const { data } of array.rechunk([2, 2]).blocks()) blocks.push([...data.data])
    expect([blocks[3], blocks[5]]).toEqual([[11, 12, 15, 16], [19, 20]]) // biome-ignore format: one line
  })
})
