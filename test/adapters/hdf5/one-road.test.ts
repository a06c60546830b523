import { readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startScript } from '../../../scripts/python.mjs'
import type { Hdf5Group } from '../../../src/adapters/hdf5/group.ts'
import { isNumeric } from '../../../src/core/dtype.ts'
import { openDataset } from '../../../src/runtime/dataset.ts'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { open } from '../../../src/runtime/index.ts'
import { importPlace } from '../../../src/runtime/tree.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { sourceConformance } from '../../../src/testing/index.ts'
import { testAll } from '../../support/conformance.ts'
import { zarrPython } from '../../support/python.ts'
import { FORMATS, readOracle, startPython, walkFile } from './support.ts'

/** Files with chunks of every kind of index, contiguous and compact arrays, texts, fields and old headers. */
const FILES = ['made_index_latest.h5', 'made_index_v110.h5', 'made_index_v18.h5', 'made_groups_types.nc', 'made_20_variables.nc']
/** Elements up to which arrays are checked. */
const MOST_ELEMENTS = 20_000
/** Elements up to which arrays are reduced. */
const MOST_REDUCED = 2_000_000

const pathOf = (name: string): string => join(FORMATS, 'hdf5', name)
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-road-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Arrays of different shapes, types and chunks, up to some of a file. */
async function someArrays(name: string): Promise<string[]> {
  await using root = await openHdf5(pathOf(name))
  const kinds = new Map<string, string>()
  for (const [path, array] of (await walkFile(root)).arrays) {
    const { layout, filters } = array.index.dataset
    const kind = [
      array.dtype,
      array.shape.length,
      layout.kind,
      'index' in layout && layout.index.kind,
      filters.map(({ id }) => id),
    ]
    if (array.size <= MOST_ELEMENTS && array.size > 0) kinds.set(JSON.stringify(kind), path)
  }
  return [...kinds.values()].slice(0, 8)
}

describe.each(FILES)('sources of %s', async (name) => {
  const paths = await someArrays(name)
  expect(paths.length).toBeGreaterThan(1)
  describe.each(paths)('%s', (path) => {
    let root: Hdf5Group
    beforeAll(async () => {
      root = await openHdf5(pathOf(name))
    })
    afterAll(() => root.close())
    testAll(
      sourceConformance(async () => {
        const { source } = await root.array(path)
        return { source, content: await (await root.array(path)).toTensor() }
      }),
    )
  })
})

/** Largest relative difference of numbers or lists of them. */
function maximumError(a: unknown, b: unknown): number {
  const list = (value: unknown): readonly number[] =>
    typeof value === 'number' ? [value] : Array.from((value as { data: ArrayLike<number> }).data)
  if (typeof a === 'string') return a === b ? 0 : 1
  const [own, other] = [list(a), list(b)]
  return Math.max(...own.map((value, i) => Math.abs(value - other[i]!) / Math.max(1e-300, Math.abs(other[i]!)) || 0))
}

describe('reductions', () => {
  test.each([
    ['made_groups_types.nc', undefined],
    ['made_index_latest.h5', undefined],
    ['made_20_variables.nc', 'var00'],
  ])('of %s have the bits of those of an imported container', async (name, chunked) => {
    await using root = await openHdf5(pathOf(name))
    // Units of a reduction depend on the chunks. Containers have those of one array here.
    const model = chunked === undefined ? undefined : await root.array(chunked)
    const chunks = model && Object.fromEntries(model.dimensionNames!.map((dim, axis) => [dim, model.chunks.chunkShape[axis]!]))
    const target = join(folder, `${basename(name)}.af`)
    await importPlace(pathOf(name), target, { ...(chunks && { chunks }) })
    await using file = await open(target)
    let compared = 0
    for (const imported of file.arrays()) {
      const [own, copy] = [await root.array(imported), file.array(imported)]
      if (!isNumeric(own.dtype) || own.size === 0 || own.size > MOST_REDUCED) continue
      if (JSON.stringify(own.chunks.chunkShape) !== JSON.stringify(copy.chunks.chunkShape)) continue
      compared++
      for (const axis of [undefined, 0])
        for (const op of ['sum', 'mean', 'min', 'max', 'std'] as const) {
          const options = { axis, ignoreStats: true } as const
          const tagOf = (error: { readonly tag?: string }): unknown => error.tag ?? error
          const [a, b] = await Promise.all([own, copy].map((array) => array[op](options).catch(tagOf)))
          // The last bits of deviations differ between formats, also with the same chunks.
          if (op === 'std') expect(maximumError(a, b), `${imported} std ${axis}`).toBeLessThan(1e-13)
          else expect(a, `${imported} ${op} ${axis}`).toEqual(b)
        }
    }
    expect(compared).toBeGreaterThan(2)
  })
})

