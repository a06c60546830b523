// Rows of the tests of DiskArrays.jl (0.4.22), with axes reversed to C order. Its numbers of block calls are
// upper bounds here.
import { describe, expect, test } from 'vitest'
import type { Tensor } from '../../src/core/tensor.ts'
import type { PlanOptions } from '../../src/grid/plan.ts'
import type { Selection } from '../../src/grid/selection.ts'
import { newAxis, points } from '../../src/grid/selectors.ts'
import { slice } from '../../src/grid/slice.ts'
import { unravel } from '../support/oracle.ts'
import { maskOf, upstreamArray } from '../support/upstream.ts'

const S = [0, 0, 0, 2, 4, 5, 5, 6, 9, 12, 15, 15, 18, 19]
const U = [6, 4, 0, 15, 0, 9, 19, 5, 18, 0, 12, 5, 2, 15]
const count = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i)
const rows = (list: number[]): number[][] => [list.slice(0, 7), list.slice(7)]

describe('strategy decisions', () => {
  const reads = async (selection: number[], options: PlanOptions = {}, { chunk = 10, steps = false } = {}): Promise<string[]> => {
    const { array } = upstreamArray([100], { chunks: [chunk], steps })
    const { transfers } = await array.plan([selection], options)
    return transfers.map(({ box: [range] }) => `${range!.start}:${range!.stop}:${range!.step}`)
  }

  test.each<[string, Promise<string[]>, string[]]>([
    ['no gap of a chunk', reads([0, 7]), ['0:8:1']],
    ['a gap of a chunk', reads([0, 7, 29]), ['0:8:1', '29:30:1']],
    ['sparse', reads([...count(0, 10), ...count(39, 50)], { density: 0.5 }), ['0:10:1', '39:50:1']],
    ['not sparse by a lower threshold', reads([...count(0, 10), ...count(39, 50)], { density: 0.1 }), ['0:50:1']],
    ['runs', reads([0, 1, 1, 2, 4, 5, 6, 9, 9], { strategy: 'ranges' }), ['0:3:1', '4:7:1', '9:10:1']],
    [
      'runs of a sorted list',
      reads(S, { strategy: 'ranges' }),
      ['0:1:1', '2:3:1', '4:7:1', '9:10:1', '12:13:1', '15:16:1', '18:20:1'],
    ],
    ['runs with steps', reads(S, { strategy: 'ranges' }, { steps: true }), ['0:5:2', '5:7:1', '9:19:3', '19:20:1']],
  ])('%s', async (_, actual, expected) => {
    expect(await actual).toEqual(expected)
  })

  test('positions in the result', async () => {
    const { array } = upstreamArray([100], { chunks: [10] })
    const outer = (await array.plan([S], { strategy: 'ranges' })).transfers.map(({ outer: [places] }) => places)
    const list = outer.map((places) =>
      places instanceof Uint32Array
        ? [...places]
        : Array.from({ length: places!.length }, (_, i) => places!.start + i * places!.step),
    )
    expect(list).toEqual([[0, 1, 2], [3], [4, 5, 6, 7], [8], [9], [10, 11], [12, 13]])
  })
})

const values = (result: unknown): number[] => (typeof result === 'number' ? [result] : [...(result as Tensor<'float64'>).data])
const shapeOf = (result: unknown): readonly number[] => (typeof result === 'number' ? [] : (result as Tensor).shape)

/** Axes of (4, 5, 1) here: 0 of length 1, 1 of length 5, 2 of length 4. */
const SHAPE = [1, 5, 4]
const ALL_STRATEGIES = (['chunk', 'ranges', 'box'] as const).flatMap((strategy) =>
  [false, true].flatMap((steps) => [0.5, 1].map((density) => ({ strategy, steps, density }))),
)

