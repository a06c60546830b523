import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { isHyperslabError } from '../../src/core/errors.ts'
import { FileStore } from '../../src/store/fs/file.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { R2Store } from '../../src/store/r2.ts'
import type { Store } from '../../src/store/store.ts'
import { type ContainerRace, FaultStore, raceContainer, type SeededFaultsOptions, seededFaults } from '../../src/testing/index.ts'
import { byBudget } from '../support/budget.ts'
import { folderInMemory } from '../support/folder.ts'
import { MemoryBucket } from '../support/r2-bucket.ts'
import { Scheduler } from '../support/scheduler.ts'

/**
 * Rounds of races. Each has five schedules in memory, two on R2, one on files and five with faults, and takes
 * seconds.
 */
const ROUNDS = byBudget({ quick: 1, full: 8, soak: 200 })
vi.setConfig({ testTimeout: 60_000 * (1 + ROUNDS) })

const FAULTS: SeededFaultsOptions = { rate: 0.03, kinds: ['error', 'lost', 'late'] }

/** Two to five writers, by the seed. */
const writersOf = (seed: number): number => 2 + (seed % 4)

/**
 * Runs races with seeds from 0; fails at the first in which anything went wrong, and when there was never a
 * conflict.
 */
async function race(rounds: number, run: (seed: number) => Promise<ContainerRace>): Promise<void> {
  let conflicts = 0
  for (let seed = 0; seed < rounds; seed++) {
    const { problems, lost, half, unreadable, ...counts } = await run(seed)
    expect({ seed, problems, lost, half, unreadable }).toEqual({ seed, problems: [], lost: 0, half: 0, unreadable: 0 })
    conflicts += counts.conflicts
  }
  expect(conflicts).toBeGreaterThan(0)
}

test('writers, compactors and readers in memory, in any order of operations: nothing is lost', async () => {
  await race(5 * ROUNDS, (seed) => {
    const [scheduler, store] = [new Scheduler(seed), new MemoryStore()]
    return raceContainer({ storeFor: () => scheduler.over(store), path: 'a.af', seed, writers: writersOf(seed) })
  })
})

test('writers, compactors and readers of a bucket that removes nothing on condition, in any order of operations: nothing is lost', async () => {
  await race(2 * ROUNDS, (seed) => {
    const [scheduler, store] = [new Scheduler(seed), new R2Store(new MemoryBucket(), { retryDelay: 1 })]
    return raceContainer({ storeFor: () => scheduler.over(store), path: 'a.af', seed, writers: writersOf(seed) })
  })
})

test('writers, compactors and readers of files lose nothing, in any order of operations', async () => {
  const folder = await folderInMemory('race')
  try {
    await race(ROUNDS, (seed) => {
      const [scheduler, path] = [new Scheduler(seed), join(folder, `${seed}.af`)]
      return raceContainer({ storeFor: () => scheduler.over(new FileStore()), path, seed, writers: writersOf(seed) })
    })
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('requests that fail, lose their answers or are carried out late lose nothing', async () => {
  await race(5 * ROUNDS, (seed) => {
    const [scheduler, inner] = [new Scheduler(seed), new MemoryStore()]
    let opened = 0
    const storeFor = (participant: number): Store => {
      const store = scheduler.over(inner)
      if (participant < 0) return store
      // Other faults each time, as the same would come again at each attempt.
      return new FaultStore(store, { faults: seededFaults(1000 * seed + opened++, FAULTS) })
    }
    const transient = (error: unknown): boolean => isHyperslabError(error, 'StoreError')
    return raceContainer({ storeFor, path: 'a.af', seed, writers: writersOf(seed), transient })
  })
})
