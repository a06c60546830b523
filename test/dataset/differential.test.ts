import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, test, vi } from 'vitest'
import { runs, seedOf } from '../support/budget.ts'
import { type Difference, differencesOf, startDifferential } from '../support/differential.ts'
import { type Spec, specs } from '../support/differential-specs.ts'

/** Number of files. */
const COUNT = runs(200)
const SEED = seedOf('differential', 857_100_082)
/** A run of 2000 files takes some minutes. */
const TIMEOUT = 3_600_000
/** Each with a process of Python of its own. */
const LANES = [0, 1]

const peers = LANES.map(() => startDifferential())
const folder = mkdtempSync(join(tmpdir(), 'hyperslab-differential-'))

beforeAll(() => {
  // The command that writes references tells what it wrote.
  vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
})

afterAll(async () => {
  vi.restoreAllMocks()
  for (const peer of peers) peer?.close()
  await rm(folder, { recursive: true, force: true })
})

/** The file, and what differs: where, of which variable, both values. */
function report(spec: Spec, differences: readonly Difference[]): string {
  const names = new Set(differences.map(({ variable }) => variable))
  const of = spec.variables.filter(({ name }) => names.has(name)).map((variable) => `  ${JSON.stringify(variable)}`)
  const lines = differences.map(({ stage, variable, kind, text }) => `- ${stage}: ${variable} (${kind}): ${text}`)
  return [...lines, `in a file ${spec.form} of ${JSON.stringify(spec.dims)}:`, ...of, JSON.stringify(spec)].join('\n')
}

describe.skipIf(peers[0] === undefined)('differential', () => {
  test.concurrent.for(LANES)(
    'generated files are decoded, selected and written again as xarray reads them, lane %i',
    { timeout: TIMEOUT },
    async (lane, { expect }) => {
      let number = 0
      const property = fc.asyncProperty(specs, async (spec) => {
        const own = join(folder, `${lane}-${number++}`)
        const differences = await differencesOf(peers[lane]!, spec, own)
        await rm(own, { recursive: true, force: true })
        if (differences.length > 0) throw new Error(report(spec, differences))
      })
      await fc.assert(property, {
        numRuns: Math.ceil(COUNT / LANES.length),
        seed: SEED + lane,
        interruptAfterTimeLimit: TIMEOUT,
      })
      expect(number).toBeGreaterThan(0)
    },
  )
})
