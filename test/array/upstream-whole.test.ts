import { expect, test } from 'vitest'
import { concat } from '../../src/array/combine.ts'
import { DiskArray } from '../../src/array/disk-array.ts'
import { tensorOf } from '../../src/core/tensor.ts'
import { RegularChunks } from '../../src/grid/chunks.ts'
import { chunk } from '../../src/grid/selectors.ts'
import { slice } from '../../src/grid/slice.ts'
import { upstreamArray } from '../support/upstream.ts'

// Rows of DiskArrays.jl's tests on whole arrays and chunks, axes reversed to C order. Upstream's counts are
// upper bounds.

const SMALL = { chunks: [5, 3] }
const refused = (tag: string): object => expect.objectContaining({ tag })

test.each([
  [0, 10, 2],
  [2, 10, -1],
  [2, 10, 2],
  [5, -1, 2],
])('chunks of %i on an axis of %i from %i are refused', (chunkLength, length, offset) => {
  expect(() => new RegularChunks(chunkLength, length, offset)).toThrow(refused('InvalidArgumentError'))
})

test('an array with axes of length 1 goes into memory without them', async () => {
  const { array, plain, source } = upstreamArray([10, 9, 1, 1])
  const out = tensorOf('float64', [9, 10])
  await array.get([0, 0], { out })
  expect(out.data).toEqual(plain.data)
  expect(source.reads.length).toBe(1)
})

test('what is filtered while iterating comes in the order of the array', async () => {
  const { array, plain, source } = upstreamArray([10, 9], SMALL)
  const found: number[] = []
  for await (const value of array) if (value > 40) found.push(value)
  expect(found).toEqual([...plain.data].filter((value) => value > 40))
  expect(source.reads.length).toBeLessThanOrEqual(6)
})

test.each([0, 1])('one of two operands in memory, at place %i, and nothing is read before it is asked for', async (place) => {
  const { array, plain, source } = upstreamArray([10, 9], SMALL)
  const data = Float64Array.from({ length: 10 }, (_, i) => -i)
  const memory = new DiskArray({
    dtype: 'float64',
    shape: [1, 10],
    readBlock: ([, columns], out) => {
      const { start, stop } = columns!
      for (let i = start; i < stop; i++) out.data[out.offset + (i - start) * out.stride[1]!] = data[i]!
    },
  })
  const joined = concat(place === 0 ? [memory, array] : [array, memory], { axis: 0 })
  expect(source.reads.length).toBe(0)
  const expected = place === 0 ? [...data, ...plain.data] : [...plain.data, ...data]
  expect([...(await joined.get()).data]).toEqual(expected)
  expect(source.reads.length).toBeLessThanOrEqual(1)
})

test('there are as many elements as positions', async () => {
  let count = 0
  for await (const _ of upstreamArray([10, 9], SMALL).array.elements()) count++
  expect(count).toBe(90)
})

test('boxes are copied to boxes of their shape, empty ones without a call', async () => {
  const from = upstreamArray([10, 9], SMALL)
  const to = upstreamArray([10, 9], { ...SMALL, zeros: true })
  await to.array.view([slice(0, 2), slice(0, 3)]).copyFrom(from.array.view([slice(7, 9), slice(7, 10)]))
  expect([...(await to.array.get([slice(0, 2), slice(0, 3)])).data]).toEqual([78, 79, 80, 88, 89, 90])
  expect([...(await to.array.get([slice(2, null)])).data].every((value) => value === 0)).toBe(true)

  const calls = [from.source.reads.length, to.source.writes.length]
  await to.array.view([slice(0, 0)]).copyFrom(from.array.view([slice(0, 0)]))
  expect([from.source.reads.length, to.source.writes.length]).toEqual(calls)
  const wider = from.array.view([slice(0, 3), slice(0, 3)])
  await expect(to.array.view([slice(0, 2), slice(0, 3)]).copyFrom(wider)).rejects.toEqual(refused('InvalidArgumentError'))
})

test('a few elements into the middle of memory take one read', async () => {
  const { array, source } = upstreamArray([145], { chunks: [15] })
  const data = new Float64Array(10)
  const into = (start: number, length: number) => ({ data, shape: [length], stride: [1], offset: start })
  await array.get([slice(2, 2)], { out: into(5, 0) })
  expect(source.reads.length).toBe(0)
  await array.get([slice(2, 4)], { out: into(5, 2) })
  expect([...data]).toEqual([0, 0, 0, 0, 0, 3, 4, 0, 0, 0])
  expect(source.reads.length).toBe(1)
  await expect(array.get([slice(2, 4)], { out: into(5, 3) })).rejects.toEqual(refused('InvalidArgumentError'))
})

test('chunks by their coordinates', async () => {
  const { array, source } = upstreamArray([4, 5], { chunks: [2, 2] })
  expect(array.chunks.counts).toEqual([3, 2])
  for (const [i, j] of [
    [0, 2],
    [3, 0],
  ])
    await expect(array.get(chunk(i!, j!))).rejects.toEqual(refused('InvalidSelectionError'))
  expect(source.reads.length).toBe(0)
  const one = await array.get(chunk(1, 1))
  expect([one.shape, [...one.data]]).toEqual([
    [2, 2],
    [11, 12, 15, 16],
  ])
  // Counted from the end, as positions are.
  expect([...(await array.get(chunk(-1, 0))).data]).toEqual([17, 18])
  expect(source.reads.length).toBe(2)
})

test('to print an array or a list of them reads nothing', () => {
  const { array, source } = upstreamArray([10, 9], SMALL)
  expect(String([array, array])).toContain('float64 [9, 10]')
  expect(source.reads.length).toBe(0)
})
