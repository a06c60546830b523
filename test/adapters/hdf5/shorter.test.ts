import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDataset } from '../../../src/runtime/dataset.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { listOf, startPython, visitArrays } from './support.ts'

/** A variable as netCDF4 reads it. */
interface Variable {
  readonly dims: readonly string[]
  readonly shape: readonly number[]
  readonly values: readonly string[]
  readonly masked: readonly boolean[]
}

const COUNT = byBudget({ quick: 30, full: 100, soak: 2000 })
const SEED = seedOf('hdf5 unlimited dimensions', 1)

const started = startPython('shorter.py')
const python = 'python' in started ? started.python : undefined
if ('failure' in started) console.warn(`SKIPPED: variables shorter than their dimensions need netCDF4: ${started.failure}`)

/** Variables of all groups, with elements as numbers or texts, and whether each is missing. */
async function variablesIn(file: string): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  await visitArrays(file, async ({ array, path }) => {
    const list = Array.from(listOf(array.dtype, await array.get()), String)
    const missing = (array.source.missing?.values ?? []).map(String)
    found[path] = {
      dims: [...(array.dimensionNames ?? [])],
      shape: [...array.shape],
      values: list,
      masked: array.dtype === 'string' ? [] : list.map((value) => missing.includes(value)),
    }
  })
  return found
}

const asListed = (value: string): string =>
  /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(value) && !/^-?\d+$/.test(value) ? String(Number(value)) : value

describe.skipIf(python === undefined)('variables that are shorter than their unlimited dimensions', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hyperslab-hdf5-shorter-'))
  })
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true })
    python?.close()
  })

  test('they read at the length of the dimension, with the fill values of netCDF', { timeout: 600_000 }, async () => {
    let shorter = 0
    for (let i = 0; i < COUNT; i++) {
      const file = join(folder, `${i}.nc`)
      const expected = (await python!.ask({ write: file, seed: SEED + i })) as Record<string, Variable>
      expect(expected['error']).toBeUndefined()
      const asNumbers = Object.fromEntries(
        Object.entries(expected).map(([path, each]) => [path, { ...each, values: each.values.map(asListed) }]),
      )
      expect(await variablesIn(file), `seed ${SEED + i}`).toEqual(asNumbers)
      await using ds = await openDataset(file)
      const { t } = ds.dims
      if (t !== undefined && Object.values(expected).some(({ dims }) => dims.includes('t'))) shorter++
    }
    expect(shorter).toBeGreaterThan(COUNT / 4)
  })
})
