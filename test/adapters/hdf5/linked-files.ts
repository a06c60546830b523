import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { startPython } from './support.ts'

/**
 * Writes files that lead to others, by h5py, before the tests of a file.
 * @returns Python; undefined if it is not there. `folder` returns the folder of the files
 */
export function linkedFiles(): { python: ReturnType<typeof pythonOf>; folder: () => string } {
  const python = pythonOf()
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hyperslab-linked-'))
    await python?.ask({ folder })
  }, 600_000)
  afterAll(async () => {
    python?.close()
    await rm(folder, { recursive: true, force: true })
  })
  return { python, folder: () => folder }
}

function pythonOf() {
  const started = startPython('other_files.py')
  return 'python' in started ? started.python : undefined
}