describe.each(ALL_STRATEGIES)('reads of one chunk, $strategy, steps $steps, density $density', ({ strategy, steps, density }) => {
  const ranges = strategy === 'ranges' && density === 1 && !steps
  test.each<[string, Selection, readonly number[], number[], number]>([
    ['integers', [0, 2, 1], [], [10], 1],
    ['an integer and a point of two axes', [0, points([2, 1])], [], [10], 1],
    ['an integer between points', [0, points([2]), 1], [], [10], 1],
    ['a point of all axes', points([0, 2, 1]), [], [10], 1],
    ['a point of two axes and a slice', [points([0, 2]), slice(2)], [2], [9, 10], 1],
    ['an ellipsis before integers', ['...', 2, 1], [1], [10], 1],
    ['an ellipsis before a point', ['...', points([2, 1])], [1], [10], 1],
    ['a whole axis', [0, 0, null], [4], [1, 2, 3, 4], 1],
    ['slices from the start', [0, slice(2), slice(2)], [2, 2], [1, 2, 5, 6], 1],
    ['backwards', [0, 0, slice(3, null, -1)], [4], [4, 3, 2, 1], 1],
    ['a new axis', [newAxis, 0, 2, 1], [1], [10], 1],
    ['two new axes', [newAxis, newAxis, 0, 2, 1], [1, 1], [10], 1],
    ['a new axis and a whole one', [newAxis, 0, 2, null], [1, 4], [9, 10, 11, 12], 1],
    ['a new axis, a point and a whole axis', [newAxis, points([0, 2]), null], [1, 4], [9, 10, 11, 12], 1],
    ['slices', [0, slice(0, 2), slice(0, 2)], [2, 2], [1, 2, 5, 6], 1],
    ['a mask', maskOf(SHAPE, [1, 5, 9, 17]), [4], [2, 6, 10, 18], 1],
    ['everything', null, SHAPE, count(1, 21), 1],
    ['points in a row', points(unravel(SHAPE, count(10, 15))), [5], count(11, 16), 1],
    ['points in a row, backwards', points(unravel(SHAPE, count(8, 20).toReversed())), [12], count(9, 21).toReversed(), 1],
    ['scattered points', points(unravel(SHAPE, [2, 4, 7])), [3], [3, 5, 8], 1],
    ['points of one column', points(unravel(SHAPE, [1, 5, 9, 13])), [4], [2, 6, 10, 14], 1],
    ['slices with steps', [0, slice(null, null, 2), slice(1, null, 2)], [3, 2], [2, 4, 10, 12, 18, 20], ranges ? 6 : 1],
    ['two lists', [0, [0, 2], [0, 2, 3]], [2, 3], [1, 3, 4, 9, 11, 12], strategy === 'ranges' && density === 1 ? 4 : 1],
  ])('%s', async (_, selection, shape, expected, atMost) => {
    const { array, source } = upstreamArray([4, 5, 1], { steps })
    const result = await array.get(selection, { strategy, density })
    expect(shapeOf(result)).toEqual(shape)
    expect(values(result)).toEqual(expected)
    expect(source.reads.length).toBeLessThanOrEqual(atMost)
  })
})

