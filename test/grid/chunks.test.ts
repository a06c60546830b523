import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sizeOf } from '../../src/core/shape.ts'
import { type AxisChunks, ChunkGrid, RegularChunks } from '../../src/grid/chunks.ts'
import { axisChunks, mixedGrids, shapes } from '../support/arbitraries.ts'

const ranges = (chunks: AxisChunks): [number, number][] =>
  Array.from({ length: chunks.count }, (_, k) => [chunks.start(k), chunks.stop(k)])

describe('regular chunks', () => {
  test('the first is shortened by the offset, the last by the end', () => {
    expect(ranges(new RegularChunks(5, 10, 2))).toEqual([
      [0, 3],
      [3, 8],
      [8, 10],
    ])
    expect(new RegularChunks(2, 20).count).toBe(10)
    expect(ranges(new RegularChunks(7, 5))).toEqual([[0, 5]])
  })

  test('an axis of length 0 has none', () => {
    expect([new RegularChunks(5, 0).count, new RegularChunks(1, 0).count]).toEqual([0, 0])
  })

  test.each([
    [0, 10, 2],
    [2, 10, -1],
    [2, 10, 2],
    [5, -1, 2],
    [1.5, 3, 0],
    [Number.NaN, 3, 0],
  ])('refuses length %d, axis %d, offset %d', (chunkLength, length, offset) => {
    expect(() => new RegularChunks(chunkLength, length, offset)).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
  })

  test('they cover the axis without gaps, and every position finds its chunk', () => {
    fc.assert(
      fc.property(fc.nat(60).chain(axisChunks), (chunks) => {
        const { length } = chunks
        const covered = ranges(chunks).flatMap(([start, stop], k) =>
          Array.from({ length: stop - start }, (_, i) => [start + i, k]),
        )
        expect(covered).toEqual(Array.from({ length }, (_, i) => [i, chunks.find(i)]))
      }),
    )
  })
})

describe('a grid', () => {
  test('numbers its chunks in C order, and their boxes cover the array', () => {
    fc.assert(
      fc.property(
        shapes.chain((shape) => mixedGrids(shape)),
        (grid) => {
          let number = 0
          let elements = 0
          grid.each((index) => {
            expect(grid.chunkIndex(index)).toBe(number)
            expect(grid.index(number)).toEqual(index)
            expect(grid.shapeOf(index)).toEqual(grid.box(index).map(({ start, stop }) => stop - start))
            elements += sizeOf(grid.shapeOf(index))
            number++
          })
          expect([number, elements]).toEqual([grid.count, sizeOf(grid.shape)])
        },
      ),
    )
  })

  test('coarsened: runs of whole chunks, no larger than asked for unless one chunk is', () => {
    fc.assert(
      fc.property(
        shapes.chain((shape) => mixedGrids(shape)),
        fc.integer({ min: 1, max: 300 }),
        (grid, room) => {
          const coarse = grid.coarsen(room)
          expect(coarse.shape).toEqual(grid.shape)
          const largest = (each: ChunkGrid): number =>
            each.chunkShape.reduce((n, length, axis) => n * Math.max(1, Math.min(length, each.shape[axis]!)), 1)
          expect(largest(coarse)).toBeLessThanOrEqual(Math.max(room, largest(grid)))
          coarse.axes.forEach((axis, i) => {
            const boundaries = new Set(ranges(grid.axes[i]!).map(([start]) => start))
            for (const [start] of ranges(axis)) expect(boundaries.has(start)).toBe(true)
          })
        },
      ),
    )
    const grid = ChunkGrid.regular([12, 96, 192], [1, 96, 192])
    expect(grid.coarsen(5 * 96 * 192).chunkShape).toEqual([5, 96, 192])
    expect(ChunkGrid.regular([4, 100], [1, 10]).coarsen(35).chunkShape).toEqual([1, 30])
  })

  test('estimated: whole trailing axes, about the bytes asked for', () => {
    expect(ChunkGrid.estimate([1000, 200], 8, 1_000_000).chunkShape).toEqual([625, 200])
    expect(ChunkGrid.estimate([1000, 200], 100, 1_000_000).chunkShape).toEqual([50, 200])
    expect(ChunkGrid.estimate([1000, 200], 1000, 1_000_000).chunkShape).toEqual([5, 200])
    expect(ChunkGrid.estimate([1000, 200], 8).chunkShape).toEqual([1000, 200])
    expect(ChunkGrid.estimate([10, 200], 8, 80).chunkShape).toEqual([1, 10])
    // An element larger than the target, and axes of length 0, still give chunks.
    expect(ChunkGrid.estimate([3, 4], 100, 10).chunkShape).toEqual([1, 1])
    expect(ChunkGrid.estimate([0, 4], 8).counts).toEqual([0, 1])
    expect(ChunkGrid.estimate([], 8).count).toBe(1)
  })
})
