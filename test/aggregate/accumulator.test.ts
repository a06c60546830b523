import { expect, test } from 'vitest'
import { WholeAccumulator } from '../../src/aggregate/accumulator.ts'
import { toBytes } from '../../src/core/dtype.ts'
import { withArena } from '../../src/kernels/arena.ts'

test('partial sums of very many blocks are added in halves', () => {
  const accumulator = new WholeAccumulator('sum', 'float64', 'none')
  const count = 100_000
  withArena((arena) => {
    const pointer = arena.put(toBytes(Float64Array.of(0.1)))
    for (let i = 0; i < count; i++) accumulator.add(arena, [1], pointer, [1])
  })
  const { values, counts } = accumulator.finish()
  expect(counts[0]).toBe(count)
  // One after another the error is about 2e-8; in halves it is of the order of one rounding.
  expect(Math.abs((values[0] as number) - 10_000)).toBeLessThan(1e-11)
})