describe('reads of one chunk', () => {
  test.each<[string, Selection, string, PlanOptions?, boolean?]>([
    ['integers', [0, 2, 1], '[0:1, 2:3, 1:2]'],
    ['a mask', maskOf(SHAPE, [1, 5, 9, 17]), '[0:1, 0:5, 1:2]'],
    ['points in a row', points(unravel(SHAPE, count(10, 15))), '[0:1, 2:4, 0:4]'],
    ['points in a row, backwards', points(unravel(SHAPE, count(8, 20))), '[0:1, 2:5, 0:4]'],
    ['scattered points', points(unravel(SHAPE, [2, 4, 7])), '[0:1, 0:2, 0:4]'],
    ['points of one column', points(unravel(SHAPE, [1, 5, 9, 13])), '[0:1, 0:4, 1:2]'],
    ['slices with steps, of a source without', [0, slice(null, null, 2), slice(1, null, 2)], '[0:1, 0:5, 1:4]'],
    ['slices with steps, of a source with them', [0, slice(null, null, 2), slice(1, null, 2)], '[0:1, 0:5:2, 1:4:2]', {}, true],
    ['two lists', [0, [0, 2], [0, 2, 3]], '[0:1, 0:3, 0:4]'],
  ])('%s reads its box', async (_, selection, box, options = {}, steps = false) => {
    const { array, reads } = upstreamArray([4, 5, 1], { steps })
    await array.get(selection, options)
    expect(reads()).toEqual([box])
  })

  test.each<[string, Selection, object]>([
    ['more selectors than axes', [0, 0, 2, 1], { actual: 4, expected: 3 }],
    ['an integer beyond the last axis', [0, 0, 5], { axis: 2, actual: 5, expected: 4 }],
    ['an integer beyond the first axis', [98, null, 0], { axis: 0, actual: 98, expected: 1 }],
    ['a list', [0, [0, 98], 0], { axis: 1, actual: 98, expected: 5 }],
    ['a point', [0, points([98, 1])], { axis: 1, actual: 98, expected: 5 }],
    ['two lists', [0, [0, 1], [0, 98]], { axis: 2, actual: 98, expected: 4 }],
  ])('%s is refused', async (_, selection, details) => {
    const { array, source } = upstreamArray([4, 5, 1])
    await expect(array.get(selection)).rejects.toMatchObject({ tag: 'InvalidSelectionError', details })
    expect(source.reads).toEqual([])
  })

  test('integers and points of every split', async () => {
    const { array, source } = upstreamArray([2, 3, 4])
    for (const selection of [
      [2, 1, 0],
      [2, points([1, 0])],
      [points([2, 1]), 0],
    ] as const)
      expect(await array.get(selection)).toBe(15)
    expect(await array.get(points([2, 1, 0]))).toBe(15)
    expect(source.reads.length).toBe(4)
    await expect(array.get([2, 1, 0, 0])).rejects.toMatchObject({ tag: 'InvalidSelectionError' })
  })
})

