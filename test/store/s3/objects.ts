import { expect, test } from 'vitest'
import type { RequestLog } from '../../../src/store/requester.ts'
import { S3Store } from '../../../src/store/s3/s3.ts'
import { type Bucket, MIB, noise, same } from './support.ts'

const PART = 5 * MIB

export function objects(given: () => Bucket): void {
  /** A store with parts as small as can be, and the methods and statuses of its requests. */
  const logged = () => {
    const log: string[] = []
    const onRequest = ({ method, status }: RequestLog) => log.push(`${method} ${status}`)
    return { store: given().store({ partBytes: PART, onRequest }), log }
  }

  test.each([
    'with space', 'a+b', '100%', '%2F', '%41', 'ü/日本/😀', "~!*'()", 'a&b=c;d,e:f@g$h', 'q?r#s', 'a//b', '"<>"', '.hidden', 'back\\slash',
  ])('the key %s is written, read, listed and deleted', async (name) => {
    const store = given().store()
    const folder = given().folder()
    const key = folder + name
    await store.put(key, Uint8Array.of(1, 2, 3))
    expect(await store.getRange(key, 1, 2)).toEqual(Uint8Array.of(2, 3))
    expect((await store.getTail(key, 1))!.size).toBe(3)
    expect(await store.list(folder)).toEqual([key])
    expect(await store.list(key)).toEqual([key])
    const stage = await store.stage(key)
    await stage.publish(key, Uint8Array.of(4), { ifAbsent: false })
    expect(await store.getRange(key, 0, 1)).toEqual(Uint8Array.of(4))
    await store.delete(key)
    expect(await store.list(folder)).toEqual([])
  }) // biome-ignore format: one line

  test('a listing of several pages', async () => {
    const { store, log } = logged()
    const folder = given().folder()
    const keys = Array.from({ length: 1100 }, (_, i) => `${folder}${i} & ü`)
    for (let i = 0; i < keys.length; i += 50)
      await Promise.all(keys.slice(i, i + 50).map((key) => store.put(key, Uint8Array.of(1))))
    log.length = 0
    expect((await store.list(folder)).sort()).toEqual(keys.sort())
    expect(log).toEqual(['GET 200', 'GET 200'])
  })

  test('a listing of one folder', async () => {
    const store = given().store()
    const folder = given().folder()
    for (const name of ['x', 'a/y', 'a/b/z', 'ü &/y']) await store.put(folder + name, Uint8Array.of(1))
    expect((await store.list(folder, { shallow: true })).sort()).toEqual(['a/', 'x', 'ü &/'].map((name) => folder + name))
  })

  test('a tail, ranges, a whole object: one request each', async () => {
    const { store, log } = logged()
    const key = `${given().folder()}x`
    await store.put(key, noise(1000))
    const tail = (await store.getTail(key, 10))!
    expect(tail).toEqual({ ...(await store.stat(key))!, bytes: noise(1000).slice(990) })
    await store.getRanges(key, [{ offset: 0, length: 5 }, { offset: 500, length: 5 }], { ifMatch: tail.etag }) // biome-ignore format: one line
    expect(log).toEqual(['PUT 200', 'GET 206', 'HEAD 200', 'GET 206'])
  })

  test('what is refused is named', async () => {
    const { ceph } = given()
    const anonymous = new S3Store({ bucket: 'data', endpoint: ceph.endpoint })
    await expect(anonymous.getRange('some/key', 0, 1)).rejects.toThrow(
      /s3:\/\/data\/some\/key.*403.*may not be listed.*listing: false/,
    )
    await expect(anonymous.list!('some/')).rejects.toThrow(/s3:\/\/data\/.*403/)
    await expect(anonymous.put('some/key', Uint8Array.of(1))).rejects.toMatchObject({
      tag: 'ReadOnlyError',
      message: expect.stringMatching(/s3:\/\/data\/some\/key.*403 AccessDenied/),
    })
    const wrong = { accessKeyId: ceph.credentials.accessKeyId, secretAccessKey: 'wrong' }
    await expect(given().store({ credentials: wrong }).put('k', Uint8Array.of(1))).rejects.toThrow(/403 SignatureDoesNotMatch/)
    await expect(given().store({ bucket: 'none' }).put('k', Uint8Array.of(1))).rejects.toThrow(/s3:\/\/none\/k.*404 NoSuchBucket/)
  })

  test('where listing is forbidden 403 is no object, and nothing is listed', async () => {
    const store = new S3Store({ bucket: 'data', endpoint: given().ceph.endpoint, listing: false })
    expect(store.list).toBeUndefined()
    expect(await store.getTail('none', 5)).toBeUndefined()
    expect(await store.stat('none')).toBeUndefined()
  })

  test('a large object is put in parts', async () => {
    const { store, log } = logged()
    const folder = given().folder()
    const content = noise(12 * MIB)
    await store.put(`${folder}x`, content)
    // Begun, three parts, completed; Ceph does not tell the tag of what it has completed.
    expect(log).toEqual(['POST 200', 'PUT 200', 'PUT 200', 'PUT 200', 'POST 200', 'HEAD 200'])
    expect(same(await store.getRange(`${folder}x`, 0, content.length), content)).toBe(true)
    expect(await given().ceph.openUploads('data')).toBe(0)
  })

  test.each([true, false])('a stage larger than memory should be: read back, refused, published elsewhere; if absent: %s', async (ifAbsent) => {
    const { store, log } = logged()
    const folder = given().folder()
    const content = noise(13 * MIB + 5)
    const stage = await store.stage(`${folder}x`)
    for (let at = 0; at < content.length; at += 3 * MIB) await stage.append(content.subarray(at, at + 3 * MIB))
    expect(stage.size).toBe(content.length)
    expect(log).toEqual(['PUT 200', 'PUT 200'])
    for (const [offset, length] of [[0, 10], [PART - 5, 10], [2 * PART - 3 * MIB, 5 * MIB], [content.length - 7, 7]] as const)
      expect(same(await stage.read(offset, length), content.subarray(offset, offset + length))).toBe(true)
    await store.put(`${folder}taken`, Uint8Array.of(7))
    await expect(stage.publish(`${folder}taken`, Uint8Array.of(8), { ifAbsent: true })).rejects.toMatchObject({ tag: 'ConflictError' })
    expect(await store.getRange(`${folder}taken`, 0, 1)).toEqual(Uint8Array.of(7))
    const info = await stage.publish(`${folder}y`, Uint8Array.of(8, 9), { ifAbsent })
    expect(info).toEqual(await store.stat(`${folder}y`))
    const published = (await store.getRange(`${folder}y`, 0, info.size))!
    expect(same(published.subarray(0, content.length), content)).toBe(true)
    expect(published.subarray(content.length)).toEqual(Uint8Array.of(8, 9))
    expect(await given().ceph.openUploads('data')).toBe(0)
    await stage.discard()
    expect((await store.list(folder)).sort()).toEqual([`${folder}taken`, `${folder}y`])
    await expect(stage.append(Uint8Array.of(1))).rejects.toMatchObject({ tag: 'ClosedError' })
  }) // biome-ignore format: one line

  test('Ceph replaces on condition, wants tags without quotes for that, and is asked once; it deletes regardless', async () => {
    const { store, log } = logged()
    const folder = given().folder()
    const can = { replace: true, remove: false, reason: expect.stringMatching(/If-Match when it deletes/) }
    expect(await store.conditionalWrites(`${folder}x`)).toEqual(can)
    expect(await store.list(folder)).toEqual([])
    log.length = 0
    expect(await store.conditionalWrites(`${folder}y`)).toEqual(can)
    expect(log).toEqual([])
  })

  test('of many who replace one version by large objects exactly one wins', async () => {
    const folder = given().folder()
    const key = `${folder}x`
    await given().store().put(key, Uint8Array.of(1))
    const ifMatch = (await given().store().stat(key))!.etag
    const outcomes = await Promise.allSettled(
      [1, 2, 3, 4].map(async (seed) => {
        const stage = await logged().store.stage(key)
        for (let i = 0; i < 3; i++) await stage.append(noise(3 * MIB, seed))
        await stage.publish(key, Uint8Array.of(seed), { ifAbsent: false, ifMatch }).finally(() => stage.discard())
        return seed
      }),
    )
    const winners = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    expect(winners.length).toBe(1)
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ tag: 'ConflictError' })
    const bytes = (await given()
      .store()
      .getRange(key, 0, 9 * MIB + 1))!
    expect(same(bytes.subarray(0, 3 * MIB), noise(3 * MIB, winners[0]))).toBe(true)
    expect(await given().store().list(folder)).toEqual([key])
  })

  test('a discarded stage leaves no temporary objects', async () => {
    const { store } = logged()
    const folder = given().folder()
    const stage = await store.stage(`${folder}x`)
    for (let i = 0; i < 4; i++) await stage.append(noise(4 * MIB, i))
    expect((await store.list(folder)).length).toBeGreaterThan(0)
    await stage.discard()
    expect(await store.list(folder)).toEqual([])
  })

  test('of many who publish large objects under one key exactly one wins, although the server ignores the condition on parts', async () => {
    const folder = given().folder()
    const outcomes = await Promise.allSettled(
      [1, 2, 3, 4].map(async (seed) => {
        const { store } = logged()
        const stage = await store.stage(`${folder}x`)
        for (let i = 0; i < 3; i++) await stage.append(noise(3 * MIB, seed))
        await stage.publish(`${folder}x`, Uint8Array.of(seed), { ifAbsent: true }).finally(() => stage.discard())
        return seed
      }),
    )
    const winners = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    expect(winners.length).toBe(1)
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ tag: 'ConflictError' })
    const store = given().store()
    const bytes = (await store.getRange(`${folder}x`, 0, 9 * MIB + 1))!
    expect(same(bytes.subarray(0, 3 * MIB), noise(3 * MIB, winners[0]))).toBe(true)
    expect(bytes.at(-1)).toBe(winners[0])
    expect(await store.list(folder)).toEqual([`${folder}x`])
  })
}
