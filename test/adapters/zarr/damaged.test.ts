import { afterAll, expect, test } from 'vitest'
import { randoms } from '../../kernels/support.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { DamagedArrays } from './damaged.ts'
import { writeMatrix } from './matrix.ts'

/**
 * More of them, and others, for long runs; `DECODER=zarr npm run bench -- fuzz` bounds time and memory as
 * well.
 */
const COUNT = byBudget({ quick: 800, full: 800, soak: 20_000 })
const SEED = seedOf('damages', 1)

const matrix = writeMatrix(100, SEED)
const arrays = matrix && (await DamagedArrays.of(matrix))
afterAll(async () => {
  matrix?.remove()
  await arrays?.close()
}, 60_000)

test.skipIf(arrays === undefined)(
  'damaged chunks and shards end in values or in an error that says what is wrong',
  { timeout: 600_000 },
  async () => {
    const counts = { accepted: 0, refused: 0 }
    for (let seed = SEED; seed < SEED + COUNT; seed++)
      try {
        const next = randoms(seed)
        counts[await arrays!.damage(() => next() / 2 ** 32)]++
      } catch (cause) {
        throw new Error(`seed ${seed}: ${(cause as Error).message}`, { cause })
      }
    expect(Math.min(counts.accepted, counts.refused)).toBeGreaterThan(COUNT / 30)
    expect(arrays!.inlineReason).toBeUndefined()
  },
)