describe('lists, sparse and not', () => {
  test.each<[string, Selection, readonly number[], readonly string[]]>([
    ['a list that is not sparse', [0, [0, 3], null], [2, 4], ['[0:1, 0:4, 0:4]']],
    ['no points', points([], 3), [0], []],
    ['an empty list', [null, [], null], [1, 0, 4], []],
    ['an empty list last', [null, null, []], [1, 5, 0], []],
    ['points, by chunk', points([[0, 0, 0], [0, 0, 2], [0, 3, 1], [0, 3, 3]]), [4], ['[0:1, 0:1, 0:3]', '[0:1, 3:4, 1:4]']], // biome-ignore format: one line
    ['points of two axes, by chunk', [null, points([[0, 0], [0, 2], [3, 1], [3, 3]])], [1, 4], ['[0:1, 0:1, 0:3]', '[0:1, 3:4, 1:4]']], // biome-ignore format: one line
    ['a list and a slice', [0, [0, 3], slice(2, 4)], [2, 2], ['[0:1, 0:4, 2:4]']],
  ])('%s', async (_, selection, shape, boxes) => {
    const { array, reads } = upstreamArray([4, 5, 1], { chunks: [4, 1, 1] })
    expect(shapeOf(await array.get(selection, { density: 0.5 }))).toEqual(shape)
    expect(reads()).toEqual(boxes)
  })

  test('a list, unless told otherwise: two chunks rather than four', async () => {
    const { array, reads } = upstreamArray([4, 5, 1], { chunks: [4, 1, 1] })
    expect(values(await array.get([0, [0, 3], null]))).toEqual([1, 2, 3, 4, 13, 14, 15, 16])
    expect(reads()).toEqual(['[0:1, 0:1, 0:4]', '[0:1, 3:4, 0:4]'])
  })

  test('points of a permuted array', async () => {
    const { array, source } = upstreamArray([5, 4, 1], { chunks: [1, 4, 1] })
    expect(values(await array.get(points([[0, 0, 0], [0, 2, 0], [0, 1, 3], [0, 3, 3]])))).toEqual([1, 11, 9, 19]) // biome-ignore format: one line
    expect(source.reads.length).toBe(2)
  })

  test('exactly the three chunks that a step touches', async () => {
    const { array, reads } = upstreamArray([20, 5, 1], { chunks: [1, 5, 1] })
    expect(shapeOf(await array.get([0, null, slice(null, null, 9)]))).toEqual([5, 3])
    expect(reads()).toEqual(['[0:1, 0:5, 0:1]', '[0:1, 0:5, 9:10]', '[0:1, 0:5, 18:19]'])
  })

  test('two lists are combined', async () => {
    const { array, source } = upstreamArray([5, 5, 3])
    const result = await array.get([null, [1, 2], [0, 1]])
    expect([result.shape, source.reads.length]).toEqual([[3, 2, 2], 1])
    expect([...result.data.slice(0, 4)]).toEqual([6, 7, 11, 12])
  })

  test('a mask on an array without chunks', async () => {
    const mask = Array.from({ length: 275 }, (_, i) => i > 3 && (i * 7) % 5 < 2)
    const { array } = upstreamArray([275, 305, 36])
    const result = await array.get([0, 0, mask])
    expect([...result.data]).toEqual(mask.flatMap((picked, i) => (picked ? [i + 1] : [])))
  })

  test('single elements, ascending lists and masks in some axes', async () => {
    const { array, source } = upstreamArray([100, 100, 100], { chunks: [10, 10, 20] })
    const mask = count(0, 100).map((i) => (i * 37) % 11 === 3)
    const list = count(0, 100).filter((i) => (i * i) % 13 === 1)
    for (const own of [[17], list, mask]) {
      const picked = typeof own[0] === 'boolean' ? count(0, 100).filter((i) => own[i]) : (own as number[])
      for (const axes of [[2], [1], [0], [2, 0], [1, 0]]) {
        const selection = [0, 1, 2].map((axis) => (axes.includes(axis) ? own : axis === 0 ? 3 : slice(5)))
        const lists = [0, 1, 2].map((axis) => (axes.includes(axis) ? picked : axis === 0 ? [3] : [0, 1, 2, 3, 4]))
        source.reads.length = 0
        const expected = lists[0]!.flatMap((i) => lists[1]!.flatMap((j) => lists[2]!.map((k) => 1 + (i * 100 + j) * 100 + k)))
        expect(values(await array.get(selection as Selection))).toEqual(expected)
        const touched = lists.map((each, axis) => new Set(each.map((i) => Math.floor(i / (axis === 0 ? 20 : 10)))).size)
        expect(source.reads.length).toBeLessThanOrEqual(touched.reduce((a, b) => a * b, 1))
      }
    }
  })

  test('an empty list of points', async () => {
    const { array, source } = upstreamArray([2, 3, 4])
    expect([(await array.get(points([], 3))).shape, source.reads]).toEqual([[0], []])
  })

  const forms: [string, number[] | number[][]][] = [['sorted', S], ['unsorted', U], ['sorted, 2 by 7', rows(S)], ['unsorted, 2 by 7', rows(U)]] // biome-ignore format: one line
  const runs = ['[0:1]', '[2:3]', '[4:7]', '[9:10]', '[12:13]', '[15:16]', '[18:20]']
  describe.each<[string, number, PlanOptions, boolean, string[]]>([
    ['by chunks', 10, { density: 0.5 }, false, ['[0:20]']],
    ['by chunks, with steps', 5, { density: 0.8 }, true, ['[0:20]']],
    ['by ranges, dense enough for one', 10, { strategy: 'ranges', density: 0.5 }, true, ['[0:20]']],
    ['by ranges with steps', 5, { strategy: 'ranges', density: 0.8 }, true, ['[0:5:2]', '[5:7]', '[9:19:3]', '[19:20]']],
    ['by ranges', 5, { strategy: 'ranges', density: 0.8 }, false, runs],
  ])('%s', (_, chunk, options, steps, boxes) => {
    test.each(forms)('%s', async (_name, list) => {
      const { array, reads } = upstreamArray([100], { chunks: [chunk], steps })
      expect(values(await array.get([list], options))).toEqual(list.flat().map((i) => i + 1))
      expect(reads()).toEqual(boxes)
    })
  })
})
