import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('costly-json.mjs', import.meta.url))
const MIB = 2 ** 20

test.each([
  ['objects'],
  ['lists'],
  ['names that are numbers'],
  ['names of their own'],
  ['names'],
  ['lists in lists'],
  ['texts'],
  ['integers beyond 2^53'],
  ['groups'],
  ['arrays'],
])('metadata full of %s keep at most 16 times the limit, and take 24 times while they are parsed', async (kind) => {
  const bytes = 4 * MIB
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program, kind, `${bytes}`])
  const { outcome, kept, peak } = JSON.parse(stdout) as { outcome: string; kept: number; peak: number }
  expect(outcome).toBe('opened')
  expect(kept).toBeLessThan(16 * bytes)
  expect(peak).toBeLessThan(24 * bytes + 32 * MIB)
})
