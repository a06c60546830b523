import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const SRC = fileURLToPath(new URL('../../../../src/', import.meta.url))

/** The files that load with one: types and what is imported when it is called do not. */
function loadedWith(entry: string): Set<string> {
  const found = new Set<string>()
  const visit = (file: string): void => {
    if (found.has(file) || !file.startsWith(SRC)) return
    found.add(file)
    const code = readFileSync(file, 'utf8')
    for (const [, specifier] of code.matchAll(/^(?:import|export)\s+(?!type\s)(?:[\w*{][^'";]*?\sfrom\s+)?'(\.[^']+)'/gm))
      visit(join(dirname(file), specifier!))
  }
  visit(join(SRC, entry))
  return new Set([...found].map((file) => relative(SRC, file)))
}

test.each(['runtime/zarr.ts', 'adapters/zarr/open.ts', 'tree/open-zarr.ts', 'runtime/dataset.ts', 'runtime/index.ts'])(
  'nothing of writing loads with %s',
  (entry) => {
    const loaded = [...loadedWith(entry)]
    expect(loaded).toContain(entry)
    expect(loaded.filter((file) => /zarr\/(write\/|create)/.test(file))).toEqual([])
  },
)

test('what writes loads with what creates', () => {
  expect([...loadedWith('adapters/zarr/create.ts')]).toContain('adapters/zarr/write/nodes.ts')
})
