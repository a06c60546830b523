import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sizeOf } from '../../src/core/shape.ts'
import { ChunkGrid, chunkBoxes } from '../../src/grid/chunks.ts'
import { type Box, boxShape } from '../../src/grid/range.ts'
import { copyGrid, countTraffic, parseRechunk, planRechunk, rechunkDocument } from '../../src/grid/rechunk-plan.ts'
import { mixedGrids, shapes } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'

const general = shapes
  .map((shape) => shape.slice(0, 3).map((length) => 3 * length))
  .chain((shape) => fc.record({ from: mixedGrids(shape), to: mixedGrids(shape), room: fc.integer({ min: 1, max: 400 }) }))

/**
 * From rows to columns, with memory for some of them; along the axis between, chunks need not divide each
 * other.
 */
const transposed = fc
  .record({
    rows: fc.integer({ min: 8, max: 30 }),
    columns: fc.integer({ min: 8, max: 30 }),
    between: fc.constantFrom(1, 12),
    high: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 7 })),
    wide: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 7 })),
    times: fc.integer({ min: 1, max: 6 }),
  })
  .map(({ rows, columns, between, high, wide, times }) => ({
    from: ChunkGrid.regular([rows, between, columns], [high[0], high[1], columns]),
    to: ChunkGrid.regular([rows, between, columns], [rows, wide[1], wide[0]]),
    room: times * Math.max(high[0] * high[1] * columns, rows * wide[0] * wide[1]),
  }))

const lengths = (grid: ChunkGrid): number[] => grid.chunkShape.map((length, axis) => Math.min(length, grid.shape[axis]!))

/** Whether a box starts and ends where chunks do. */
const isWhole = (box: Box, { axes }: ChunkGrid): boolean =>
  box.every(({ start, stop }, axis) => {
    const own = axes[axis]!
    return own.start(own.find(start)) === start && own.stop(own.find(stop - 1)) === stop
  })

const elements = (grid: ChunkGrid): number => [...chunkBoxes(grid)].reduce((sum, box) => sum + sizeOf(boxShape(box)), 0)

/** Chunks that regions have something of, counted for each. */
const touched = (regions: ChunkGrid, chunks: ChunkGrid): number => {
  const boxes = [...chunkBoxes(chunks)]
  const isIn = (box: Box) => (own: Box) =>
    own.every(({ start, stop }, axis) => start < box[axis]!.stop && stop > box[axis]!.start)
  return [...chunkBoxes(regions)].reduce((sum, box) => sum + boxes.filter(isIn(box)).length, 0)
}

