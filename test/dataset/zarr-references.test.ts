import { execFile } from 'node:child_process'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startScript } from '../../scripts/python.mjs'
import { slice } from '../../src/runtime/index.ts'
import { findTree, LabelledTree, type ListedReferences, listReferences } from '../../src/runtime/tree.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { folderInMemory } from '../support/folder.ts'
import { zarrPython } from '../support/python.ts'
import { RudeServer } from '../support/rude-server.ts'

const env = zarrPython()
const python = env && startScript(fileURLToPath(new URL('references.py', import.meta.url)), env)
afterAll(() => python?.close())

/** Number of arrays that are referenced, and reasons for the others. */
const STORES: Readonly<Record<string, readonly [arrays: number, ...reasons: RegExp[]]>> = {
  'two.zarr': [38, /compressor_bz2: codec 'bz2' is not read here/, /array 'record\/a': .*fields of structures: export it/],
  'three.zarr': [
    27,
    /array 'cube': .*axes in the order 0, 2, 1, which Zarr 2 cannot express: export it/,
    /array 'sparse_seven': .*its unwritten chunks contain 7, and readers of Zarr would take it for missing/,
  ],
}

type Listing = ListedReferences & { readonly warnings: string; readonly path: string }

/** Lists the references of places, and writes them to a file. */
async function list(places: readonly string[], options: object = {}, names?: readonly string[]): Promise<Listing> {
  const warnings: string[] = []
  const trees: LabelledTree[] = []
  try {
    for (const place of places) trees.push(new LabelledTree(await (await findTree(place)).open({ ...(names && { names }) })))
    const listed = await listReferences(trees, { onWarning: (text) => warnings.push(text), ...options })
    const path = join(await folderInMemory('references'), 'refs.json')
    await writeFile(path, listed.text)
    return { ...listed, path, warnings: warnings.join('\n') }
  } finally {
    for (const { tree } of trees) await tree.close()
  }
}

const refsIn = ({ text }: ListedReferences): Record<string, unknown> => JSON.parse(text).refs

/** Asks Python for the elements of the arrays behind references. */
async function pythonReads(path: string, arrays: object): Promise<Record<string, unknown>> {
  const { error, found } = (await python!.ask({ path, arrays })) as { error?: string; found: Record<string, unknown> }
  expect(error).toBeUndefined()
  return found
}

