// Rows of the tests of DiskArrays.jl (0.4.22) that write, with axes reversed to C order, and its known
// defects done right.
import { describe, expect, test } from 'vitest'
import type { PlanOptions } from '../../src/grid/plan.ts'
import type { Selection } from '../../src/grid/selection.ts'
import { points } from '../../src/grid/selectors.ts'
import { slice } from '../../src/grid/slice.ts'
import { unravel } from '../support/oracle.ts'
import { maskOf, upstreamArray } from '../support/upstream.ts'

const SHAPE = [1, 5, 4]

describe('writes', () => {
  test('all kinds of selections of one chunk', async () => {
    const { array, plain, source } = upstreamArray([4, 5, 1], { zeros: true })
    const at = (row: number, column: number): number => plain.data[4 * column + row]!
    const row = (i: number): number[] => [0, 1, 2, 3, 4].map((j) => at(i, j))
    await array.set([0, points([0, 0])], 1)
    await array.set([0, 1, 0], 2)
    await array.set([0, 2, 0], 3)
    await array.set([0, null, slice(1, 2)], [1, 2, 3, 4, 5])
    await array.set([0, slice(2, 4), 2], [3, 4])
    await array.set(maskOf(SHAPE, [3, 7, 11, 15, 19]), [10, 11, 12, 13, 14])
    expect([source.writes.length, source.reads.length]).toEqual([6, 0])
    expect(row(0).slice(0, 3)).toEqual([1, 2, 3])
    expect([row(1), row(2).slice(2, 4), row(3)]).toEqual([
      [1, 2, 3, 4, 5],
      [3, 4],
      [10, 11, 12, 13, 14],
    ])

    await array.set([0, slice(0, 5, 2), slice(0, 4, 2)], [1, 5, 2, 6, 3, 7])
    expect([0, 2].map((i) => [0, 2, 4].map((j) => at(i, j)))).toEqual([[1, 2, 3], [5, 6, 7]]) // biome-ignore format: one line
    expect([source.writes.length, source.reads.length]).toEqual([7, 1])
    await array.set([0, slice(0, 2), [1, 3]], [[21, 22], [23, 24]]) // biome-ignore format: one line
    expect([at(1, 0), at(3, 0), at(1, 1), at(3, 1)]).toEqual([21, 22, 23, 24])
    expect(source.writes.length).toBe(8)
    await array.set(points([0, 0, 0]), -10)
    expect(at(0, 0)).toBe(-10)
  })

  test.each<[string, { steps: boolean }, string[], string[]]>([
    ['a box with steps that the source takes', { steps: true }, [], ['[0:1, 0:5:2, 0:3:2]']],
    ['a box with steps, read before', { steps: false }, ['[0:1, 0:5, 0:3]'], ['[0:1, 0:5, 0:3]']],
  ])('%s', async (_, options, before, written) => {
    const { array, reads, writes } = upstreamArray([4, 5, 1], options)
    await array.set([0, slice(0, 5, 2), slice(0, 4, 2)], 1)
    expect([reads(), writes()]).toEqual([before, written])
  })

  test('lists and a mask on chunks of one row', async () => {
    const { array, plain, reads, writes, source } = upstreamArray([4, 5, 1], { chunks: [4, 1, 1], zeros: true })
    await array.set([0, [1, 4], [0, 3]], [1, 1, 1, 1], { density: 0.5 })
    expect([reads(), writes()]).toEqual([['[0:1, 1:5, 0:4]'], ['[0:1, 1:5, 0:4]']])
    source.reads.length = source.writes.length = 0
    await array.set(maskOf(SHAPE, [1, 2, 8, 11]), 2)
    expect([reads(), writes()]).toEqual([['[0:1, 2:3, 0:4]'], ['[0:1, 0:1, 1:3]', '[0:1, 2:3, 0:4]']])
    expect([...plain.data]).toEqual([0, 2, 2, 0, 1, 0, 0, 1, 2, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 1])
  })

  test.each<[string, boolean, PlanOptions, string[], string[]]>([
    ['with a step, read before', false, {}, ['[0:1, 0:1, 0:3]'], ['[0:1, 0:1, 0:3]']],
    ['with a step that the source takes', true, { strategy: 'ranges' }, [], ['[0:1, 0:1, 0:3:2]']],
  ])('%s', async (_, steps, options, before, written) => {
    const { array, plain, reads, writes } = upstreamArray([4, 5, 1], { chunks: [4, 1, 1], zeros: true, steps })
    await array.set([0, 0, slice(0, 4, 2)], [1, 2], options)
    expect([reads(), writes()]).toEqual([before, written])
    expect([...plain.data.slice(0, 4)]).toEqual([1, 0, 2, 0])
  })

  test('of duplicates the last stays, and what lies between too', async () => {
    const { array, plain, reads, writes } = upstreamArray([5])
    await array.set([[0, 0, 2]], [7, 8, 9])
    expect([...plain.data]).toEqual([8, 2, 9, 4, 5])
    expect([reads(), writes()]).toEqual([['[0:3]'], ['[0:3]']])
  })

  test('a list in another order, covering its block', async () => {
    const { array, plain, reads, writes } = upstreamArray([5])
    await array.set([[2, 0, 1]], [7, 8, 9])
    expect([...plain.data]).toEqual([8, 9, 7, 4, 5])
    expect([reads(), writes()]).toEqual([[], ['[0:3]']])
  })

  test('an empty list writes nothing', async () => {
    const { array, reads, writes } = upstreamArray([5])
    await array.set([[]], [])
    expect([reads(), writes()]).toEqual([[], []])
  })
})

