import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import type { GeotiffImage } from '../../../src/adapters/geotiff/image.ts'
import { isHyperslabError } from '../../../src/core/errors.ts'
import { Pool } from '../../../src/pool/pool.ts'
import { openGeotiff } from '../../../src/runtime/geotiff.ts'
import { digest, FORMATS, listOf } from '../hdf5/support.ts'

const FOLDER = join(FORMATS, 'tiff')
const MOST_ELEMENTS = 1_500_000
const pool = new Pool({ size: 2 })
const run = vi.spyOn(pool, 'run')
afterAll(() => pool.close())

/** Reads and reduces all images, levels and masks; errors count as results. */
async function readAll(path: string, options: object): Promise<ReadonlyMap<string, string>> {
  await using file = await openGeotiff(path, options)
  const found = new Map<string, string>()
  const note = async (name: string, work: () => Promise<string>): Promise<void> => {
    found.set(name, await work().catch((error: unknown) => {
      if (!isHyperslabError(error)) throw error
      return error.message
    })) // biome-ignore format: one line
  }
  const images: GeotiffImage[] = file.images
    .flatMap((image) => image.levels())
    .flatMap((image) => [image, ...(image.mask ? [image.mask] : [])])
  for (const image of images) {
    if (image.error !== undefined || image.array.size > MOST_ELEMENTS) continue
    const { array, name } = image
    await note(name, async () => digest(array.dtype, listOf(array.dtype, await array.get())))
    await note(`sum of ${name}`, async () => String(await array.sum()))
  }
  return found
}

test.each(readdirSync(FOLDER).sort())('%s: workers read and reduce what this thread does', async (name) => {
  const path = join(FOLDER, name)
  const alone = await readAll(path, {})
  expect(await readAll(path, { pool })).toEqual(alone)
})

test('workers have decoded tiles of local files', () => {
  const parts = run.mock.calls.filter(([packed]) => !(packed.input instanceof Uint8Array))
  expect(parts.length).toBeGreaterThan(50)
})
