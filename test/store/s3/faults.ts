import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { ArrayFile } from '../../../src/af/file.ts'
import { readableConformance } from '../../../src/testing/index.ts'
import { type Fault, FaultProxy } from '../../support/fault-proxy.ts'
import { type Bucket, MIB, noise, same } from './support.ts'

const PART = 5 * MIB
const ENOUGH = new Error('enough')

export function faults(given: () => Bucket): void {
  let proxy: FaultProxy
  beforeAll(async () => {
    proxy = await FaultProxy.start(given().ceph.endpoint)
  })
  afterAll(() => proxy?.stop())
  beforeEach(() => proxy.reset())
  const through = (retries = 4) => given().store({ endpoint: proxy.origin, partBytes: PART, retries })
  /** The first request of a method on a key meets this. */
  const spoil = (method: string, key: RegExp, fault: Fault): void => {
    let done = false
    proxy.fault = (request) => {
      if (done || request.method !== method || !key.test(decodeURIComponent(request.url))) return undefined
      done = true
      return fault
    }
  }

  const TROUBLES: Fault[] = [
    { status: 503, code: 'SlowDown' },
    { cut: 'before' },
    { status: 429 },
    { cut: 3 },
    { status: 400, code: 'RequestTimeout' },
    { cut: 'after' },
    { status: 500, after: true },
  ]

  for (const { name, run } of readableConformance(async (content) => {
    const key = `${given().folder()}x`
    const replace = (bytes: Uint8Array): Promise<void> => given().store().put(key, bytes)
    await replace(content)
    const asked = new Set<string>()
    proxy.reset()
    proxy.fault = ({ method, url }, nth) => {
      const first = !asked.has(`${method} ${url}`)
      asked.add(`${method} ${url}`)
      const trouble = TROUBLES[nth % TROUBLES.length]!
      // Reads trust a status of 400 and do not retry it, so that the test leaves it out.
      return first && !('status' in trouble && trouble.status === 400) ? trouble : undefined
    }
    return { store: through(), key, missing: `${key}.none`, replace }
  }))
    test(`whatever is asked for the first time fails: ${name}`, () => expect(run()).resolves.toBeUndefined())

  test.each(TROUBLES)('a conditional publication meets %j: published once, no conflict with itself', async (fault) => {
    const store = through()
    const key = `${given().folder()}x`
    spoil('PUT', /x$/, fault)
    const stage = await store.stage(key)
    await stage.append(Uint8Array.of(1, 2))
    const info = await stage.publish(key, Uint8Array.of(3), { ifAbsent: true })
    expect(info).toEqual(await given().store().stat(key))
    expect(await given().store().getRange(key, 0, 3)).toEqual(Uint8Array.of(1, 2, 3))
  })

  test.each(TROUBLES)('a conditional publication meets %j, and the object is another’s: a conflict', async (fault) => {
    const store = through()
    const key = `${given().folder()}x`
    await given().store().put(key, Uint8Array.of(9))
    spoil('PUT', /x$/, fault)
    const stage = await store.stage(key)
    await expect(stage.publish(key, Uint8Array.of(3), { ifAbsent: true })).rejects.toMatchObject({ tag: 'ConflictError' })
    expect(await given().store().getRange(key, 0, 1)).toEqual(Uint8Array.of(9))
  })

  test.each([
    { times: 1, taken: false, outcome: 'published' },
    { times: 1, taken: true, outcome: 'ConflictError' },
    { times: 9, taken: false, outcome: 'StoreError' },
    { times: 9, taken: true, outcome: 'ConflictError' },
  ])(
    'an object is created while the server is busy with another write of it, so often: $times; it is there: $taken; $outcome',
    async ({ times, taken, outcome }) => {
      const store = through(2)
      const key = `${given().folder()}x`
      let conflicts = 0
      proxy.fault = ({ method, url }) =>
        method === 'PUT' && url.endsWith('x') && conflicts++ < times
          ? { status: 409, code: 'ConditionalRequestConflict' }
          : undefined
      if (taken) await given().store().put(key, Uint8Array.of(9))
      const published = (await store.stage(key)).publish(key, Uint8Array.of(3), { ifAbsent: true })
      if (outcome === 'published') expect(await published).toEqual(await given().store().stat(key))
      else await expect(published).rejects.toMatchObject({ tag: outcome })
      expect(conflicts).toBe(times === 1 ? 2 : 3)
      const found = await given().store().getRange(key, 0, 1)
      expect(found).toEqual(taken ? Uint8Array.of(9) : outcome === 'published' ? Uint8Array.of(3) : undefined)
    },
  )

  test.each(TROUBLES)('a replacement meets %j: replaced once, no conflict with itself', async (fault) => {
    const store = through()
    const key = `${given().folder()}x`
    await given().store().put(key, Uint8Array.of(9))
    const ifMatch = (await given().store().stat(key))!.etag
    await store.conditionalWrites(key)
    spoil('PUT', /x$/, fault)
    const stage = await store.stage(key)
    const info = await stage.publish(key, Uint8Array.of(3), { ifAbsent: false, ifMatch })
    expect(info).toEqual(await given().store().stat(key))
    expect(await given().store().getRange(key, 0, 1)).toEqual(Uint8Array.of(3))
    spoil('PUT', /x$/, fault)
    const conflict = { tag: 'ConflictError', details: { actual: info.etag } }
    await expect(stage.publish(key, Uint8Array.of(4), { ifAbsent: false, ifMatch })).rejects.toMatchObject(conflict)
    expect(await given().store().getRange(key, 0, 1)).toEqual(Uint8Array.of(3))
  })

  test('a publication whose every answer is lost is found to have been made', async () => {
    const store = through(2)
    const key = `${given().folder()}x`
    proxy.fault = ({ method, url }) => (method === 'PUT' && url.endsWith('x') ? { cut: 'after' } : undefined)
    const stage = await store.stage(key)
    expect((await stage.publish(key, Uint8Array.of(3), { ifAbsent: true })).size).toBe(1)
  })

  test('a publication that fails for good leaves the stage as it was', async () => {
    const store = through(1)
    const key = `${given().folder()}x`
    const stage = await store.stage(key)
    await stage.append(Uint8Array.of(1))
    proxy.fault = ({ method }) => (method === 'PUT' ? { status: 503 } : undefined)
    await expect(stage.publish(key, Uint8Array.of(2), { ifAbsent: true })).rejects.toMatchObject({ tag: 'StoreError' })
    proxy.reset()
    await stage.append(Uint8Array.of(5))
    await stage.publish(key, Uint8Array.of(6), { ifAbsent: true })
    expect(await store.getRange(key, 0, 3)).toEqual(Uint8Array.of(1, 5, 6))
  })

  test.each([
    ['beginning', 'POST', /uploads/],
    ['a part', 'PUT', /partNumber=1/],
    ['completing', 'POST', /uploadId/],
  ] as const)('an upload in parts gets over a cut connection at %s', async (_, method, url) => {
    for (const cut of ['before', 'after'] as const) {
      const store = through()
      const key = `${given().folder()}x`
      const content = noise(6 * MIB)
      spoil(method, url, { cut })
      await store.put(key, content)
      expect(same(await given().store().getRange(key, 0, content.length), content)).toBe(true)
    }
  })

  test('an upload in parts that fails for good is aborted, and nothing is to be seen', async () => {
    const store = through(0)
    const folder = given().folder()
    const before = await given().ceph.openUploads('data')
    spoil('PUT', /partNumber=2/, { status: 503 })
    await expect(store.put(`${folder}x`, noise(11 * MIB))).rejects.toMatchObject({ tag: 'StoreError' })
    expect(proxy.log.at(-2)).toBe('DELETE')
    expect(await given().ceph.openUploads('data')).toBe(before)
    expect(await given().store().list(folder)).toEqual([])
  })

  test('an upload in parts that is aborted while the server begins it is dropped', async () => {
    const store = through(0)
    const before = await given().ceph.openUploads('data')
    const controller = new AbortController()
    proxy.fault = ({ method, url }) => {
      if (method === 'POST' && /uploads=/.test(url)) controller.abort(ENOUGH)
      return undefined
    }
    await expect(store.put(`${given().folder()}x`, noise(11 * MIB), { signal: controller.signal })).rejects.toBe(ENOUGH)
    expect(proxy.log).toEqual(['POST', 'DELETE'])
    expect(await given().ceph.openUploads('data')).toBe(before)
  })

  test('a stage that cannot spill keeps what it has and goes on afterwards', async () => {
    const store = through(0)
    const key = `${given().folder()}x`
    const stage = await store.stage(key)
    await stage.append(noise(PART, 1))
    proxy.fault = () => ({ status: 503 })
    await expect(stage.append(noise(10, 2))).rejects.toMatchObject({ tag: 'StoreError' })
    expect(stage.size).toBe(PART)
    proxy.reset()
    await stage.append(noise(10, 3))
    expect(same(await stage.read(0, PART), noise(PART, 1))).toBe(true)
    expect(await stage.read(PART, 10)).toEqual(noise(10, 3))
    await stage.discard()
  })

  test('a container is flushed and read through a connection that breaks again and again', async () => {
    const store = through(6)
    const path = `${given().folder()}x.af`
    proxy.fault = (_, nth) => (nth % 3 === 2 ? TROUBLES.filter((t) => !('status' in t && t.status === 400))[(nth / 3) % 6 | 0] : undefined) // biome-ignore format: one line
    const file = await ArrayFile.create(store, path)
    const x = file.createArray('x', { dtype: 'int32', shape: [100], chunks: [10] })
    for (let i = 0; i < 5; i++) {
      await x.set([], new Int32Array(100).fill(i))
      await x.set([i], 100)
      await file.flush()
    }
    await file.close()
    proxy.reset()
    const read = await ArrayFile.open(store, path)
    expect((await read.array('x', 'int32').get()).data).toEqual(Int32Array.from({ length: 100 }, (_, i) => (i === 4 ? 100 : 4)))
    expect(read.layers().map(({ number }) => number)).toEqual([0, 1, 2, 3, 4])
  })

  test.each([
    ['getRange', (signal: AbortSignal, key: string) => through().getRange(key, 0, 10, { signal })],
    ['getTail', (signal: AbortSignal, key: string) => through().getTail(key, 10, { signal })],
    ['list', (signal: AbortSignal, key: string) => through().list(key, { signal })],
    ['put', (signal: AbortSignal, key: string) => through().put(key, Uint8Array.of(1), { signal })],
  ])('an abort ends %s on the wire', async (_, work) => {
    const key = `${given().folder()}x`
    await given().store().put(key, noise(100))
    proxy.fault = () => ({ stall: 0 })
    const controller = new AbortController()
    const result = work(controller.signal, key)
    await vi.waitUntil(() => proxy.busy === 1, { interval: 1, timeout: 5000 })
    await new Promise((resolve) => setTimeout(resolve, 50))
    controller.abort(ENOUGH)
    await expect(result).rejects.toBe(ENOUGH)
    await vi.waitUntil(() => proxy.busy === 0, { interval: 1, timeout: 5000 })
    expect(proxy.seen.length).toBe(1)
  })
}
