import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FileStore } from '../../src/store/fs/file.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { raceWriters } from '../../src/testing/index.ts'
import { byBudget } from '../support/budget.ts'
import { folderInMemory } from '../support/folder.ts'

/** Few unless asked for. */
const ROUNDS = byBudget({ quick: 8, full: 30, soak: 2000 })

describe('twelve writers flush one container at the same time: each gets a number of its own, nothing is lost', () => {
  test('in memory', async () => {
    for (let seed = 0; seed < ROUNDS; seed++) {
      const store = new MemoryStore()
      expect(await raceWriters({ storeFor: () => store, path: 'a.af', seed })).toBeGreaterThan(0)
    }
  })

  test(
    'of files, every writer with a store of its own',
    async () => {
      for (let seed = 0; seed < ROUNDS; seed++) {
        const folder = await folderInMemory('race')
        expect(await raceWriters({ storeFor: () => new FileStore(), path: join(folder, 'a.af'), seed })).toBeGreaterThan(0)
        const names = await readdir(folder)
        expect(names.filter((name) => !/^a(\.\d+)?\.af$|^a\.stats$/.test(name))).toEqual([])
        await rm(folder, { recursive: true })
      }
    },
    120_000 + 1000 * ROUNDS,
  )
})
