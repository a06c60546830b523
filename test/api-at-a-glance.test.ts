import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
// @ts-expect-error plain JavaScript, a step of the build
import { glance } from '../scripts/api-at-a-glance.mjs'
import * as dataset from '../src/runtime/dataset.ts'
import * as hyperslab from '../src/runtime/index.ts'
import * as plans from '../src/runtime/plan.ts'

const root = new URL('..', import.meta.url).pathname

test('docs/api.md lists every public function, class and method, as the sources describe them', { timeout: 120_000 }, () => {
  const page = readFileSync(join(root, 'docs/api.md'), 'utf8')
  // `npm run docs:glance` writes the page.
  expect(page).toBe(glance())
  const rowOf = (name: string) => page.includes(`| **\`${name}\`** |`) || page.includes(`| **\`${name}()\`** |`)
  for (const module of [hyperslab, dataset, plans]) expect(Object.keys(module).filter((name) => !rowOf(name))).toEqual([])
  const methods = Object.getOwnPropertyNames(hyperslab.DiskArray.prototype).filter(
    (name) => typeof Object.getOwnPropertyDescriptor(hyperslab.DiskArray.prototype, name)!.value === 'function',
  )
  const missing = methods.filter((name) => name !== 'constructor' && !page.includes(`| \`DiskArray.${name}()\` |`))
  expect([methods.length > 45, missing]).toEqual([true, []])
})
