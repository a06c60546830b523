import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('costly-json.mjs', import.meta.url))
const MIB = 2 ** 20
const BYTES = 4 * MIB

test.each([
  ['objects'],
  ['lists'],
  ['names that are numbers'],
  ['names of their own'],
  ['names'],
  ['lists in lists'],
  ['texts'],
  ['integers beyond 2^53'],
  ['arrays'],
])('metadata full of %s keep at most 16 times the limit, and take 24 times while they are parsed', async (kind) => {
  const { outcome, kept, peak } = await costOf(kind)
  expect(outcome).toBe('opened')
  expect(kept).toBeLessThan(16 * BYTES)
  expect(peak).toBeLessThan(24 * BYTES + 32 * MIB)
})

test('metadata full of broken groups keep at most 16 times the limit, and take 64 times while their group is listed', async () => {
  const { outcome, kept, peak } = await costOf('broken groups')
  expect(outcome).toBe('opened')
  expect(kept).toBeLessThan(16 * BYTES)
  expect(peak).toBeLessThan(64 * BYTES + 32 * MIB)
})

async function costOf(kind: string): Promise<{ outcome: string; kept: number; peak: number }> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program, kind, `${BYTES}`])
  return JSON.parse(stdout)
}
