import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { byBudget, seedOf } from '../../support/budget.ts'
import { FORMATS, readOracle, startPython, visitArrays } from './support.ts'

/** A variable as netCDF4 describes it. */
interface Variable {
  readonly dims: readonly string[]
  readonly shape: readonly number[]
  readonly attributes: readonly string[]
}

const COUNT = byBudget({ quick: 30, full: 100, soak: 2000 })
const SEED = seedOf('hdf5 dimensions', 1)

const started = startPython('dimensions.py')
const python = 'python' in started ? started.python : undefined
if ('failure' in started) console.warn(`SKIPPED: names of dimensions need netCDF4: ${started.failure}`)

async function variablesIn(file: string): Promise<Record<string, Variable>> {
  const found: Record<string, Variable> = {}
  await visitArrays(file, ({ array, attrs, path }) => {
    const { dimensionNames = [], shape } = array
    found[path] = { dims: [...dimensionNames], shape: [...shape], attributes: [...(attrs?.keys() ?? [])].sort() }
  })
  return found
}

describe.skipIf(python === undefined)('names of dimensions', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hyperslab-hdf5-dimensions-'))
  })
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true })
    python?.close()
  })

  test.each([...readOracle().keys()].filter((name) => /\.nc4?$/.test(name)))('%s has those that netCDF4 gives', async (name) => {
    const file = join(FORMATS, name)
    const expected = (await python!.ask({ file })) as Record<string, Variable> & { error?: string }
    const actual = await variablesIn(file).catch(String)
    expect(actual).toEqual(expected)
  })

  test('files of random groups, dimensions and variables have those that netCDF4 gives', { timeout: 600_000 }, async () => {
    for (let i = 0; i < COUNT; i++) {
      const file = join(folder, `${i}.nc`)
      const expected = await python!.ask({ write: file, seed: SEED + i })
      expect(await variablesIn(file), `seed ${SEED + i}`).toEqual(expected)
    }
  })
})
