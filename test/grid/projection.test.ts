import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { countChunks, projectAxis, projectBox } from '../../src/grid/projection.ts'
import { type Box, boxShape, rangeLength, showBox } from '../../src/grid/range.ts'
import { axisChunks, mixedGrids, shapes } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'

const axes = fc.record({
  // few chunks are projected here, many in the kernel
  chunks: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 500, max: 3000 })).chain(axisChunks),
  start: fc.nat(),
  count: fc.nat(),
  step: fc.integer({ min: 1, max: 90 }),
})

test('an axis: every position once, in order, in the chunk that holds it', () => {
  fc.assert(
    fc.property(axes, ({ chunks, start, count, step }) => {
      const { length } = chunks
      const first = start % length
      const total = 1 + (count % (Math.floor((length - 1 - first) / step) + 1))
      const range = { start: first, stop: first + (total - 1) * step + 1, step }
      const seen = projectAxis(range, chunks).flatMap(({ chunk, length, from, to }) => {
        expect([from.length, to.step, from.step]).toEqual([to.length, 1, step])
        expect(length).toBe(chunks.stop(chunk) - chunks.start(chunk))
        expect(from.start + (from.length - 1) * step).toBeLessThan(length)
        return Array.from({ length: from.length }, (_, i) => [to.start + i, chunks.start(chunk) + from.start + i * step])
      })
      expect(seen).toEqual(Array.from({ length: total }, (_, i) => [i, first + i * step]))
      const numbers = projectAxis(range, chunks).map(({ chunk }) => chunk)
      expect(numbers).toEqual([...new Set(seen.map(([, position]) => chunks.find(position!)))])
    }),
    { numRuns: runs(500) },
  )
})

test('a box: the product of its axes, in C order', () => {
  fc.assert(
    fc.property(
      shapes.chain((shape) =>
        fc.tuple(mixedGrids(shape), fc.tuple(...shape.map((length) => fc.tuple(fc.nat(length), fc.integer({ min: 1, max: 3 }))))),
      ),
      ([grid, choices]) => {
        const box: Box = choices.map(([start, step], axis) => ({
          start: Math.min(start, grid.shape[axis]!),
          stop: grid.shape[axis]!,
          step,
        }))
        const visited: number[] = []
        let elements = 0
        projectBox(box, grid, (number, projections) => {
          visited.push(number)
          elements += projections.reduce((n, { from }) => n * from.length, 1)
        })
        expect(visited).toEqual([...visited].sort((a, b) => a - b))
        expect(new Set(visited).size).toBe(visited.length)
        expect(visited.length).toBe(countChunks(box, grid))
        expect(elements).toBe(boxShape(box).reduce((a, b) => a * b, 1))
      },
    ),
  )
})

test('ranges', () => {
  expect(rangeLength({ start: 2, stop: 2, step: 1 })).toBe(0)
  expect(rangeLength({ start: 0, stop: 10, step: 3 })).toBe(4)
  expect(
    showBox([
      { start: 0, stop: 3, step: 1 },
      { start: 5, stop: 25, step: 2 },
    ]),
  ).toBe('[0:3, 5:25:2]')
})

test('more chunks than can be listed are refused, however they are asked for', () => {
  const grid = ChunkGrid.regular([2 ** 12, 2 ** 23], [1, 1])
  const whole = (length: number) => ({ start: 0, stop: length, step: 1 })
  const refused = expect.objectContaining({ tag: 'TooLargeError' })
  expect(() => projectAxis(whole(2 ** 23), grid.axes[1]!)).toThrow(refused)
  expect(projectAxis({ start: 0, stop: 2 ** 23, step: 2 ** 13 }, grid.axes[1]!)).toHaveLength(2 ** 10)
  expect(() => projectBox([whole(2 ** 12), whole(2 ** 11)], grid, () => undefined)).toThrow(refused)
})
