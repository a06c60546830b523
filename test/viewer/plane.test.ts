import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Axis } from '../../apps/viewer/src/axes.ts'
import { type Cells, cellOf, finestOf, positionsOf, resolutionFor } from '../../apps/viewer/src/plane.ts'

test('the coarsest level is drawn whose cells are at most two pixels wide, else the finest', () => {
  const levels = [4096, 2048, 1024, 512]
  const choices = [100, 1024, 1025, 2048, 4096, 4097, 8192, 20_000].map((pixels) => resolutionFor(levels, pixels))
  expect(choices).toEqual([3, 3, 2, 2, 1, 0, 0, 0])
  // Metadata may have them in another order.
  expect(resolutionFor([512, 4096, 1024], 1024)).toBe(0)
  expect(resolutionFor([512, 4096, 1024], 4096)).toBe(1)
})

test('a cell is found again by its place in the finest level', () => {
  const axis = (length: number): Axis => ({ length }) as Axis
  const side = fc.record({
    length: fc.integer({ min: 1, max: 50 }),
    finer: fc.integer({ min: 1, max: 4 }),
    from: fc.nat(49),
    step: fc.integer({ min: 1, max: 4 }),
  })
  fc.assert(
    fc.property(side, side, fc.nat(10_000), (down, across, pick) => {
      const [top, left] = [down, across].map(({ from, length }) => from % length)
      const count = ({ length, step }: typeof down, first: number): number => Math.ceil((length - first) / step)
      const cells: Cells = {
        plane: { level: 0, levels: 1, y: axis(down.length), x: axis(across.length), ratio: [down.finer, across.finer] },
        rows: count(down, top!),
        columns: count(across, left!),
        from: [top!, left!],
        steps: [down.step, across.step],
      }
      const cell = pick % (cells.rows * cells.columns)
      const [row, column] = positionsOf(cells, cell)
      expect([row < down.length, column < across.length]).toEqual([true, true])
      const finest = finestOf(cells, cell)
      expect([Math.floor(finest[0] / down.finer), Math.floor(finest[1] / across.finer)]).toEqual([row, column])
      expect(cellOf(cells, finest)).toBe(cell)
    }),
  )
})
