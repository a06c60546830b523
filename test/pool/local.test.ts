import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { create, createPool, type FileOptions, FileStore, open } from '../../src/runtime/index.ts'
import { numbered } from '../support/arbitraries.ts'
import { plainGet } from '../support/oracle.ts'
import { containers } from './support.ts'

const folder = mkdtempSync(join(tmpdir(), 'hyperslab-local-'))
const pool = createPool({ size: 2 })
afterAll(async () => {
  await pool.close()
  rmSync(folder, { recursive: true })
})

/** Counts what the calling thread reads. */
class CountingStore extends FileStore {
  reads = 0

  override getRange(...args: Parameters<FileStore['getRange']>): ReturnType<FileStore['getRange']> {
    this.reads++
    return super.getRange(...args)
  }
}

const VALUES = Float64Array.from({ length: 4000 }, (_, i) => i % 977)
const SUM = VALUES.reduce((sum, value) => sum + value)

/** A container of ten blocks. */
async function write(name: string, values: Float64Array): Promise<string> {
  const path = join(folder, name)
  await using file = await create(path, { blockBytes: 3200 })
  await file.createArray('x', { dtype: 'float64', shape: [4000], chunks: [200] }).set(null, values)
  await file.flush()
  return path
}

let path: string
beforeAll(async () => {
  path = await write('a.af', VALUES)
})

test('blocks of a local file are read by the workers', async () => {
  const store = new CountingStore()
  await using file = await open({ store, path }, { pool })
  const array = file.array('x', 'float64')
  const opened = store.reads
  expect(await array.mean({ ignoreStats: true })).toBeCloseTo(SUM / 4000, 12)
  expect([...(await array.get()).data]).toEqual([...VALUES])
  expect(await array.get([3999])).toBe(VALUES[3999])
  expect(store.reads - opened).toBe(0)
  expect(file.readCost.blocks).toBe(21)
})

test('reading local files with a pool equals the oracle and fetches what is fetched without', async () => {
  let count = 0
  await fc.assert(
    fc.asyncProperty(containers, async ({ shape, grid, selection, codec, blockBytes, segmentBytes, cacheBytes }) => {
      const place = join(folder, `${++count}.af`)
      const plain = numbered('int32', shape)
      await using writer = await create(place, { codec, blockBytes, segmentBytes })
      await writer.createArray('x', { dtype: 'int32', shape, chunks: grid.chunkShape }).set(null, plain.data)
      await writer.flush()
      const read = async (options: FileOptions): Promise<unknown[]> => {
        await using file = await open(place, { cacheBytes, ...options })
        const array = file.array('x', 'int32')
        const results: unknown[] = [await array.get(selection), await array.get(selection)]
        return [results.map((result) => (result as { data?: Iterable<number> }).data ?? [result]), file.readCost]
      }
      const expected = plainGet(plain, selection).data
      const [values, cost] = (await read({ pool })) as [Iterable<number>[], unknown]
      expect(values.map((data) => [...data])).toEqual([[...expected], [...expected]])
      expect(cost).toEqual((await read({}))[1])
    }),
    { numRuns: 60 },
  )
})

test('a file that was replaced is read as it was opened', async () => {
  const old = await write('b.af', VALUES)
  const layer = old
  await using file = await open(old, { pool })
  const other = await write(
    'c.af',
    VALUES.map((value) => -value),
  )
  renameSync(other, layer)
  expect(await file.array('x').mean({ ignoreStats: true })).toBeCloseTo(SUM / 4000, 12)
  await using again = await open(old, { pool })
  expect(await again.array('x').mean({ ignoreStats: true })).toBeCloseTo(-SUM / 4000, 12)
})

test('damage is reported as it is without workers', async () => {
  const damaged = await write('d.af', VALUES)
  const layer = damaged
  const bytes = readFileSync(layer)
  bytes[100]! ^= 1
  writeFileSync(layer, bytes)
  const failure = async (options: FileOptions): Promise<unknown> => {
    await using file = await open(damaged, options)
    return await file
      .array('x')
      .mean({ ignoreStats: true })
      .catch(({ tag, message, details }) => ({ tag, message, details }))
  }
  const inline = await failure({})
  expect(inline).toMatchObject({ tag: 'IntegrityError', details: { file: layer, array: 'x' } })
  expect(await failure({ pool })).toEqual(inline)
})
