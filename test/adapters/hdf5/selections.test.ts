import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { DiskArray } from '../../../src/array/disk-array.ts'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { expectSameReads } from '../../support/same-reads.ts'
import { FORMATS, listOf, readOracle, walkFile } from './support.ts'

/** Selections of each array. */
const SELECTIONS = byBudget({ quick: 1, full: 3, soak: 200 })
const SEED = seedOf('hdf5 selections', 1)
/** Larger arrays are not compared, because the oracle holds all elements. */
const MOST_ELEMENTS = 60_000

/** Files that cannot be opened or listed (`oracle.test.ts`). */
const UNOPENED = /corrupt_stab_msg|tfamily00000/

const files = [...readOracle().keys()].filter((name) => !UNOPENED.test(name))

describe('random selections', () => {
  test.each(files)('of the arrays in %s have the elements of the whole', { timeout: 120_000 }, async (name) => {
    await using root = await openHdf5(join(FORMATS, name))
    const { arrays, unreadable } = await walkFile(root)
    let compared = 0
    for (const [path, array] of arrays) {
      if (array.size > MOST_ELEMENTS || array.chunks.count === 0) continue
      const { dtype, shape } = array
      const plain = { dtype, shape: [...shape], data: listOf(dtype, await array.toTensor()) as never }
      compared += await expectSameReads(array as unknown as DiskArray, plain, { count: SELECTIONS, seed: SEED, name: path })
    }
    const small = [...arrays.values()].filter(({ size, chunks }) => size <= MOST_ELEMENTS && chunks.count > 0)
    expect(compared).toBe(small.length * SELECTIONS)
    expect(arrays.size + unreadable.size).toBeGreaterThanOrEqual(small.length)
  })
})
