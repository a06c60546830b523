import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ArrayFile } from '../../src/af/file.js'
import { isHyperslabError } from '../../src/core/errors.js'
import { FileStore } from '../../src/store/file.js'
import { MemoryStore } from '../../src/store/memory.js'
import type { Store } from '../../src/store/store.js'

const WRITERS = 12
/** Few unless asked for: on disk a round takes a third of a second. */
const ROUNDS = Number(process.env['HYPERSLAB_RACE_ROUNDS'] ?? 20)

/** Writes one element and flushes, again after each conflict; returns how many conflicts there were. */
async function writeOwn(file: ArrayFile, index: number): Promise<number> {
  await file.array('x').set([index], index + 1)
  for (let conflicts = 0; ; conflicts++) {
    const error = await file.flush().catch((reason: unknown) => reason)
    if (error === undefined) return conflicts
    expect(isHyperslabError(error, 'ConflictError')).toBe(true)
    await file.refresh()
  }
}

/** @param order the writers in the order in which they start */
async function race(storeFor: (writer: number) => Store, path: string, order: readonly number[]): Promise<void> {
  const creator = await ArrayFile.create(storeFor(-1), path)
  // Several elements a chunk: neighbours write the same chunk and must not undo each other.
  creator.define('x', { dtype: 'uint8', shape: [WRITERS], chunkShape: [5] })
  await creator.flush()
  await creator.close()
  const files = await Promise.all(order.map((writer) => ArrayFile.open(storeFor(writer), path)))
  const conflicts = await Promise.all(order.map((writer, i) => writeOwn(files[i]!, writer)))
  expect(conflicts.some((count) => count > 0)).toBe(true)
  const reader = await ArrayFile.open(storeFor(-1), path)
  expect((await reader.array('x', 'uint8').get()).data).toEqual(Uint8Array.from({ length: WRITERS }, (_, i) => i + 1))
  expect(reader.layers().map(({ number }) => number)).toEqual(Array.from({ length: WRITERS + 2 }, (_, i) => i))
  expect(await reader.stats('x')).toEqual({ min: 1, max: WRITERS, nullCount: 0, rowCount: WRITERS })
  for (const file of [...files, reader]) await file.close()
}

const orders = fc.shuffledSubarray([...Array(WRITERS).keys()], { minLength: WRITERS })

describe('twelve writers flush one container at the same time: each gets a number of its own, nothing is lost', () => {
  test('in memory', async () => {
    await fc.assert(
      fc.asyncProperty(orders, async (order) => {
        const store = new MemoryStore()
        await race(() => store, 'a.af', order)
      }),
      { numRuns: ROUNDS },
    )
  })

  test('on disk, every writer with a store of its own', async () => {
    await fc.assert(
      fc.asyncProperty(orders, async (order) => {
        const folder = await mkdtemp(join(tmpdir(), 'hyperslab-race-'))
        await race(() => new FileStore(), join(folder, 'a.af'), order)
        const names = await readdir(folder)
        expect(names.filter((name) => !/^a(\.\d+)?\.af$|^a\.stats$/.test(name))).toEqual([])
        await rm(folder, { recursive: true })
      }),
      { numRuns: ROUNDS },
    )
  })
})
