import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AxisChunks, ChunkGrid, RegularChunks, sameChunks } from '../../src/grid/chunks.ts'
import { commonChunks, refineChunks } from '../../src/grid/common-chunks.ts'
import { padChunks, subsetChunks } from '../../src/grid/derived-chunks.ts'
import { axisChunks, IrregularChunks, listLengths } from '../../src/grid/irregular-chunks.ts'
import { axisChunks as anyAxisChunks } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'

const regular = (chunkLength: number, offset: number, length: number) => new RegularChunks(chunkLength, length, offset)
const irregular = (...lengths: number[]) => IrregularChunks.ofLengths(lengths)
const bounds = (chunks: AxisChunks) => listLengths(chunks).map((_, k) => [chunks.start(k), chunks.stop(k)])
const refused = (tag: string) => expect.objectContaining({ tag })

const FIVES = regular(5, 2, 10)
const UNEVEN = irregular(3, 3, 4, 3, 3)
const GRID = new ChunkGrid([FIVES, regular(2, 0, 20), UNEVEN])

describe('chunk objects', () => {
  test('where chunks start and stop', () => {
    expect(bounds(FIVES)).toEqual([[0, 3], [3, 8], [8, 10]]) // biome-ignore format: one line
    expect(bounds(regular(2, 0, 20))).toEqual(Array.from({ length: 10 }, (_, k) => [2 * k, 2 * k + 2]))
    expect(bounds(UNEVEN)).toEqual([[0, 3], [3, 6], [6, 10], [10, 13], [13, 16]]) // biome-ignore format: one line
  })

  test.each([[[1, 2, 3]], [[0, 5, 4]], [[0, 2, 2]], [[]], [[0, 1.5]], [[0, Number.NaN, 2]]])(
    'boundaries %j are refused',
    (boundaries) => {
      expect(() => new IrregularChunks(boundaries)).toThrow(refused('InvalidArgumentError'))
    },
  )

  test('a grid of both kinds', () => {
    expect(GRID.counts).toEqual([3, 10, 5])
    const box = (...index: number[]) => GRID.box(index).map(({ start, stop }) => [start, stop])
    expect(box(0, 0, 0)).toEqual([[0, 3], [0, 2], [0, 3]]) // biome-ignore format: one line
    expect(box(1, 1, 1)).toEqual([[3, 8], [2, 4], [3, 6]]) // biome-ignore format: one line
    expect(() => GRID.box([3, 0, 0])).toThrow(refused('InvalidSelectionError'))
    expect(() => GRID.box([-1, 0, 0])).toThrow('there is no chunk [-1, 0, 0] in [3, 10, 5] chunks')
    expect(GRID.find([7, 19, 10])).toEqual([1, 9, 3])
  })

  test('nominal chunk shape and offsets', () => {
    expect(GRID.chunkShape).toEqual([5, 2, 4])
    expect(GRID.offsets).toEqual([2, 0, 0])
  })

  test('mean and largest chunks are those of all chunks', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20).chain(anyAxisChunks), { maxLength: 3 }), (axes) => {
        const lengths = axes.map(listLengths)
        const mean = lengths.map((own) => (own.length === 0 ? 0 : own.reduce((a, b) => a + b) / own.length))
        const grid = new ChunkGrid(axes)
        expect(grid.meanChunkShape).toEqual(mean)
        expect(grid.largestChunkShape).toEqual(lengths.map((own) => Math.max(0, ...own)))
      }),
    )
    expect(new ChunkGrid([new RegularChunks(100, 7, 3)]).largestChunkShape).toEqual([7])
  })

  test('an axis of length 0 has no chunks, whatever their length and kind', () => {
    expect([regular(5, 0, 0).count, regular(1, 0, 0).count, irregular().count, axisChunks([]).count]).toEqual([0, 0, 0, 0])
    expect([irregular().length, irregular().chunkLength, sameChunks(irregular(), regular(5, 0, 0))]).toEqual([0, 1, true])
  })

  test('equality is of boundaries, not of kinds', () => {
    expect(sameChunks(FIVES, irregular(3, 5, 2))).toBe(true)
    expect(sameChunks(FIVES, regular(5, 0, 10))).toBe(false)
    expect(sameChunks(regular(7, 0, 5), regular(9, 2, 5))).toBe(true)
    expect(GRID.equals(new ChunkGrid([irregular(3, 5, 2), regular(2, 0, 20), UNEVEN]))).toBe(true)
    expect(GRID.equals(new ChunkGrid([FIVES, regular(2, 0, 20)]))).toBe(false)
  })

  test('as text', () => {
    expect(String(GRID)).toBe(
      '[3, 10, 5] chunks: 10 in chunks of 5, the first at -2; 20 in chunks of 2; 16 in chunks of 3, 3, 4, 3, 3',
    )
    expect(String(ChunkGrid.regular([10, 10, 10], [2, 2, 3]))).toContain('[5, 5, 4] chunks')
    expect(String(new IrregularChunks(Array.from({ length: 100 }, (_, k) => k)))).toMatch(/… \(99\)$/)
  })

  test('the kind found from lengths is the simplest', () => {
    expect(axisChunks([3, 5, 2])).toEqual(FIVES)
    expect(axisChunks([2, 5])).toEqual(regular(5, 3, 7))
    expect(axisChunks([3, 3, 4])).toBeInstanceOf(IrregularChunks)
    expect(() => axisChunks([3, 0])).toThrow(refused('InvalidArgumentError'))
  })
})