describe('planRechunk', () => {
  test('copies each element once in each pass, in whole objects, within the bound, the same each time', () => {
    const layouts = fc.oneof(general, { arbitrary: transposed, weight: 4 })
    let passes = 0
    fc.assert(
      fc.property(layouts, fc.constantFrom(4, 2 ** 20), ({ from, to, room }, elementBytes) => {
        const request = { from, to, elementBytes, maxBytes: elementBytes * room }
        const plan = planRechunk(request)
        const { write, first } = plan
        const size = sizeOf(from.shape)
        const largest = sizeOf(lengths(to))
        expect(elements(write)).toBe(size)
        for (const box of chunkBoxes(write)) {
          expect(sizeOf(boxShape(box))).toBeLessThanOrEqual(Math.max(room, largest))
          expect(isWhole(box, to)).toBe(true)
        }
        if (first !== undefined) {
          passes++
          expect([elements(first.read), elements(first.chunks)]).toEqual([size, size])
          expect(first.chunks.equals(ChunkGrid.regular(from.shape, first.chunks.chunkShape))).toBe(true)
          for (const box of chunkBoxes(first.read)) {
            expect(sizeOf(boxShape(box))).toBeLessThanOrEqual(room)
            expect(isWhole(box, first.chunks)).toBe(true)
          }
        }
        if (write.count * from.count < 20_000) {
          const reads = first === undefined ? touched(write, from) : touched(first.read, from) + touched(write, first.chunks)
          expect(countTraffic(plan, request).requests).toBe(reads + to.count + (first?.chunks.count ?? 0))
        }
        const document = rechunkDocument(plan)
        expect(rechunkDocument(planRechunk(request))).toEqual(document)
        const parsed = parseRechunk(JSON.parse(JSON.stringify(document)))
        expect(rechunkDocument(parsed)).toEqual(document)
        expect([...chunkBoxes(parsed.write)]).toEqual([...chunkBoxes(write)])
      }),
      { numRuns: runs(400) },
    )
    expect(passes).toBeGreaterThan(0.075 * runs(400))
  })

  test('goes through an intermediate array where the source would be read more than twice', () => {
    const MiB = 2 ** 20
    const shape = [4096, 512, 512]
    const plan = (from: number[], to: number[], maxBytes: number) =>
      planRechunk({ from: ChunkGrid.regular(shape, from), to: ChunkGrid.regular(shape, to), elementBytes: 4, maxBytes })
    // Each time step would be read 32 times.
    const { write, first } = plan([1, 512, 512], [4096, 32, 32], 128 * MiB)
    expect([first?.read.chunkShape, first?.chunks.chunkShape, write.chunkShape]).toEqual([
      [128, 512, 512],
      [128, 64, 128],
      [4096, 64, 128],
    ])
    const layout = {
      from: ChunkGrid.regular(shape, [1, 512, 512]),
      to: ChunkGrid.regular(shape, [4096, 32, 32]),
      elementBytes: 4,
    }
    expect(countTraffic({ write, first }, layout)).toEqual({ requests: 4096 + 1024 + 1024 + 256, bytes: 4 * 4096 * MiB })
    // And back.
    const back = plan([4096, 32, 32], [1, 512, 512], 128 * MiB)
    expect([back.first?.read.chunkShape, back.first?.chunks.chunkShape, back.write.chunkShape]).toEqual([
      [4096, 64, 128],
      [128, 64, 128],
      [128, 512, 512],
    ])
    expect(plan([1, 512, 512], [4096, 32, 32], 4096 * MiB).first).toBeUndefined()
    expect(plan([1, 512, 512], [4096, 32, 32], 2048 * MiB).first).toBeUndefined()
    expect(plan([1, 512, 512], [32, 128, 128], 128 * MiB).first).toBeUndefined()
    // No chunk of the source fits.
    expect(plan([4096, 512, 512], [1, 512, 512], 128 * MiB).first).toBeUndefined()
  })

  test('keeps regions of whole chunks of the source where lengths do not divide each other', () => {
    const shape = [3000, 1000, 1000]
    const [from, to] = [ChunkGrid.regular(shape, [7, 1000, 1000]), ChunkGrid.regular(shape, [3000, 12, 25])]
    const { write, first } = planRechunk({ from, to, elementBytes: 4, maxBytes: 256 * 2 ** 20 })
    for (const box of chunkBoxes(first!.read)) expect(isWhole(box, from)).toBe(true)
    for (const box of chunkBoxes(write)) expect(isWhole(box, first!.chunks)).toBe(true)
  })

  test('plans terabytes at once', () => {
    const shape = [1_000_000, 1000, 1000]
    const [from, to] = [ChunkGrid.regular(shape, [1, 1000, 1000]), ChunkGrid.regular(shape, [100_000, 10, 10])]
    const { write, first } = planRechunk({ from, to, elementBytes: 4, maxBytes: 2 ** 32 })
    expect([write.count, first!.read.count, first!.chunks.count]).toEqual([1040, 932, 932 * 104])
  })
})

describe('copyGrid', () => {
  test('each chunk is read once where memory allows, in as few parts as it allows otherwise', () => {
    const [rows, columns] = [ChunkGrid.regular([600, 800], [1, 800]), ChunkGrid.regular([600, 800], [600, 1])]
    expect(copyGrid(rows, columns, 600 * 800).count).toBe(1)
    // A tenth of the array at a time: each row in ten parts, not in 800.
    expect(copyGrid(rows, columns, 60 * 800).chunkShape).toEqual([600, 80])
    expect(copyGrid(ChunkGrid.regular([24, 24], [3, 24]), ChunkGrid.regular([24, 24], [4, 24]), 12 * 24).chunkShape).toEqual([
      12, 24,
    ])
    expect(copyGrid(ChunkGrid.regular([24, 24], [3, 3]), ChunkGrid.regular([24, 24], [4, 4]), 144).chunkShape).toEqual([12, 12])
  })
})

test('more chunks along an axis than a plan can go through are refused, in the source and in the target', () => {
  const [many, few] = [1, 2 ** 30].map((length) => ChunkGrid.regular([3, 2 ** 40], [3, length])) as [ChunkGrid, ChunkGrid]
  for (const [from, to] of [
    [many, few],
    [few, many],
  ] as const)
    expect(() => planRechunk({ from, to, elementBytes: 4, maxBytes: 2 ** 26 })).toThrow(
      /^axis 1 has 1099511627776 chunks of the (source|target), and copies go through 4194304 at most/,
    )
})
