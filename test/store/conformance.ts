import { afterEach, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.js'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

/** What every store must do, whatever it stands for. `make` gives an empty one and a key prefix to work under. */
export function storeConformance(make: () => Promise<{ store: Required<Store>; prefix: string }>): void {
  const made: Required<Store>[] = []
  const fresh = async (): ReturnType<typeof make> => {
    const place = await make()
    made.push(place.store)
    return place
  }
  afterEach(async () => {
    for (const store of made.splice(0)) await store.close()
  })

  test('a missing object is undefined, not an error', async () => {
    const { store, prefix } = await fresh()
    expect(await store.stat(`${prefix}none`)).toBeUndefined()
    expect(await store.getRange(`${prefix}none`, 0, 1)).toBeUndefined()
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
    expect(await store.getRange(`${prefix}a.b`, 5, 0)).toEqual(bytes())
    expect(await store.getRange(`${prefix}a.c`, 0, 0)).toEqual(bytes())
    expect((await store.list(`${prefix}a.`)).sort()).toEqual([`${prefix}a.b`, `${prefix}a.c`])
    await store.delete(`${prefix}a.b`)
    expect(await store.stat(`${prefix}a.b`)).toBeUndefined()
    expect(await store.list(`${prefix}a.`)).toEqual([`${prefix}a.c`])
  })

  test('a range beyond the end names the numbers', async () => {
    const { store, prefix } = await fresh()
    await store.put(`${prefix}x`, bytes(1, 2, 3))
    await expect(store.getRange(`${prefix}x`, 1, 5)).rejects.toMatchObject({
      tag: 'FormatError',
      details: { file: store.describe(`${prefix}x`), actual: 3, expected: 6 },
    })
  })

  test('results belong to the caller', async () => {
    const { store, prefix } = await fresh()
    await store.put(`${prefix}x`, bytes(1, 2, 3))
    ;(await store.getRange(`${prefix}x`, 0, 3))!.fill(0)
    expect(await store.getRange(`${prefix}x`, 0, 3)).toEqual(bytes(1, 2, 3))
  })

  test('a version is read or refused, never another one', async () => {
    const { store, prefix } = await fresh()
    const key = `${prefix}x`
    await store.put(key, bytes(1, 1))
    const first = (await store.stat(key))!
    expect(await store.getRange(key, 0, 2, { ifMatch: first.etag })).toEqual(bytes(1, 1))
    await store.put(key, bytes(2, 2))
    const second = (await store.stat(key))!
    expect(second.etag).not.toBe(first.etag)
    expect(await store.getRange(key, 0, 2)).toEqual(bytes(2, 2))
    expect(await store.getRange(key, 0, 2, { ifMatch: second.etag })).toEqual(bytes(2, 2))
    const old = await store.getRange(key, 0, 2, { ifMatch: first.etag }).catch((error: unknown) => error)
    if (old instanceof Uint8Array) expect(old).toEqual(bytes(1, 1))
    else expect(old).toMatchObject({ tag: 'ConflictError' })
    await expect(store.getRange(key, 0, 2, { ifMatch: 'never' })).rejects.toMatchObject({ tag: 'ConflictError' })
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

  test('many reads at once', async () => {
    const { store, prefix } = await fresh()
    await store.put(
      `${prefix}x`,
      Uint8Array.from({ length: 256 }, (_, i) => i),
    )
    const reads = Array.from({ length: 200 }, (_, i) => store.getRange(`${prefix}x`, i, 2))
    expect(await Promise.all(reads)).toEqual(Array.from({ length: 200 }, (_, i) => bytes(i, i + 1)))
    await store.close()
    expect(await store.getRange(`${prefix}x`, 0, 1)).toEqual(bytes(0))
    await store.close()
  })
}