/** Ascending or descending positions, as a selection gives them. */
const steps = (start: number, step: number, length: number) => ({ start, step, length })
const TENS = regular(10, 2, 30)
const THREES = irregular(3, 3, 4, 3, 3, 4)
const LONG = regular(10, 0, 100)

describe('subsets', () => {
  test.each<[AxisChunks, Parameters<typeof subsetChunks>[1], number[], AxisChunks?]>([
    [FIVES, steps(0, 1, 10), [3, 5, 2], FIVES],
    [FIVES, steps(3, 1, 6), [5, 1], regular(5, 0, 6)],
    [FIVES, [], [], regular(1, 0, 0)],
    [FIVES, steps(5, 1, 0), [], regular(1, 0, 0)],
    [FIVES, steps(1, 2, 4), [1, 3], regular(3, 2, 4)],
    [FIVES, steps(9, -2, 5), [1, 3, 1], regular(3, 2, 5)],
    [TENS, steps(0, 1, 30), [8, 10, 10, 2], TENS],
    [TENS, steps(29, -1, 30), [2, 10, 10, 8], regular(10, 8, 30)],
    [TENS, steps(4, 1, 21), [4, 10, 7], regular(10, 6, 21)],
    [TENS, steps(24, -1, 21), [7, 10, 4], regular(10, 3, 21)],
    [TENS, steps(0, 2, 15), [4, 5, 5, 1], regular(5, 1, 15)],
    [TENS, steps(29, -2, 15), [1, 5, 5, 4], regular(5, 4, 15)],
    [TENS, steps(4, 2, 11), [2, 5, 4], regular(5, 3, 11)],
    [TENS, steps(24, -2, 11), [4, 5, 2], regular(5, 1, 11)],
    [TENS, steps(4, 1, 11), [4, 7]],
    [TENS, steps(1, 1, 9), [7, 2]],
    [TENS, steps(14, -1, 11), [7, 4]],
    [TENS, steps(9, -1, 9), [2, 7]],
    [TENS, steps(8, 1, 6), [6]],
    [TENS, steps(13, -1, 6), [6]],
    [TENS, steps(8, 2, 3), [3]],
    [TENS, steps(13, -2, 3), [3]],
    [TENS, steps(0, 3, 10), [3, 3, 4], irregular(3, 3, 4)],
    [TENS, steps(27, -3, 10), [4, 3, 3], irregular(4, 3, 3)],
    [TENS, [4, 5, 6, 18, 19, 20], [3, 3]],
    [TENS, [27, 26, 18, 16, 9, 6], [3, 2, 1]],
    [TENS, [0, 1, 2], [3]],
    [TENS, [0, 1, 2, 9, 10], [3, 2]],
    [TENS, [2, 3, 10, 12, 0], [2, 2, 1]],
    [UNEVEN, steps(0, 1, 15), [3, 3, 4, 3, 2]],
    [UNEVEN, steps(2, 1, 8), [1, 3, 4]],
    [UNEVEN, [], []],
    [UNEVEN, steps(0, 1, 0), []],
    [UNEVEN, steps(1, 2, 7), [1, 2, 2, 1, 1]],
    [UNEVEN, steps(13, -2, 7), [1, 1, 2, 2, 1]],
    [THREES, steps(0, 1, 20), [3, 3, 4, 3, 3, 4], THREES],
    [THREES, steps(2, 1, 16), [1, 3, 4, 3, 3, 2]],
    [THREES, steps(4, 1, 6), [2, 4]],
    [THREES, steps(3, 1, 5), [3, 2]],
    [THREES, [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17], [2, 3, 3, 3, 3, 2], regular(3, 1, 16)],
    [LONG, [0, 1, 2, 14, 15, 16, 17, 90, 91, 92], [3, 4, 3]],
    [LONG, steps(4, 1, 21), [6, 10, 5]],
    [FIVES, steps(0, -1, 0), [], regular(1, 0, 0)],
    [FIVES, steps(3, 2, 0), [], regular(1, 0, 0)],
  ])('%s, of which %j, in chunks of %j', (chunks, taken, lengths, object) => {
    const subset = subsetChunks(chunks, taken)
    expect(listLengths(subset)).toEqual(lengths)
    if (object !== undefined) expect(subset).toEqual(object)
  })

  test('equal runs of neighbours in one chunk, counted', () => {
    const cases = fc.integer({ min: 1, max: 60 }).chain((length) =>
      fc.record({
        chunks: anyAxisChunks(length),
        taken: fc.oneof(
          fc.array(fc.nat(length - 1)),
          fc.record({ from: fc.nat(length - 1), step: fc.integer({ min: 1, max: 9 }), count: fc.nat(), back: fc.boolean() }),
        ),
      }),
    )
    fc.assert(
      fc.property(cases, ({ chunks, taken }) => {
        const progression = Array.isArray(taken) ? undefined : progressionOf(taken, chunks.length)
        const positions =
          progression === undefined
            ? (taken as number[])
            : Array.from({ length: progression.length }, (_, i) => progression.start + i * progression.step)
        const runs: number[] = []
        positions.forEach((position, i) => {
          if (i > 0 && chunks.find(position) === chunks.find(positions[i - 1]!)) runs[runs.length - 1]!++
          else runs.push(1)
        })
        expect(listLengths(subsetChunks(chunks, progression ?? positions))).toEqual(runs)
      }),
      { numRuns: runs(1000) },
    )
  })
})

