import type { WritableStore } from '../store/store.ts'
import { type Conformance, equal, refused } from './check.ts'
import { bytes, readableConformance } from './readable.ts'

/** A store that lists and writes, as containers and Zarr need it. */
export type ListedStore = WritableStore & Required<Pick<WritableStore, 'list'>>

/** A store to test, with the place of its objects. */
export interface WritablePlace {
  /** Store that is empty, at least below `prefix`. */
  readonly store: ListedStore
  /** Text that keys must start with. */
  readonly prefix: string
}

type Check = (place: WritablePlace) => Promise<void>

const RACERS = 12
const REPLACERS = 8

/**
 * Returns the requirements for every store that reads and writes.
 * @param make called for each case; the store is closed afterwards
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

/** Returns the requirements for writing to a store. */
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

const preparedStage: Check = async ({ store, prefix }) => {
  const [key, tail] = [`${prefix}x`, bytes(9, 9)]
  const stage = await store.stage(key)
  await stage.append(bytes(1))
  await stage.prepare?.(key, tail)
  equal(await store.stat(key), undefined)
  equal(await stage.read(0, 1), bytes(1))
  await stage.publish(key, tail, { ifAbsent: true })
  equal(await store.getRange(key, 0, 3), bytes(1, 9, 9))
  // `publish` works even if its arguments differ from those of `prepare`.
  await stage.prepare?.(`${prefix}y`, tail)
  await stage.publish(`${prefix}y`, bytes(8), { ifAbsent: true })
  await stage.prepare?.(`${prefix}z`, tail)
  await stage.append(bytes(2))
  await stage.publish(`${prefix}z`, tail, { ifAbsent: true })
  await stage.discard()
  equal(await store.getRange(`${prefix}y`, 0, 2), bytes(1, 8))
  equal((await store.stat(`${prefix}y`))!.size, 2)
  equal(await store.getRange(`${prefix}z`, 0, 4), bytes(1, 2, 9, 9))
  equal((await store.stat(key))!.size, 3)
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

const stageSurvives: Check = async ({ store, prefix }) => {
  const stage = await store.stage(`${prefix}x`)
  await stage.append(bytes(1, 2))
  const { etag } = await stage.publish(`${prefix}x`, bytes(3), { ifAbsent: true })
  await refused(stage.publish(`${prefix}x`, bytes(9), { ifAbsent: true }), 'ConflictError')
  equal(await stage.read(0, 2), bytes(1, 2))
  equal(stage.size, 2)
  await stage.append(bytes(4))
  await stage.publish(`${prefix}y`, bytes(5, 6), { ifAbsent: false })
  equal(await store.getRange(`${prefix}x`, 0, 3, { ifMatch: etag }), bytes(1, 2, 3))
  equal((await store.stat(`${prefix}x`))!.etag, etag)
  equal(await store.getRange(`${prefix}y`, 0, 5), bytes(1, 2, 4, 5, 6))
  equal(await stage.read(1, 2), bytes(2, 4))
  await stage.discard()
  equal((await store.list(prefix)).sort(), [`${prefix}x`, `${prefix}y`])
}

const put = async (store: ListedStore, key: string, ...content: number[]): Promise<string> => {
  await store.put(key, bytes(...content))
  return (await store.stat(key))!.etag
}

const readContent = async (store: ListedStore, key: string): Promise<Uint8Array> =>
  (await store.getRange(key, 0, (await store.stat(key))!.size))!

/**
 * Runs a check if the store supports the condition. Otherwise the store must refuse it and change nothing.
 */
const whereItCan =
  (what: 'replace' | 'remove', check: Check): Check =>
  async (place) => {
    const { store, prefix } = place
    const can = await store.conditionalWrites?.(`${prefix}x`)
    if (can?.[what]) return check(place)
    equal(typeof can?.reason, can === undefined ? 'undefined' : 'string')
    const etag = await put(store, `${prefix}x`, 1)
    if (what === 'remove') await refused(store.delete(`${prefix}x`, { ifMatch: etag }), 'UnsupportedError')
    else {
      const stage = await store.stage(`${prefix}x`)
      await refused(stage.publish(`${prefix}x`, bytes(2), { ifAbsent: false, ifMatch: etag }), 'UnsupportedError')
      await stage.discard()
    }
    equal(await store.list(prefix), [`${prefix}x`])
    equal(await store.getRange(`${prefix}x`, 0, 1, { ifMatch: etag }), bytes(1))
  }

const replacesVersion: Check = async ({ store, prefix }) => {
  const key = `${prefix}x`
  const first = await put(store, key, 1)
  const stage = await store.stage(key)
  await stage.append(bytes(2))
  const second = await stage.publish(key, bytes(3), { ifAbsent: false, ifMatch: first })
  equal(second, await store.stat(key))
  equal(await readContent(store, key), bytes(2, 3))
  // The version to replace was just created, and has the same size.
  const third = await stage.publish(key, bytes(4), { ifAbsent: false, ifMatch: second.etag })
  equal(await readContent(store, key), bytes(2, 4))
  equal(new Set([first, second.etag, third.etag]).size, 3)
  await stage.discard()
  equal(await store.list(prefix), [key])
}

const refusesVersion: Check = async ({ store, prefix }) => {
  const key = `${prefix}x`
  const first = await put(store, key, 1)
  const second = await put(store, key, 2)
  const stage = await store.stage(key)
  await stage.append(bytes(3))
  const publish = (ifMatch: string): Promise<unknown> => stage.publish(key, bytes(4), { ifAbsent: false, ifMatch })
  await refused(publish(first), 'ConflictError')
  equal(await readContent(store, key), bytes(2))
  await store.delete(key)
  await refused(publish(second), 'ConflictError')
  await stage.discard()
  equal(await store.list(prefix), [])
}

const oneReplaces: Check = async ({ store, prefix }) => {
  const key = `${prefix}x`
  const ifMatch = await put(store, key, 99)
  const stages = await Promise.all(Array.from({ length: REPLACERS }, () => store.stage(key)))
  for (const [i, stage] of stages.entries()) await stage.append(bytes(i))
  const outcomes = await Promise.allSettled(stages.map((stage) => stage.publish(key, bytes(), { ifAbsent: false, ifMatch })))
  const winners = [...stages.keys()].filter((i) => outcomes[i]!.status === 'fulfilled')
  equal(winners.length, 1)
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') await refused(Promise.reject(outcome.reason), 'ConflictError')
  equal(await readContent(store, key), bytes(winners[0]!))
  for (const stage of stages) await stage.discard()
  equal(await store.list(prefix), [key])
}

const removesVersion: Check = async ({ store, prefix }) => {
  const key = `${prefix}x`
  const first = await put(store, key, 1)
  const second = await put(store, key, 2)
  await refused(store.delete(key, { ifMatch: first }), 'ConflictError')
  equal(await readContent(store, key), bytes(2))
  await store.delete(key, { ifMatch: second })
  equal(await store.list(prefix), [])
  await store.delete(key, { ifMatch: second })
}

const copies: Check = async ({ store, prefix }) => {
  if (store.copy === undefined) return
  const [from, to] = [`${prefix}x`, `${prefix}y z/ü%41+`]
  const first = await put(store, from, 1)
  const second = await put(store, from, 2)
  equal(await store.copy(`${prefix}none`, to), false)
  await refused(store.copy(from, to, { ifMatch: first }), 'ConflictError')
  equal(await store.stat(to), undefined)
  equal(await store.copy(from, to, { ifMatch: second }), true)
  equal(await readContent(store, to), bytes(2))
  await put(store, from, 3)
  equal(await store.copy(from, to), true)
  equal(await readContent(store, to), bytes(3))
  equal(await readContent(store, from), bytes(3))
}

const replaceOrRemove: Check = async ({ store, prefix }) => {
  if (!(await store.conditionalWrites!(prefix)).replace) return
  const key = `${prefix}x`
  for (let round = 0; round < 4; round++) {
    const ifMatch = await put(store, key, round)
    const stages = await Promise.all(Array.from({ length: 3 }, () => store.stage(key)))
    const replacements = stages.map((stage, i) => () => stage.publish(key, bytes(i), { ifAbsent: false, ifMatch }))
    // A different operation comes first in each round.
    const work = [...replacements, () => store.delete(key, { ifMatch })]
    for (let i = 0; i < round; i++) work.push(work.shift()!)
    const outcomes = await Promise.allSettled(work.map((each) => each()))
    const removed = (await store.stat(key)) === undefined
    const replaced = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' && outcome.value ? [outcome.value] : []))
    // A removed version cannot be replaced, and a replaced version cannot be removed.
    equal(replaced.length, removed ? 0 : 1)
    if (!removed) equal((await store.stat(key))!.etag, replaced[0]!.etag)
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') await refused(Promise.reject(outcome.reason), 'ConflictError')
    equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const stage of stages) await stage.discard()
    await store.delete(key)
  }
  equal(await store.list(prefix), [])
}

const CASES: readonly (readonly [string, Check])[] = [
  ['there is nothing in an empty store', emptyStore],
  ['put, stat, ranges, list, delete', wholeObjects],
  ['a stage is invisible until published, can be read back, and then is one object', stageIsInvisible],
  ['a prepared stage is invisible, and is published as it was prepared or otherwise', preparedStage],
  ['publishing if absent leaves what is there, and the stage can go elsewhere', takenKey],
  ['publishing over an object replaces it', replaces],
  ['a discarded stage leaves nothing', discardLeavesNothing],
  [`of ${RACERS} who publish one key exactly one wins`, oneWins],
  ['a stage that was published can be read and published again', stageSurvives],
  ['one version is replaced', whereItCan('replace', replacesVersion)],
  ['no other version is replaced, nor one that is gone', whereItCan('replace', refusesVersion)],
  [`of ${REPLACERS} who replace one version exactly one wins`, whereItCan('replace', oneReplaces)],
  ['a copy has the content of its source, of one version where that is asked for', copies],
  ['one version is removed, and no other', whereItCan('remove', removesVersion)],
  ['of those who replace or remove one version exactly one wins', whereItCan('remove', replaceOrRemove)],
]
