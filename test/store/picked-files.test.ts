import { File } from 'node:buffer'
import { expect, test } from 'vitest'
import { MemoryStore, open } from '../../src/runtime/index.ts'
import { createWithBase } from '../support/containers.ts'

/** Files as a page gets them of a user who has picked a container of three layers. */
async function picked(): Promise<Map<string, File>> {
  const store = new MemoryStore()
  await using file = await createWithBase({ store, path: 'a.af' })
  const x = file.createArray('x', { dtype: 'uint8', shape: [3], chunks: [1] })
  await x.set(null, [1, 2, 3])
  await file.flush()
  await x.set([1], 9)
  await file.flush()
  const files = new Map<string, File>()
  for (const key of await store.list('')) {
    const bytes = (await store.getRange(key, 0, (await store.stat(key))!.size))!
    files.set(key, new File([bytes], key, { lastModified: 5 }))
  }
  return files
}

test('files that were picked together are one container; a base alone is what it holds, and says so', async () => {
  const files = await picked()
  expect([...files.keys()].sort()).toEqual(['a.1.af', 'a.2.af', 'a.af', 'a.stats'])
  for (const all of [[...files.values()], [...files.values()].reverse()]) {
    await using whole = await open(all)
    expect((await whole.array('x', 'uint8').get()).data).toEqual(Uint8Array.of(1, 9, 3))
    expect(whole.layers().map(({ file }) => file)).toEqual(['a.af', 'a.1.af', 'a.2.af'])
    expect(whole.warnings()).toEqual([])
  }
  await using some = await open([files.get('a.1.af')!, files.get('a.af')!])
  expect((await some.array('x', 'uint8').get()).data).toEqual(Uint8Array.of(1, 2, 3))
  await using base = await open(files.get('a.af')!)
  expect(base.arrays()).toEqual([])
  expect(base.warnings()).toEqual([expect.stringMatching(/^a\.af: was opened as one file: .* pass all files together$/)])
})

test('file handles, too', async () => {
  const handles = [...(await picked())].map(([name, file]) => ({
    kind: 'file' as const,
    name,
    getFile: async () => file as never,
  }))
  await using whole = await open(handles)
  expect((await whole.array('x', 'uint8').get()).data).toEqual(Uint8Array.of(1, 9, 3))
})

test('files of no or several containers are refused, by their names', async () => {
  const files = await picked()
  const other = new File(['x'], 'b.1.af')
  for (const wrong of [[], [files.get('a.1.af')!], [files.get('a.af')!, other], [files.get('a.af')!, files.get('a.af')!]]) {
    const names = wrong.map(({ name }) => name).join(', ') || 'none'
    await expect(open(wrong)).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
      message: expect.stringContaining(`got ${names}`),
    })
  }
  await expect(open(['a.af'] as never)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
})
