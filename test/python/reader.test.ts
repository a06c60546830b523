import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Python, startScript } from '../../scripts/python.mjs'
import type { ArrayFile } from '../../src/af/file.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { type AttributeValue, create, MemoryStore, open, type Tensor } from '../../src/runtime/index.ts'
import { readWhole } from '../../src/store/whole.ts'
import { histories, runHistory } from '../af/history/histories.ts'
import { byBudget, timeLimit } from '../support/budget.ts'
import { pythonWith, zarrPython } from '../support/python.ts'

/** Other packages decode in each; the modules named beside them are hidden from it. */
const ENVIRONMENTS = {
  'lz4 and zstandard': [pythonWith(['numpy==2.4.6', 'lz4==4.4.5', 'zstandard==0.25.0']), []],
  numcodecs: [zarrPython(), []],
  'numpy alone': [
    pythonWith(['numpy==2.4.6', 'lz4==4.4.5', 'zstandard==0.25.0']),
    ['lz4', 'zstandard', 'numcodecs', 'compression'],
  ],
} as const
const have = Object.values(ENVIRONMENTS).every(([env]) => env !== undefined)

const SCRIPT = fileURLToPath(new URL('reader.py', import.meta.url))
const FIXTURES_6 = fileURLToPath(new URL('../fixtures/af6', import.meta.url))
const FIXTURES = fileURLToPath(new URL('../fixtures/af', import.meta.url))

const readers = new Map<string, Python>()
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-python-'))
  if (!have) return
  for (const [name, [env, hidden]] of Object.entries(ENVIRONMENTS)) readers.set(name, startScript(SCRIPT, env!, hidden))
})
afterAll(async () => {
  for (const reader of readers.values()) reader.close()
  await rm(folder, { recursive: true })
})

/** As reader.py writes it: numbers by the bits of a double, integers of 64 bits as text. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'boolean') return plain(Number(value))
  if (typeof value === 'number') {
    const bits = Buffer.alloc(8)
    bits.writeDoubleBE(value)
    return { bits: Number.isNaN(value) ? 'nan' : bits.toString('hex') }
  }
  if (value instanceof Uint8Array) return { hex: Buffer.from(value).toString('hex') }
  return value
}

/** Typed arrays of attributes are lists of numbers, but for bytes. */
const plainAttribute = ({ type, value }: AttributeValue): unknown =>
  Array.isArray(value)
    ? value.map(plain)
    : ArrayBuffer.isView(value) && type !== 'binary'
      ? Array.from(value as never, plain)
      : plain(value)

const plainAttributes = (attrs: ArrayFile['attrs']): Record<string, unknown> =>
  Object.fromEntries(Array.from(attrs.keys(), (name) => [name, plainAttribute(attrs.typed(name)!)]))

/** All that is in a container, as it is read here. */
async function contentOf(file: ArrayFile): Promise<object> {
  const arrays: Record<string, object> = {}
  for (const name of file.arrays()) {
    const array = file.array(name)
    const data =
      array.shape.length === 0 ? [await array.get()] : ((await array.get(array.shape.map(() => null) as [null])) as Tensor).data
    arrays[name] = {
      dtype: array.dtype,
      shape: array.shape,
      dims: array.dimensionNames,
      fill: array.fillValue === undefined ? null : plain(array.fillValue),
      attrs: plainAttributes(array.attrs),
      data: Array.from(data as never, plain),
    }
  }
  return { attrs: plainAttributes(file.attrs), arrays }
}

