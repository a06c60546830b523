import type { Store } from '../store/store.js'
import { type Conformance, equal, refused } from './check.js'
import { bytes, readableConformance } from './readable.js'

export type WritableStore = Store & Required<Pick<Store, 'list' | 'put' | 'delete' | 'stage'>>

export interface WritablePlace {
  /** An empty store, or one that is empty below `prefix`. */
  readonly store: WritableStore
  /** What keys must start with. */
  readonly prefix: string
}

type Check = (place: WritablePlace) => Promise<void>

const RACERS = 12

/**
 * What every store must do that reads and writes.
 * @param make called for each case; the store is closed at its end
 */
export function storeConformance(make: () => Promise<WritablePlace>): Conformance[] {
  const readable = readableConformance(async (content) => {
    const { store, prefix } = await make()
    const key = `${prefix}x.af`
    await store.put(key, content)
    return { store, key, missing: `${prefix}none.af`, replace: (other) => store.put(key, other) }
  })
  return [...readable, ...writableConformance(make)]
}

/** What every store must do that can be written. */
export function writableConformance(make: () => Promise<WritablePlace>): Conformance[] {
  return CASES.map(([name, check]) => ({
    name,
    run: async () => {
      const place = await make()
      try {
        await check(place)
      } finally {
        await place.store.close?.()
      }
    },
  }))
}

const emptyStore: Check = async ({ store, prefix }) => {
  equal(await store.list(`${prefix}none`), [])
  await store.delete(`${prefix}none`)
}

const wholeObjects: Check = async ({ store, prefix }) => {
  const given = bytes(1, 2, 3, 4, 5)
  await store.put(`${prefix}a.b`, given)
  given.fill(0)
  await store.put(`${prefix}a.c`, bytes())
  await store.put(`${prefix}b`, bytes(9))
  equal((await store.stat(`${prefix}a.b`))!.size, 5)
  equal(await store.getRange(`${prefix}a.b`, 1, 3), bytes(2, 3, 4))
  equal(await store.getRange(`${prefix}a.c`, 0, 0), bytes())
  equal((await store.list(`${prefix}a.`)).sort(), [`${prefix}a.b`, `${prefix}a.c`])
  await store.delete(`${prefix}a.b`)
  equal(await store.stat(`${prefix}a.b`), undefined)
  equal(await store.list(`${prefix}a.`), [`${prefix}a.c`])
}

const stageIsInvisible: Check = async ({ store, prefix }) => {
  const key = `${prefix}x.af`
  const stage = await store.stage(key)
  await stage.append(bytes(1, 2))
  await stage.append(bytes(3))
  equal(stage.size, 3)
  equal(await stage.read(1, 2), bytes(2, 3))
  equal(await store.stat(key), undefined)
  const { size, etag } = await stage.publish(key, bytes(9, 9), { ifAbsent: true })
  equal(size, 5)
  equal(await store.getRange(key, 0, 5, { ifMatch: etag }), bytes(1, 2, 3, 9, 9))
  await stage.discard()
  equal(await store.list(prefix), [key])
}

const takenKey: Check = async ({ store, prefix }) => {
  await store.put(`${prefix}x`, bytes(7))
  const stage = await store.stage(`${prefix}x`)
  await stage.append(bytes(1))
  await refused(stage.publish(`${prefix}x`, bytes(5, 5, 5), { ifAbsent: true }), 'ConflictError')
  equal(await store.getRange(`${prefix}x`, 0, 1), bytes(7))
  await stage.append(bytes(2))
  await stage.publish(`${prefix}y`, bytes(6), { ifAbsent: true })
  await stage.discard()
  equal(await store.getRange(`${prefix}y`, 0, 3), bytes(1, 2, 6))
  equal((await store.stat(`${prefix}y`))!.size, 3)
}

const replaces: Check = async ({ store, prefix }) => {
  await store.put(`${prefix}x`, bytes(7, 7, 7))
  const stage = await store.stage(`${prefix}x`)
  await stage.publish(`${prefix}x`, bytes(1), { ifAbsent: false })
  equal((await store.stat(`${prefix}x`))!.size, 1)
  await stage.discard()
  equal(await store.list(prefix), [`${prefix}x`])
}

const discardLeavesNothing: Check = async ({ store, prefix }) => {
  const stage = await store.stage(`${prefix}x`)
  await stage.append(bytes(1, 2, 3))
  await stage.discard()
  await stage.discard()
  equal(await store.list(prefix), [])
}

const oneWins: Check = async ({ store, prefix }) => {
  const key = `${prefix}x`
  const stages = await Promise.all(Array.from({ length: RACERS }, () => store.stage(key)))
  for (const [i, stage] of stages.entries()) await stage.append(bytes(i))
  const outcomes = await Promise.allSettled(stages.map((stage) => stage.publish(key, bytes(99), { ifAbsent: true })))
  const winners = [...stages.keys()].filter((i) => outcomes[i]!.status === 'fulfilled')
  equal(winners.length, 1)
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') await refused(Promise.reject(outcome.reason), 'ConflictError')
  equal(await store.getRange(key, 0, 2), bytes(winners[0]!, 99))
  for (const stage of stages) await stage.discard()
  equal(await store.list(prefix), [key])
}

const CASES: readonly (readonly [string, Check])[] = [
  ['there is nothing in an empty store', emptyStore],
  ['put, stat, ranges, list, delete', wholeObjects],
  ['a stage is invisible until published, can be read back, and then is one object', stageIsInvisible],
  ['publishing if absent leaves what is there, and the stage can go elsewhere', takenKey],
  ['publishing over an object replaces it', replaces],
  ['a discarded stage leaves nothing', discardLeavesNothing],
  [`of ${RACERS} who publish one key exactly one wins`, oneWins],
]
