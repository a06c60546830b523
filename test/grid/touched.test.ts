import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AxisChunks, ChunkGrid, RegularChunks } from '../../src/grid/chunks.ts'
import { IrregularChunks } from '../../src/grid/irregular-chunks.ts'
import { countChunks, projectAxis, projectBox } from '../../src/grid/projection.ts'
import { type Box, boxShape } from '../../src/grid/range.ts'
import { cutBox, TouchedChunks } from '../../src/grid/touched.ts'

const someAxis = (most: number) =>
  fc
    .record({
      length: fc.integer({ min: 1, max: most }),
      chunk: fc.integer({ min: 1, max: 5 }),
      step: fc.integer({ min: 1, max: 7 }),
    })
    .chain(({ length, chunk, step }) =>
      fc.tuple(fc.nat(length - 1), fc.nat(length - 1)).map(([a, b]) => ({
        chunks: new RegularChunks(chunk, length) as AxisChunks,
        range: { start: Math.min(a, b), stop: Math.max(a, b) + 1, step },
      })),
    )

const someIrregularAxis = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 }).chain((lengths) => {
  const length = lengths.reduce((a, b) => a + b)
  return fc.tuple(fc.nat(length - 1), fc.nat(length - 1), fc.integer({ min: 1, max: 7 })).map(([a, b, step]) => ({
    chunks: IrregularChunks.ofLengths(lengths) as AxisChunks,
    range: { start: Math.min(a, b), stop: Math.max(a, b) + 1, step },
  }))
})

test('touched chunks are those of a projection, by their numbers', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(someAxis(12), someIrregularAxis), { maxLength: 3 }),
      fc.nat(1000),
      fc.nat(1000),
      (axes, a, b) => {
        const grid = new ChunkGrid(axes.map(({ chunks }) => chunks))
        const box: Box = axes.map(({ range }) => range)
        const touched = new TouchedChunks(box, grid)
        const expected: { number: number; projections: unknown }[] = []
        projectBox(box, grid, (number, projections) => expected.push({ number, projections: [...projections] }))
        expect(touched.count).toBe(expected.length)
        expect(countChunks(box, grid)).toBe(expected.length)
        expected.forEach(({ number, projections }, at) => {
          expect(touched.number(at)).toBe(number)
          expect(touched.projections(at)).toEqual(projections)
          expect(touched.find(number)).toBe(at)
        })
        const others = new Set(expected.map(({ number }) => number))
        for (let number = 0; number < grid.count; number++) if (!others.has(number)) expect(touched.find(number)).toBeUndefined()
        // A run of chunks as boxes: each of their elements once.
        const [from, to] = [Math.min(a, b) % (touched.count + 1), Math.max(a, b) % (touched.count + 1)]
        const boxes = [...touched.boxes(from, to)]
        expect(boxes.length).toBeLessThanOrEqual(Math.max(1, 2 * axes.length))
        const found = boxes.flatMap(positionsIn).sort()
        const wanted: string[] = []
        for (let at = from; at < to; at++)
          wanted.push(
            ...positionsIn(touched.projections(at).map(({ to }) => ({ start: to.start, stop: to.start + to.length, step: 1 }))),
          )
        expect(found).toEqual(wanted.sort())
      },
    ),
  )
})

test('an axis of very many chunks needs no list of them', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 }), fc.nat(50), (chunk, step, start) => {
      const chunks = new RegularChunks(chunk, 20_000)
      const range = { start, stop: 20_000, step }
      const touched = new TouchedChunks([range], new ChunkGrid([chunks]))
      const expected = projectAxis(range, chunks)
      expect(touched.count).toBe(expected.length)
      expected.forEach((projection, at) => {
        if (at % 97 > 0 && at < expected.length - 3) return
        expect(touched.projections(at)).toEqual([projection])
        expect(touched.find(projection.chunk)).toBe(at)
      })
    }),
    { numRuns: 20 },
  )
})

test('an axis of very many chunks of different lengths has each of its positions once', () => {
  const chunks = IrregularChunks.ofLengths(Array.from({ length: 20_000 }, (_, i) => (i % 4 === 3 ? 5 : 1)))
  for (const step of [1, 2, 3, 5, 6]) {
    const range = { start: 1, stop: chunks.length, step }
    const touched = new TouchedChunks([range], new ChunkGrid([chunks]))
    const expected = projectAxis(range, chunks)
    expect(touched.count).toBe(expected.length)
    expect(expected.every((projection, at) => isSame(touched.projections(at)[0], projection))).toBe(true)
    expect(expected.every(({ chunk }, at) => touched.find(chunk) === at)).toBe(true)
    expect(expected.reduce((sum, { to }) => sum + to.length, 0)).toBe(Math.ceil((chunks.length - 1) / step))
  }
})

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

test('a box is cut into parts of a size, each position in one', () => {
  const box = [
    { start: 2, stop: 9, step: 1 },
    { start: 0, stop: 5, step: 1 },
  ]
  const parts = [...cutBox(box, 4)]
  expect(Math.max(...parts.map((part) => boxShape(part).reduce((a, b) => a * b)))).toBeLessThanOrEqual(4)
  expect(parts.flatMap(positionsIn).sort()).toEqual(positionsIn(box).sort())
  expect([...cutBox(box, 4, [true, false])].every(([rows]) => rows!.stop === 9)).toBe(true)
})

function positionsIn(box: Box): string[] {
  return box.reduce<string[]>(
    (all, { start, stop }) => all.flatMap((each) => Array.from({ length: stop - start }, (_, i) => `${each},${start + i}`)),
    [''],
  )
}
