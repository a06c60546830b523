import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { HyperslabError } from '../src/core/errors.ts'
import { openDataset } from '../src/runtime/dataset.ts'
import { create, DiskArray, MemoryStore, open, slice } from '../src/runtime/index.ts'
import { openZarr } from '../src/runtime/zarr.ts'

type Run = (...values: unknown[]) => Promise<unknown>
const AsyncFunction = (async () => undefined).constructor as new (...code: string[]) => Run

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
/** A section for each tag, with what brings it about, where that takes a few lines. */
const sections = read('../docs/errors.md').split(/^## /m).slice(1)
const examples = sections.flatMap((section) => {
  const [, code, message] = /```js\n([\s\S]*?)\n\/\/ (.*)\n```/.exec(section) ?? []
  return code === undefined ? [] : [{ tag: section.split('\n')[0]!, code, message: message! }]
})

test('there is a section for each kind of error', () => {
  const [, tags] = /export type ErrorTag =\n([\s\S]*?)\n\n/.exec(read('../src/core/errors.ts'))!
  expect(sections.map((section) => section.split('\n')[0])).toEqual([...tags!.matchAll(/'(\w+)'/g)].map(([, tag]) => tag))
  expect(examples.length).toBe(sections.length - 4)
})

test.each(examples)('$tag: the example throws it, with the message that is shown', async ({ tag, code, message }) => {
  await using file = await create({ store: new MemoryStore(), path: 'a.af' })
  file.createArray('tas', { dtype: 'float32', shape: [12, 4], dimensionNames: ['time', 'lat'] })
  await file.flush()
  const names = { file, open, create, slice, MemoryStore, DiskArray, openDataset, openZarr }
  const run = new AsyncFunction(...Object.keys(names), code)
  const error = await run(...Object.values(names)).then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(HyperslabError)
  expect([(error as HyperslabError).tag, (error as HyperslabError).message]).toEqual([tag, message])
})