describe.skipIf(env === undefined)('references to Zarr', () => {
  let folder: string
  beforeAll(async () => {
    folder = await folderInMemory('zarr-references')
    const script = fileURLToPath(new URL('zarr_stores.py', import.meta.url))
    await promisify(execFile)('python3', [script, ...Object.keys(STORES).map((name) => join(folder, name))], { env: env! })
  }, 60_000)

  test.for(Object.entries(STORES))(
    'to %s give equal values here and in Python, and name the other arrays',
    { timeout: 60_000 },
    async ([name, [count, ...reasons]]) => {
      const listed = await list([join(folder, name)])
      for (const reason of reasons) expect(listed.warnings).toMatch(reason)
      expect([listed.arrays, listed.warnings.split('\n').length >= reasons.length]).toEqual([count, true])
      await using original = await openZarr(join(folder, name), { kind: 'group' })
      await using group = await openZarr(listed.path, { kind: 'group' })
      expect(Object.fromEntries(group.attrs)).toEqual(Object.fromEntries(original.attrs))
      const names = Object.keys(refsIn(listed)).flatMap((key) => /^(.+)\/\.zarray$/.exec(key)?.[1] ?? [])
      for (const each of names) {
        const [before, after] = [await original.array(each), await group.array(each)]
        expect((await after.toTensor()).data, each).toEqual((await before.toTensor()).data)
        // A fill value of NaN is missing in version 2.
        if (each !== 'sparse_nan') expect(after.missing, each).toEqual(before.missing)
        expect([after.dtype, after.dimensionNames, after.attrs.get('note')]).toEqual([
          before.dtype,
          before.dimensionNames,
          before.attrs.get('note'),
        ])
      }
      const dims = Object.fromEntries(
        names.map((each) => [each, JSON.parse(refsIn(listed)[`${each}/.zattrs`] as string)._ARRAY_DIMENSIONS]),
      )
      const own = (await python!.ask({ path: join(folder, name), arrays: dims, isStore: true })) as {
        found: unknown
        error?: string
      }
      expect(own.error).toBeUndefined()
      expect(await pythonReads(listed.path, dims)).toEqual(own.found)
    },
  )

  test('name whole objects and parts of shards, and contain small chunks', async () => {
    const listed = await list([join(folder, 'three.zarr')], { inlineBytes: 0 })
    const refs = refsIn(listed)
    expect(refs['full_seven/0.0']).toEqual([join(folder, 'three.zarr/full_seven/c/0/0')])
    const shard = join(folder, 'three.zarr/sharded/c/0/0')
    expect(refs['sharded/1.2']).toEqual([shard, expect.any(Number), expect.any(Number)])
    expect((refs['sharded/0.0'] as unknown[])[0]).toBe(shard)
    // Unwritten chunks have no reference.
    expect(Object.keys(refs).filter((key) => /^sharded_sparse\/\d/.test(key))).toEqual(
      ['0.0', '0.1', '1.0', '1.1'].map((key) => `sharded_sparse/${key}`),
    )
    expect(Object.keys(refs).filter((key) => /^sparse_zero\/\d/.test(key))).toEqual(['sparse_zero/1.1'])
    const inlined = refsIn(await list([join(folder, 'three.zarr')]))
    expect(inlined['full_seven/0.0']).toMatch(/^base64:/)
  })

  test('join arrays along a dimension', { timeout: 60_000 }, async () => {
    const place = join(folder, 'three.zarr/joined')
    const { path } = await list([place, place], { dim: 'row' })
    await using original = await openZarr(place, { kind: 'array' })
    await using group = await openZarr(path, { kind: 'group' })
    const joined = await group.array('joined')
    expect(joined.shape).toEqual([12, 10])
    const { data } = await original.toTensor()
    for (const from of [0, 6]) expect((await joined.get([slice(from, from + 6), null])).data).toEqual(data)
    expect(Object.keys(await pythonReads(path, { joined: ['row', 'column'] }))).toEqual(['joined'])
    const other = list([join(folder, 'two.zarr/plain'), join(folder, 'two.zarr/plain')], { dim: 'y' })
    await expect(other).rejects.toMatchObject({ tag: 'UnsupportedError' })
  })

  test('of a server ask for each chunk, and leave out those that do not exist', async () => {
    const server = await RudeServer.start()
    try {
      const root = join(folder, 'three.zarr')
      for (const name of await readdir(root, { recursive: true }))
        if (name.startsWith('sparse_zero/') && !(await stat(join(root, name))).isDirectory())
          server.put(`three.zarr/${name}`, await readFile(join(root, name)))
      const listed = await list([`${server.origin}/three.zarr/sparse_zero`], { inlineBytes: 0 })
      const chunks = Object.entries(refsIn(listed)).filter(([key]) => /\d$/.test(key))
      expect(chunks).toEqual([['sparse_zero/1.1', [`${server.origin}/three.zarr/sparse_zero/c/1/1`]]])
      await using group = await openZarr(listed.path, { kind: 'group' })
      await using original = await openZarr(join(root, 'sparse_zero'), { kind: 'array' })
      expect((await (await group.array('sparse_zero')).toTensor()).data).toEqual((await original.toTensor()).data)
    } finally {
      await server.stop()
    }
  })

  test('are not written to archives and references, with what to do', async () => {
    const { path } = await list([join(folder, 'three.zarr/joined')])
    await expect(list([path])).rejects.toThrow('this is a list of references already: list the files that it names')
  })

  test('follow the folder that `urlOf` names', async () => {
    const place = join(folder, 'two.zarr')
    const listed = await list([place], {
      urlOf: (file: string) => `https://data.example.org/${file.split('/').at(-1)}`,
      inlineBytes: 0,
    })
    expect(refsIn(listed)['slashes/1.2']).toEqual(['https://data.example.org/two.zarr/slashes/1/2'])
    expect(refsIn(listed)['a group/in ä/0.0']).toEqual(['https://data.example.org/two.zarr/a%20group/in%20%C3%A4/0.0'])
  })
  test('of a server have names without escapes in a bucket', async () => {
    const server = await RudeServer.start()
    try {
      const root = join(folder, 'two.zarr')
      for (const name of [
        '.zgroup',
        'a group/.zgroup',
        ...(await readdir(join(root, 'a group/in ä'))).map((each) => `a group/in ä/${each}`),
      ])
        server.put(`two.zarr/${name.split('/').map(encodeURIComponent).join('/')}`, await readFile(join(root, name)))
      const options = { urlOf: () => 's3://bucket/two.zarr', inlineBytes: 0 }
      const refs = refsIn(await list([`${server.origin}/two.zarr`], options, ['a group/in ä']))
      expect(refs['a group/in ä/2.2']).toEqual(['s3://bucket/two.zarr/a group/in ä/2.2'])
    } finally {
      await server.stop()
    }
  })
})