/** A store that aborts an operation at one of its requests. Requests after that are never answered. */
class AbortingStore extends MemoryStore {
  requests = 0
  abortAt = Infinity
  controller = new AbortController()

  override async getRange(...args: Parameters<MemoryStore['getRange']>): ReturnType<MemoryStore['getRange']> {
    if (this.controller.signal.aborted) return new Promise(() => undefined)
    this.requests++
    if (this.requests === this.abortAt) this.controller.abort(new Error('enough'))
    // As a server does, it answers later.
    await new Promise((resolve) => setTimeout(resolve, 1))
    return super.getRange(...args)
  }
}

describe('aborting', () => {
  const USER_BLOCK_BYTES = 2 ** 21
  const OPERATIONS = {
    get: (root: Hdf5Group, path: string, signal: AbortSignal) =>
      root.array(path).then((array) => array.get(null as never, { signal })),
    sum: (root: Hdf5Group, path: string, signal: AbortSignal) => root.array(path).then((array) => array.sum({ signal })),
    blocks: async (root: Hdf5Group, path: string, signal: AbortSignal) => {
      for await (const _ of (await root.array(path)).blocks({ signal }));
    },
  }

  test.each(Object.entries(OPERATIONS))('%s ends within one request', async (_, operation) => {
    const bytes = new Uint8Array(readFileSync(pathOf('made_index_v18.h5')))
    // Behind a large block of the user, metadata are not in the first bytes.
    const moved = new Uint8Array(USER_BLOCK_BYTES + bytes.length)
    moved.set(bytes, USER_BLOCK_BYTES)
    await using whole = await openHdf5(bytes)
    const sizes = [...(await walkFile(whole)).arrays].filter(([, array]) => isNumeric(array.dtype))
    const [path] = sizes.sort(([, a], [, b]) => b.chunks.count - a.chunks.count)[0]!
    let aborted = 0
    for (const at of [1, 2, 3, 4, 5, 6, 9, 14, 20]) {
      const store = new AbortingStore()
      await store.put('x.h5', moved)
      await using root = await openHdf5({ store, path: 'x.h5' })
      await root.array(path)
      store.requests = 0
      store.abortAt = at
      const { signal } = store.controller
      const late = new Promise((resolve) => setTimeout(resolve, 3000, 'it waits for a request after the abort'))
      const result = await Promise.race([operation(root, path, signal).catch((error: unknown) => error), late])
      if (!signal.aborted) break
      aborted++
      expect(String(result), `aborted at request ${at}`).toContain('enough')
    }
    expect(aborted).toBeGreaterThan(2)
  })
})

/**
 * Files that are exported. Others have variables that the script does not compare: memory that was never
 * allocated, lists, and compounds.
 */
const EXPORTED = [...readOracle().keys()]
  .filter((name) => /\.nc4?$/.test(name) && !/f03tst_open_mem|made_groups_types|corrupt_magic/.test(name))
  .filter((name) => statSync(join(FORMATS, name)).size < 400_000)
  .slice(0, 10)

const started = startPython('xarray_datasets.py')
const original = 'python' in started ? started.python : undefined
const env = zarrPython()
const exported = env && startScript(fileURLToPath(new URL('xarray_datasets.py', import.meta.url)), env)

/** A dataset as the script describes it. */
interface Described {
  readonly error?: string
  readonly variables: Readonly<Record<string, { readonly dims: readonly string[]; readonly values: readonly unknown[] | null }>>
}

/** Integers of the file can be floats in the export, where some are missing. */
const numbersOf = (values: readonly unknown[] | null): unknown[] | null =>
  values?.map((value) => (typeof value === 'string' && value !== '' && !Number.isNaN(Number(value)) ? Number(value) : value)) ??
  null

describe.skipIf(original === undefined || exported === undefined)('an export to Zarr', () => {
  afterAll(() => {
    original?.close()
    exported?.close()
  })

  test.each(EXPORTED)('of %s has in xarray the values of the file', async (name) => {
    const target = join(folder, `${basename(name)}.zarr`)
    await using ds = await openDataset(join(FORMATS, name), { group: '/' })
    await ds.write(target)
    const expected = (await original!.ask({ file: join(FORMATS, name) })) as Described
    const actual = (await exported!.ask({ file: target, engine: 'zarr' })) as Described
    expect([expected.error, actual.error]).toEqual([undefined, undefined])
    const names = Object.keys(actual.variables)
    expect(names.sort()).toEqual(Object.keys({ ...ds.variables, ...ds.coords }).sort())
    for (const each of names) {
      const [a, b] = [actual.variables[each]!, expected.variables[each]!]
      expect([each, a.dims, numbersOf(a.values)]).toEqual([each, b.dims, numbersOf(b.values)])
    }
  })
})