describe.skipIf(!have)('the reader for Python', () => {
  test.each(Object.keys(ENVIRONMENTS))('reads files of the Rust crate, with %s', async (name) => {
    let [read, refused] = [0, 0]
    for (const found of await readdir(FIXTURES, { recursive: true })) {
      if (!found.endsWith('.af') || /\.\d+\.af$/.test(found)) continue
      const path = join(FIXTURES, found)
      const answer = await readers.get(name)!.ask({ path })
      const expected = await open(path)
        .then(
          async (file) => contentOf(file).finally(() => file.close()),
          (error: unknown) => ({ error }),
        )
        .catch((error: unknown) => ({ error }))
      if ('error' in expected) {
        expect(isHyperslabError(expected.error), found).toBe(true)
        expect(answer, found).toEqual({ error: expect.stringContaining(relative(FIXTURES, path).replace(/\.af$/, '')) })
        refused++
      } else if (name === 'numpy alone' && /zstd/.test(found)) {
        expect(answer.error).toContain('install the package zstandard')
        refused++
      } else {
        expect(answer, found).toEqual(expected)
        read++
      }
    }
    expect([read, refused]).toEqual(name === 'numpy alone' ? [11, 9] : [12, 8])
  })

  test.each(Object.keys(ENVIRONMENTS))('reads files of footer version 6, and refuses damaged ones, with %s', async (name) => {
    let [read, refused, coded] = [0, 0, 0]
    for (const found of await readdir(FIXTURES_6, { recursive: true })) {
      if (!found.endsWith('.af')) continue
      const path = join(FIXTURES_6, found)
      const expected = await open(path)
        .then(
          async (file) => contentOf(file).finally(() => file.close()),
          (error: unknown) => ({ error }),
        )
        .catch((error: unknown) => ({ error }))
      // Statistics, which nothing reads here, may be wrong.
      if (/hostile\/stats/.test(found)) continue
      const answer = await readers.get(name)!.ask({ path })
      if ('error' in expected) {
        expect(answer, found).toEqual({ error: expect.any(String) })
        refused++
      } else if (name === 'numpy alone' && String(answer.error).includes('install the package zstandard')) coded++
      else {
        expect(answer, found).toEqual(expected)
        read++
      }
    }
    expect([Math.min(read + coded, 17), Math.min(refused, 40)]).toEqual([17, 40])
    // Some of the files have blocks that plain Python does not decode.
    expect([coded > 0, read > 8]).toEqual([name === 'numpy alone', true])
  })

  test('reads a file of footer version 6 beside files that are named like its sidecars, and refuses a lost layer', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hyperslab-'))
    const path = join(folder, 'x.af')
    const sealed = await readFile(join(FIXTURES_6, 'basic.af'))
    await writeFile(path, sealed)
    await writeFile(join(folder, 'x.1.af'), 'no container at all')
    for (const reader of readers.values()) {
      await using file = await open(path)
      expect(await reader.ask({ path })).toEqual(await contentOf(file))
    }
    await rm(path)
    await rm(join(folder, 'x.1.af'))
    await using layered = await create(path)
    const x = layered.createArray('x', { dtype: 'int16', shape: [2] })
    for (const value of [1, 2, 3]) {
      await x.fill(value)
      await layered.flush()
    }
    await writeFile(join(folder, 'x.1.af'), sealed)
    const error = expect.stringContaining('layer 1 is lost')
    for (const reader of readers.values()) expect(await reader.ask({ path })).toEqual({ error })
    await rm(folder, { recursive: true })
  })

  test('tells layers that count from those that do not', async () => {
    const layers: Record<string, (store: MemoryStore) => Promise<number[]>> = {
      resized: async (store) => {
        await using file = await create({ store, path: 'a.af' })
        const x = file.createArray('x', { dtype: 'int16', shape: [4], chunks: [2] })
        await x.set(null, [1, 2, 3, 4])
        await file.flush()
        await x.resize([7])
        await file.flush()
        await x.set([6], 7)
        await file.flush()
        return [1, 2, 3, 4, 0, 0, 7]
      },
      'defined anew as it was': async (store) => {
        await using file = await create({ store, path: 'a.af' })
        const options = { dtype: 'int16', shape: [4], chunks: [2] } as const
        await file.createArray('x', options).set(null, [1, 2, 3, 4])
        await file.flush()
        file.delete('x')
        await file.createArray('x', options).set([0], 5)
        await file.flush()
        return [5, 0, 0, 0]
      },
      'left over from an earlier base': async (store) => {
        await using file = await create({ store, path: 'a.af' })
        const x = file.createArray('x', { dtype: 'int16', shape: [4], chunks: [2] })
        await file.flush()
        await x.set([0], 1)
        await file.flush()
        const sidecar = (await readWhole(store, 'a.1.af'))!.bytes
        await x.set([0], 2)
        await file.flush()
        await file.compact()
        await store.put('a.1.af', sidecar)
        return [2, 0, 0, 0]
      },
      'merged from another program': async (store) => {
        for (const [name, key] of [['t.af', 'a.af'], ['t.1.af', 'a.1.af']] as const) // biome-ignore format: one line
          await store.put(key, await readFile(join(FIXTURES, 'basic', name)))
        await using file = await open({ store, path: 'a.af' })
        await file.array('temperature').set([0], 9)
        await file.flush()
        await file.compact()
        await store.put('a.1.af', await readFile(join(FIXTURES, 'basic/t.1.af')))
        return [9, 2, 3, 4]
      },
    }
    for (const [name, make] of Object.entries(layers)) {
      const store = new MemoryStore()
      const values = await make(store)
      await copyFiles(store, join(folder, name))
      await using file = await open({ store, path: 'a.af' })
      const expected = await contentOf(file)
      for (const reader of readers.values()) {
        const answer = await reader.ask({ path: join(folder, `${name}.a.af`) })
        expect(answer, name).toEqual(expected)
        expect((Object.values(answer.arrays)[0] as { data: unknown }).data, name).toEqual(values.map(plain))
      }
    }
  })

  test('reads every layer of any history', { timeout: timeLimit(300_000) }, async () => {
    let count = 0
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const { model, real } = await runHistory(history)
        for (const file of real.files) await file.close()
        const place = join(folder, String(count++))
        await copyFiles(real.where.store, place)
        for (const layer of model.past.keys()) {
          await using file = await open(real.where, { layer })
          const reader = [...readers.values()][count % readers.size]!
          expect(await reader.ask({ path: `${place}.a.af`, layer })).toEqual(await contentOf(file))
        }
      }),
      { numRuns: byBudget({ quick: 20, full: 150, soak: 5000 }), endOnFailure: true },
    )
  })
})

/** The files of a container to a folder, where all names begin alike. */
async function copyFiles(store: MemoryStore, place: string): Promise<void> {
  for (const key of await store.list('')) await writeFile(`${place}.${key}`, (await readWhole(store, key))!.bytes)
}