describe('defects that are not to be had', () => {
  test.each<[string, Selection, string[]]>([
    ['an unsorted list with a long run', [[4, 3, 2, 1, 0, 99]], ['[0:5]', '[99:100]']],
    ['a sparse mask', maskOf([100], [0, 99]), ['[0:1]', '[99:100]']],
    ['reads ascend', [[77, 3, 55, 31]], ['[3:4]', '[31:32]', '[55:56]', '[77:78]']],
  ])('%s', async (_, selection, boxes) => {
    for (const strategy of ['chunk', 'ranges'] as const) {
      const { array, reads } = upstreamArray([100], { chunks: [10] })
      await array.get(selection, { strategy })
      expect(reads()).toEqual(boxes)
    }
  })

  test('an empty list beside a sparse one', async () => {
    const { array, reads } = upstreamArray([30, 20], { chunks: [6, 5] })
    for (const strategy of ['chunk', 'ranges', 'box'] as const) {
      expect((await array.get([[0, 19], []], { strategy })).shape).toEqual([2, 0])
      await array.set([[0, 19], []], [], { strategy })
    }
    expect(reads()).toEqual([])
  })

  test('lists and integers are written together', async () => {
    const { array, plain } = upstreamArray([8, 8], { chunks: [8, 2], zeros: true })
    await array.set([1, [0, 2]], [1, 2])
    await array.set([[0, 1], 1], [3, 4])
    await array.set([[0, 2, 6], 1], [5, 6, 7])
    const expected: Record<number, number> = { 8: 1, 10: 2, 1: 5, 9: 4, 17: 6, 49: 7 }
    expect([...plain.data]).toEqual(Array.from({ length: 64 }, (_, i) => expected[i] ?? 0))
  })

  test('a point before and between lists', async () => {
    const { array, reads } = upstreamArray([4, 6, 8])
    const result = await array.get([points([2, 1]), [0, 3, 1]])
    expect([[...result.data], reads()]).toEqual([[53, 56, 54], ['[2:3, 1:2, 0:4]']])
    expect((await array.get([[0, 5, 2], points([1, 2])])).data).toEqual(Float64Array.of(7, 127, 55))
  })

  test('a single element by its flat position', async () => {
    const { array, plain, writes } = upstreamArray([4, 5, 1])
    await array.set(points(unravel(SHAPE, [6])), -1)
    expect([plain.data[6], writes()]).toEqual([-1, ['[0:1, 1:2, 2:3]']])
  })

  test('a slice beside a list is read like a whole axis', async () => {
    for (const beside of [null, slice(0, 30)]) {
      const { array, reads } = upstreamArray([30, 20], { chunks: [6, 5] })
      await array.get([[0, 19], beside])
      expect(reads()).toEqual(['[0:1, 0:30]', '[19:20, 0:30]'])
    }
  })

  test('values have the shape of the selection, or are one', async () => {
    const { array, plain, writes } = upstreamArray([3, 4])
    const wrong = { data: new Float64Array(6), shape: [3, 2] }
    for (const values of [wrong, [[1, 2], [3, 4], [5, 6]], [1]]) // biome-ignore format: one line
      await expect(array.set([slice(2), null], values)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    expect(writes()).toEqual([])
    await array.set([slice(2), [0, 2]], 9)
    expect([...plain.data]).toEqual([9, 2, 9, 9, 5, 9, 7, 8, 9, 10, 11, 12])
  })

  test.each<[string, Selection]>([
    ['an index', [3, 0]],
    ['a list', [[0, 3], 0]],
    ['a point', points([3, 0])],
    ['more selectors than axes', [0, 0, 0]],
  ])('nothing is written beyond the bounds: %s', async (_, selection) => {
    const { array, writes } = upstreamArray([4, 3])
    await expect(array.set(selection, 1)).rejects.toMatchObject({ tag: 'InvalidSelectionError' })
    expect(writes()).toEqual([])
  })
})
