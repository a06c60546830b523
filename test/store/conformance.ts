import { afterEach, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.js'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)
const counting = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => i)

/** One object somewhere, and the store that reads it. */
export interface ReadablePlace {
  readonly store: Store
  /** The key of the object. */
  readonly key: string
  /** A key of no object. */
  readonly missing: string
  /** Puts other bytes in its place; left out where that cannot happen. */
  replace?(bytes: Uint8Array): Promise<void>
}

export type WritableStore = Store & Required<Pick<Store, 'list' | 'put' | 'delete' | 'stage'>>

export interface WritablePlace {
  /** An empty store. */
  readonly store: WritableStore
  /** What keys must start with. */
  readonly prefix: string
}

/** What every store must do that reads and writes. */
export function storeConformance(make: () => Promise<WritablePlace>): void {
  readableConformance(async (content) => {
    const { store, prefix } = await make()
    const key = `${prefix}x.af`
    await store.put(key, content)
    return { store, key, missing: `${prefix}none.af`, replace: (other) => store.put(key, other) }
  })
  writableConformance(make)
}

/** What every store must do, given an object with some bytes. */
export function readableConformance(make: (content: Uint8Array) => Promise<ReadablePlace>): void {
  const made: Store[] = []
  const place = async (content: Uint8Array): Promise<ReadablePlace> => {
    const place = await make(content)
    made.push(place.store)
    return place
  }
  afterEach(async () => {
    for (const store of made.splice(0)) await store.close?.()
  })

  test('a missing object is undefined, not an error', async () => {
    const { store, missing } = await place(bytes(1))
    expect(await store.stat(missing)).toBeUndefined()
    expect(await store.getRange(missing, 0, 1)).toBeUndefined()
    expect(await store.getRange(missing, 0, 0)).toBeUndefined()
    if (store.getTail) expect(await store.getTail(missing, 5)).toBeUndefined()
    if (!store.getRanges) return
    expect(await store.getRanges(missing, [{ offset: 0, length: 1 }])).toBeUndefined()
    expect(await store.getRanges(missing, [])).toBeUndefined()
  })

  test('size and ranges', async () => {
    const { store, key } = await place(bytes(1, 2, 3, 4, 5))
    const info = (await store.stat(key))!
    expect(info.size).toBe(5)
    expect(info.etag.length).toBeGreaterThan(0)
    expect(await store.stat(key)).toEqual(info)
    expect(await store.getRange(key, 0, 5)).toEqual(bytes(1, 2, 3, 4, 5))
    expect(await store.getRange(key, 1, 3)).toEqual(bytes(2, 3, 4))
    expect(await store.getRange(key, 4, 1, { ifMatch: info.etag })).toEqual(bytes(5))
    expect(await store.getRange(key, 5, 0)).toEqual(bytes())
    expect(await store.getRange(key, 2, 0)).toEqual(bytes())
  })

  test('an empty object', async () => {
    const { store, key } = await place(bytes())
    expect((await store.stat(key))!.size).toBe(0)
    expect(await store.getRange(key, 0, 0)).toEqual(bytes())
    await expect(store.getRange(key, 0, 1)).rejects.toMatchObject({ tag: 'FormatError', details: { actual: 0, expected: 1 } })
    if (store.getTail) expect(await store.getTail(key, 5)).toMatchObject({ size: 0, bytes: bytes() })
  })

  test('a range beyond the end names the numbers', async () => {
    const { store, key } = await place(bytes(1, 2, 3))
    const file = store.describe(key)
    const refused = (expected: number) => ({ tag: 'FormatError', details: { file, actual: 3, expected } })
    await expect(store.getRange(key, 1, 5)).rejects.toMatchObject(refused(6))
    await expect(store.getRange(key, 3, 1)).rejects.toMatchObject(refused(4))
    await expect(store.getRange(key, 100, 1)).rejects.toMatchObject(refused(101))
    await expect(store.getRange(key, 4, 0)).rejects.toMatchObject(refused(4))
    const ranges = [
      { offset: 0, length: 1 },
      { offset: 2, length: 2 },
    ]
    if (store.getRanges) await expect(store.getRanges(key, ranges)).rejects.toMatchObject(refused(4))
  })

  test('results belong to the caller', async () => {
    const { store, key } = await place(bytes(1, 2, 3))
    const whole = { offset: 0, length: 3 }
    ;(await store.getRange(key, 0, 3))!.fill(0)
    ;(await store.getTail?.(key, 3))?.bytes.fill(0)
    const twice = await store.getRanges?.(key, [whole, whole])
    twice?.[0]?.fill(0)
    if (twice) expect(twice[1]).toEqual(bytes(1, 2, 3))
    const [one, other] = await Promise.all([store.getRange(key, 0, 3), store.getRange(key, 0, 3)])
    one!.fill(0)
    expect(other).toEqual(bytes(1, 2, 3))
    expect(await store.getRange(key, 0, 3)).toEqual(bytes(1, 2, 3))
  })

  test('several ranges: any order, overlapping, adjacent, equal, empty, all versions', async () => {
    const content = counting(200)
    const { store, key } = await place(content)
    if (!store.getRanges) return
    const { etag } = (await store.stat(key))!
    for (const pairs of [
      [],
      [[7, 0]],
      [[0, 200]],
      [
        [150, 50],
        [0, 10],
        [10, 10],
        [5, 20],
        [5, 20],
        [30, 0],
        [199, 1],
      ],
    ]) {
      const ranges = pairs.map(([offset, length]) => ({ offset: offset!, length: length! }))
      const wanted = ranges.map(({ offset, length }) => content.slice(offset, offset + length))
      expect(await store.getRanges(key, ranges)).toEqual(wanted)
      expect(await store.getRanges(key, ranges, { ifMatch: etag })).toEqual(wanted)
    }
  })

  test('the end of an object, with its size and version', async () => {
    const { store, key } = await place(counting(50))
    if (!store.getTail) return
    const info = (await store.stat(key))!
    for (const [length, from] of [
      [1, 49],
      [20, 30],
      [50, 0],
      [51, 0],
      [100_000, 0],
      [0, 50],
    ] as const) {
      expect(await store.getTail(key, length)).toEqual({ ...info, bytes: counting(50).slice(from) })
    }
  })

  test('a version is read or refused, never another one', async () => {
    const { store, key, replace } = await place(bytes(1, 1))
    const first = (await store.stat(key))!
    const one = { offset: 1, length: 1 }
    expect(await store.getRange(key, 0, 2, { ifMatch: first.etag })).toEqual(bytes(1, 1))
    await expect(store.getRange(key, 0, 2, { ifMatch: 'never' })).rejects.toMatchObject({ tag: 'ConflictError' })
    if (store.getRanges)
      await expect(store.getRanges(key, [one], { ifMatch: 'never' })).rejects.toMatchObject({ tag: 'ConflictError' })
    if (!replace) return
    await replace(bytes(2, 2))
    const second = (await store.stat(key))!
    expect(second.etag).not.toBe(first.etag)
    expect(await store.getRange(key, 0, 2)).toEqual(bytes(2, 2))
    expect(await store.getRange(key, 0, 2, { ifMatch: second.etag })).toEqual(bytes(2, 2))
    if (store.getTail) expect(await store.getTail(key, 1)).toEqual({ ...second, bytes: bytes(2) })
    const old = await store.getRange(key, 0, 2, { ifMatch: first.etag }).catch((error: unknown) => error)
    if (old instanceof Uint8Array) expect(old).toEqual(bytes(1, 1))
    else expect(old).toMatchObject({ tag: 'ConflictError', details: { file: store.describe(key) } })
    if (!store.getRanges) return
    const parts = await store.getRanges(key, [one], { ifMatch: first.etag }).catch((error: unknown) => error)
    if (Array.isArray(parts)) expect(parts).toEqual([bytes(1)])
    else expect(parts).toMatchObject({ tag: 'ConflictError' })
  })

  test('many reads at once, also after closing', async () => {
    const { store, key } = await place(counting(256))
    const reads = Array.from({ length: 200 }, (_, i) => store.getRange(key, i, 2))
    expect(await Promise.all(reads)).toEqual(Array.from({ length: 200 }, (_, i) => bytes(i, i + 1)))
    await store.close?.()
    expect(await store.getRange(key, 0, 1)).toEqual(bytes(0))
    await store.close?.()
  })
}

