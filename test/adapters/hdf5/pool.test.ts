import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { isHyperslabError } from '../../../src/core/errors.ts'
import { Pool } from '../../../src/pool/pool.ts'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { digest, FORMATS, listOf, walkFile } from './support.ts'

const FOLDER = join(FORMATS, 'hdf5')
const MOST_ELEMENTS = 300_000
const pool = new Pool({ size: 2 })
const run = vi.spyOn(pool, 'run')
afterAll(() => pool.close())

type Outcomes = ReadonlyMap<string, string>

/** Reads and reduces all arrays; errors count as results. */
async function readAll(file: string, options: object): Promise<Outcomes> {
  await using root = await openHdf5(file, { external: true, ...options })
  const { arrays } = await walkFile(root)
  const found = new Map<string, string>()
  const note = async (name: string, work: () => Promise<string>): Promise<void> => {
    found.set(name, await work().catch((error: unknown) => {
      if (!isHyperslabError(error)) throw error
      return error.message
    })) // biome-ignore format: one line
  }
  for (const [path, array] of arrays) {
    if (array.size > MOST_ELEMENTS) continue
    await note(path, async () => digest(array.dtype, listOf(array.dtype, await array.get())))
    if (/^(u?int|float)/.test(array.dtype)) await note(`sum of ${path}`, async () => String(await array.sum()))
  }
  return found
}

test.each(readdirSync(FOLDER).sort())('%s: workers read and reduce what this thread does', async (name) => {
  const file = join(FOLDER, name)
  const alone = await readAll(file, {}).catch((error: Error) => error.message)
  expect(await readAll(file, { pool }).catch((error: Error) => error.message)).toEqual(alone)
})

test('workers have decoded chunks of local files', () => {
  const parts = run.mock.calls.filter(([packed]) => !(packed.input instanceof Uint8Array))
  expect(parts.length).toBeGreaterThan(50)
})
