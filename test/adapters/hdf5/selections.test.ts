import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { anySelections } from '../../support/arbitraries.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { plainGet } from '../../support/oracle.ts'
import { FORMATS, listOf, readOracle, walkFile } from './support.ts'

/** Selections of each array. */
const SELECTIONS = byBudget({ quick: 4, full: 12, soak: 200 })
const SEED = seedOf('hdf5 selections', 1)
/** Larger arrays are not compared, because the oracle holds all elements. */
const MOST_ELEMENTS = 300_000

/** Files that cannot be opened or listed (`oracle.test.ts`). */
const UNOPENED = /corrupt_stab_msg|tfamily00000/

const shown = (selection: unknown): string =>
  JSON.stringify(selection, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part))

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
      for (const selection of fc.sample(anySelections(array.chunks), { numRuns: SELECTIONS, seed: SEED })) {
        const [got, wanted] = [await array.get(selection as never), plainGet(plain, selection, array.chunks)]
        const found = Array.from(listOf(dtype, got))
        expect(found, `${path} ${shown(selection)}`).toEqual(Array.from(wanted.data as never))
        compared++
      }
    }
    const small = [...arrays.values()].filter(({ size, chunks }) => size <= MOST_ELEMENTS && chunks.count > 0)
    expect(compared).toBe(small.length * SELECTIONS)
    expect(arrays.size + unreadable.size).toBeGreaterThanOrEqual(small.length)
  })
})