function progressionOf(
  { from, step, count, back }: { from: number; step: number; count: number; back: boolean },
  length: number,
) {
  const room = Math.floor((back ? from : length - 1 - from) / step) + 1
  return { start: from, step: back ? -step : step, length: count % (room + 1) }
}

describe('joined', () => {
  const joined = (...parts: AxisChunks[]) => axisChunks(parts.flatMap(listLengths))

  test('one after another, true boundaries whatever their offsets', () => {
    const parts = [regular(3, 0, 10), regular(4, 0, 9), regular(3, 0, 7)]
    expect(listLengths(joined(...parts))).toEqual([3, 3, 3, 1, 4, 4, 1, 3, 3, 1])
    expect(joined(regular(5, 0, 10), regular(5, 0, 10))).toEqual(regular(5, 0, 20))
    expect(listLengths(joined(regular(5, 0, 10), regular(5, 0, 7), regular(5, 0, 10)))).toEqual([5, 5, 5, 2, 5, 5])
    expect(listLengths(joined(regular(5, 2, 10), regular(5, 0, 10)))).toEqual([3, 5, 2, 5, 5])
    expect(joined(regular(5, 0, 0), regular(5, 0, 10))).toEqual(regular(5, 0, 10))
  })

  test.each<[AxisChunks, number, number, AxisChunks]>([
    [LONG, 5, 2, regular(10, 5, 107)],
    [LONG, 30, 2, regular(10, 0, 132)],
    [LONG, 10, 10, regular(10, 0, 120)],
    [LONG, 0, 0, LONG],
    [irregular(10, 10, 20, 30, 40), 5, 5, irregular(5, 10, 10, 20, 30, 40, 5)],
    [irregular(10, 10, 20, 30, 40), 0, 0, irregular(10, 10, 20, 30, 40)],
    [regular(10, 8, 100), 5, 0, regular(10, 3, 105)],
  ])('%s, padded by %i and %i', (chunks, low, high, expected) => {
    expect(padChunks(chunks, low, high)).toEqual(expected)
  })

  test.each<[AxisChunks[], number[]]>([
    [[regular(1, 0, 24), regular(3, 0, 24)], new Array(8).fill(3)],
    [
      [regular(6, 0, 24), regular(3, 0, 24)],
      [6, 6, 6, 6],
    ],
    [
      [regular(2, 0, 10), regular(4, 0, 10)],
      [4, 4, 2],
    ],
    [
      [regular(5, 2, 24), regular(1, 0, 24)],
      [3, 5, 5, 5, 5, 1],
    ],
    [
      [regular(3, 0, 24), regular(4, 0, 24)],
      [3, 1, 2, 2, 1, 3, 3, 1, 2, 2, 1, 3],
    ],
    [
      [irregular(2, 2, 3, 3), irregular(4, 2, 4)],
      [4, 2, 1, 3],
    ],
    [[irregular(6), irregular(2, 4), irregular(3, 3)], [6]],
    [[regular(3, 0, 0), regular(4, 0, 0)], []],
  ])('what suits several: %s', (all, lengths) => {
    expect(listLengths(commonChunks(all))).toEqual(lengths)
  })

  test('refined: cut at every border of what lies there', () => {
    const pieces = [
      { origin: 2, chunks: regular(3, 0, 5) },
      { origin: 4, chunks: irregular(2, 4) },
    ]
    expect(listLengths(refineChunks(12, pieces))).toEqual([2, 2, 1, 1, 1, 3, 2])
    expect(refineChunks(0, []).count).toBe(0)
  })

  test('they cover the axis, and no chunk of what suits several cuts one of an aligned array', () => {
    const cases = fc
      .integer({ min: 0, max: 40 })
      .chain((length) => fc.array(anyAxisChunks(length), { minLength: 1, maxLength: 3 }))
    fc.assert(
      fc.property(cases, (all) => {
        const common = commonChunks(all)
        expect(common.length).toBe(all[0]!.length)
        const longest = Math.max(...all.map(({ chunkLength }) => chunkLength))
        const boundaries = new Set(all.flatMap((chunks) => listLengths(chunks).map((_, k) => chunks.stop(k))))
        for (let k = 0; k < common.count; k++) {
          expect(common.stop(k) - common.start(k)).toBeLessThanOrEqual(longest)
          expect(boundaries.has(common.stop(k))).toBe(true)
        }
      }),
    )
  })
})
