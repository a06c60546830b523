import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { byBudget, seedOf } from '../../support/budget.ts'
import { writeMatrix } from './matrix.ts'
import { expectSameCase } from './same-cases.ts'

/** More cases and another seed, for long runs. */
const COUNT = byBudget({ quick: 200, full: 200, soak: 1000 })
const SEED = seedOf('tensorstore', 20261122)

const FIXTURES = fileURLToPath(new URL('../../fixtures/zarr', import.meta.url))
const fixtures = readdirSync(FIXTURES, { recursive: true, encoding: 'utf8' })
  .filter((name) => /[/\\](\.zarray|[0-9][/\\]zarr\.json)$/.test(name))
  .map((name) => join(FIXTURES, name, '..'))

const matrix = writeMatrix(COUNT, SEED, 'matrix_tensorstore.py', fixtures)
afterAll(() => matrix?.remove(), 60_000)

test.skipIf(matrix === undefined)('arrays that tensorstore writes read the same here', { timeout: 600_000 }, async () => {
  for (const one of matrix!.cases.slice(0, COUNT)) await expectSameCase(matrix!, one, SEED)
})

test.skipIf(matrix === undefined)('tensorstore reads arrays of other writers as they are read here', async () => {
  const others = matrix!.cases.slice(COUNT)
  expect(others.length).toBeGreaterThan(20)
  for (const one of others) await expectSameCase(matrix!, one, SEED)
})
