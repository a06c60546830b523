import fc from 'fast-check'
import { expect, test } from 'vitest'
import { project } from '../../src/kernels/project.ts'
import { runs } from '../support/budget.ts'

/** One position at a time. */
function naive(start: number, step: number, count: number, chunkLength: number, gridOffset: number): number[][] {
  const records: number[][] = []
  for (let i = 0; i < count; i++) {
    const position = start + i * step
    const chunk = Math.floor((position + gridOffset) / chunkLength)
    const last = records.at(-1)
    if (last?.[0] === chunk) last[2]!++
    else records.push([chunk, position - Math.max(chunk * chunkLength - gridOffset, 0), 1, i])
  }
  return records
}

const rows = (records: Float64Array): number[][] =>
  Array.from({ length: records.length / 4 }, (_, i) => [...records.subarray(4 * i, 4 * i + 4)])

test('agrees with looking at every position', () => {
  const length = fc.integer({ min: 1, max: 40 })
  fc.assert(
    fc.property(
      fc.nat(200),
      fc.oneof(fc.constant(1), length, fc.integer({ min: 1, max: 300 })),
      fc.nat(150),
      length,
      fc.nat(39),
      (start, step, count, chunkLength, offset) => {
        const gridOffset = offset % chunkLength
        expect(rows(project(start, step, count, chunkLength, gridOffset))).toEqual(
          naive(start, step, count, chunkLength, gridOffset),
        )
      },
    ),
    { numRuns: runs(2000) },
  )
})

test('an empty slice touches nothing', () => {
  expect(project(5, 1, 0, 10, 0)).toEqual(new Float64Array(0))
})

test('is exact next to 2^53', () => {
  const top = 2 ** 53
  expect(rows(project(top - 3, 1, 3, 10, 0))).toEqual([
    [900719925474098, 9, 1, 0],
    [900719925474099, 0, 2, 1],
  ])
  expect(rows(project(1, top - 2, 2, 7, 3))).toEqual([
    [0, 1, 1, 0],
    [Number((BigInt(top) - 1n + 3n) / 7n), Number((BigInt(top) + 2n) % 7n), 1, 1],
  ])
  expect(rows(project(0, 1, top - 1, top - 1, 0))).toEqual([[0, 0, top - 1, 0]])
})