/** What every store must do that can be written. */
export function writableConformance(make: () => Promise<WritablePlace>): void {
  const made: Store[] = []
  const fresh = async (): ReturnType<typeof make> => {
    const place = await make()
    made.push(place.store)
    return place
  }
  afterEach(async () => {
    for (const store of made.splice(0)) await store.close?.()
  })

  test('there is nothing in an empty store', async () => {
    const { store, prefix } = await fresh()
    expect(await store.list(`${prefix}none`)).toEqual([])
    await store.delete(`${prefix}none`)
  })

  test('put, stat, ranges, list, delete', async () => {
    const { store, prefix } = await fresh()
    const given = bytes(1, 2, 3, 4, 5)
    await store.put(`${prefix}a.b`, given)
    given.fill(0)
    await store.put(`${prefix}a.c`, bytes())
    await store.put(`${prefix}b`, bytes(9))
    expect((await store.stat(`${prefix}a.b`))!.size).toBe(5)
    expect(await store.getRange(`${prefix}a.b`, 1, 3)).toEqual(bytes(2, 3, 4))
    expect(await store.getRange(`${prefix}a.c`, 0, 0)).toEqual(bytes())
    expect((await store.list(`${prefix}a.`)).sort()).toEqual([`${prefix}a.b`, `${prefix}a.c`])
    await store.delete(`${prefix}a.b`)
    expect(await store.stat(`${prefix}a.b`)).toBeUndefined()
    expect(await store.list(`${prefix}a.`)).toEqual([`${prefix}a.c`])
  })

  test('a stage is invisible until published, can be read back, and then is one object', async () => {
    const { store, prefix } = await fresh()
    const key = `${prefix}x.af`
    const stage = await store.stage(key)
    await stage.append(bytes(1, 2))
    await stage.append(bytes(3))
    expect(stage.size).toBe(3)
    expect(await stage.read(1, 2)).toEqual(bytes(2, 3))
    expect(await store.stat(key)).toBeUndefined()
    await stage.publish(key, bytes(9, 9), { ifAbsent: true })
    expect(await store.getRange(key, 0, 5)).toEqual(bytes(1, 2, 3, 9, 9))
    await stage.discard()
    expect(await store.list(prefix)).toEqual([key])
  })

  test('publishing if absent leaves what is there, and the stage can go elsewhere', async () => {
    const { store, prefix } = await fresh()
    await store.put(`${prefix}x`, bytes(7))
    const stage = await store.stage(`${prefix}x`)
    await stage.append(bytes(1))
    await expect(stage.publish(`${prefix}x`, bytes(5, 5, 5), { ifAbsent: true })).rejects.toMatchObject({ tag: 'ConflictError' })
    expect(await store.getRange(`${prefix}x`, 0, 1)).toEqual(bytes(7))
    await stage.append(bytes(2))
    await stage.publish(`${prefix}y`, bytes(6), { ifAbsent: true })
    await stage.discard()
    expect(await store.getRange(`${prefix}y`, 0, 3)).toEqual(bytes(1, 2, 6))
    expect((await store.stat(`${prefix}y`))!.size).toBe(3)
  })

  test('publishing over an object replaces it', async () => {
    const { store, prefix } = await fresh()
    await store.put(`${prefix}x`, bytes(7, 7, 7))
    const stage = await store.stage(`${prefix}x`)
    await stage.publish(`${prefix}x`, bytes(1), { ifAbsent: false })
    expect((await store.stat(`${prefix}x`))!.size).toBe(1)
    await stage.discard()
    expect(await store.list(prefix)).toEqual([`${prefix}x`])
  })

  test('a discarded stage leaves nothing', async () => {
    const { store, prefix } = await fresh()
    const stage = await store.stage(`${prefix}x`)
    await stage.append(bytes(1, 2, 3))
    await stage.discard()
    await stage.discard()
    expect(await store.list(prefix)).toEqual([])
  })

  test('of many who publish one key exactly one wins', async () => {
    const { store, prefix } = await fresh()
    const key = `${prefix}x`
    const racers = await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const stage = await store.stage(key)
        await stage.append(bytes(i))
        return { i, stage }
      }),
    )
    const outcomes = await Promise.allSettled(racers.map(({ stage }) => stage.publish(key, bytes(99), { ifAbsent: true })))
    const winners = racers.filter((_, i) => outcomes[i]!.status === 'fulfilled')
    expect(winners.length).toBe(1)
    expect(await store.getRange(key, 0, 2)).toEqual(bytes(winners[0]!.i, 99))
    for (const { stage } of racers) await stage.discard()
    expect(await store.list(prefix)).toEqual([key])
  })
}
