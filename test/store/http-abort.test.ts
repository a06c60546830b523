import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Fetch } from '../../src/store/http/fetch.ts'
import { HttpStore } from '../../src/store/http/http.ts'
import type { RequestLog } from '../../src/store/requester.ts'
import type { RudeServer } from '../support/rude-server.ts'
import { counting, serve } from '../support/served.ts'

const ENOUGH = new Error('enough')

let rude: RudeServer
let url: string
serve(200, (server, address) => {
  rude = server
  url = address
})

/** Resolves once the server works on so many requests. */
const busy = (count: number) => vi.waitUntil(() => rude.busy === count, { interval: 1, timeout: 2000 })

describe('an abort', () => {
  test.each([
    ['stat', undefined, (store: HttpStore, signal: AbortSignal) => store.stat(url, { signal })],
    ['getRange', 5, (store: HttpStore, signal: AbortSignal) => store.getRange(url, 0, 10, { signal })],
    ['getTail', 5, (store: HttpStore, signal: AbortSignal) => store.getTail(url, 10, { signal })],
  ])('ends %s on the wire when the server stalls', async (_, stall, read) => {
    rude.manners = stall === undefined ? { mute: true } : { stall }
    const log: RequestLog[] = []
    const controller = new AbortController()
    const store = new HttpStore({ onRequest: (request) => log.push(request) })
    const result = read(store, controller.signal)
    await busy(1)
    controller.abort(ENOUGH)
    await expect(result).rejects.toBe(ENOUGH)
    await rude.idle()
    await vi.waitUntil(() => log.length > 0)
    expect(log.at(-1)!.attempts).toBe(1)
    // No request is left, so that the store answers others.
    rude.manners = {}
    expect(await store.getRange(url, 0, 1)).toEqual(Uint8Array.of(0))
  })

  test('before anything was sent sends nothing', async () => {
    const signal = AbortSignal.abort(ENOUGH)
    const store = new HttpStore()
    await expect(store.stat(url, { signal })).rejects.toBe(ENOUGH)
    await expect(store.getRange(url, 0, 1, { signal })).rejects.toBe(ENOUGH)
    await expect(store.getTail(url, 1, { signal })).rejects.toBe(ENOUGH)
    expect(rude.seen.length).toBe(0)
  })

  test('while waiting to repeat a request ends that wait', { timeout: 10_000 }, async () => {
    rude.manners = { status: 503, retryAfter: '30' }
    const controller = new AbortController()
    const store = new HttpStore({ retryDelay: 60_000 })
    const result = store.stat(url, { signal: controller.signal })
    await vi.waitUntil(() => rude.seen.length === 1)
    await rude.idle()
    controller.abort(ENOUGH)
    await expect(result).rejects.toBe(ENOUGH)
    expect(rude.seen.length).toBe(1)
  })

  test('of one who waits leaves the request to the other; of both ends it', async () => {
    let stalled = true
    rude.manners = () => (stalled ? { stall: 5 } : {})
    const store = new HttpStore()
    const [a, b] = [new AbortController(), new AbortController()]
    const read = (controller: AbortController) => store.getRange(url, 0, 10, { signal: controller.signal, ifMatch: '"v1"' })
    const results = [read(a), read(b)]
    await busy(1)
    a.abort(ENOUGH)
    await expect(results[0]).rejects.toBe(ENOUGH)
    expect(rude.busy).toBe(1)
    b.abort(ENOUGH)
    await expect(results[1]).rejects.toBe(ENOUGH)
    await rude.idle()
    stalled = false
    expect(await read(new AbortController())).toEqual(counting(10))
    expect(rude.seen.length).toBe(2)
  })
})

test('no more requests at a time than allowed, and the same bytes once', async () => {
  const store = new HttpStore({ maxRequests: 3, maxGapBytes: 0 })
  const reads = Array.from({ length: 40 }, (_, i) => store.getRange(url, i % 20, 2, { ifMatch: '"v1"' }))
  expect(await Promise.all(reads)).toEqual(Array.from({ length: 40 }, (_, i) => counting(30).slice(i % 20, (i % 20) + 2)))
  expect(rude.seen.length).toBe(20)
  rude.manners = { delay: 20 }
  await Promise.all(Array.from({ length: 10 }, () => store.stat(url)))
  expect(rude.mostBusy).toBeLessThanOrEqual(3)
})

test('one request at a time is enough, even where a request needs another one to be understood', async () => {
  rude.manners = { ifMatch: 'misread', suffix: 'wrong', head: 405 }
  const store = new HttpStore({ maxRequests: 1 })
  expect((await store.getTail(url, 3))!.bytes).toEqual(counting(200).slice(197))
})

test('when one request of a call fails the others are given up', async () => {
  rude.manners = ({ range }) => (range === 'bytes=100-100' ? { status: 400 } : { stall: 0 })
  const store = new HttpStore({ maxGapBytes: 0 })
  const ranges = [0, 50, 100, 150].map((offset) => ({ offset, length: 1 }))
  await expect(store.getRanges(url, ranges, { ifMatch: '"v1"' })).rejects.toMatchObject({ details: { actual: 400 } })
  await rude.idle()
})

describe('in a browser', () => {
  afterEach(() => vi.unstubAllGlobals())
  const page = (origin: string): void => {
    vi.stubGlobal('document', {})
    vi.stubGlobal('origin', origin)
    vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (X11; Linux x86_64)' })
  }
  const SAFE = ['content-length', 'last-modified']
  let asked: Parameters<Fetch>[1][] = []
  beforeEach(() => {
    asked = []
  })
  /** Shows of an answer what a page sees of a server that exposes nothing. */
  const hiding: Fetch = async (where, init) => {
    asked.push(init)
    const { status, headers, body } = await fetch(where, init)
    const get = (name: string) => (SAFE.includes(name) ? headers.get(name) : null)
    return { status, headers: { get }, body, arrayBuffer: () => Promise.reject(new Error('not needed')) }
  }

  test('of another origin: no request that costs a preflight, and nothing needed that is hidden', async () => {
    page('https://page.example')
    const store = new HttpStore({ fetch: hiding, retryDelay: 1 })
    const tail = (await store.getTail(url, 10))!
    expect(tail).toEqual({ size: 200, etag: expect.stringMatching(/^modified:200 /), bytes: counting(200).slice(190) })
    expect(await store.getRange(url, 3, 2, { ifMatch: tail.etag })).toEqual(Uint8Array.of(3, 4))
    expect(rude.log).toEqual(['HEAD', 'GET bytes=190-199', 'GET bytes=3-4'])
    await store.getRange(url, 3, 2, { ifMatch: '"v1"' })
    const names = asked.flatMap(({ headers }) => Object.keys(headers))
    expect(new Set(names)).toEqual(new Set(['range']))
    expect(asked.every(({ cache }) => cache === 'no-store')).toBe(true)
    await expect(store.getRange(url, 195, 10)).rejects.toMatchObject({
      tag: 'FormatError',
      details: { actual: 200, expected: 205 },
    })
    await expect(store.getRange(url, 300, 1)).rejects.toMatchObject({
      tag: 'FormatError',
      details: { actual: 200, expected: 301 },
    })
    rude.put('x.af', counting(200).reverse())
    await expect(store.getRange(url, 3, 2, { ifMatch: tail.etag })).rejects.toMatchObject({ tag: 'ConflictError' })
  })

  test('a size that is hidden: the message tells the header', async () => {
    page('https://page.example')
    rude.manners = { head: 405 }
    await expect(new HttpStore({ fetch: hiding }).stat(url)).rejects.toThrow('Content-Range')
  })

  test('of its own origin: suffix ranges and If-Match as elsewhere', async () => {
    page(rude.origin)
    const store = new HttpStore()
    const { etag } = (await store.getTail(url, 10))!
    await store.getRange(url, 0, 1, { ifMatch: etag })
    expect(rude.log).toEqual(['GET bytes=-10', 'GET bytes=0-0'])
    expect(rude.seen[1]!.headers['if-match']).toBe('"v1"')
  })

  test('server runtimes with names of browsers are none', async () => {
    page('https://page.example')
    for (const userAgent of ['Cloudflare-Workers', 'Deno/2.9.1', 'Bun/1.4.0']) {
      vi.stubGlobal('navigator', { userAgent })
      await new HttpStore().getTail(url, 1)
    }
    expect(rude.log).toEqual(Array.from({ length: 3 }, () => 'GET bytes=-1'))
  })

  test('six requests at a time in workerd', async () => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
    const endless = vi.fn(() => new Promise<never>(() => {}))
    const store = new HttpStore({ fetch: endless })
    for (let i = 0; i < 30; i++) void store.getRange(url, i, 1)
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(endless).toHaveBeenCalledTimes(6)
  })

  test('no fetch at all', async () => {
    vi.stubGlobal('fetch', undefined)
    await expect(new HttpStore().stat(url)).rejects.toMatchObject({ tag: 'UnsupportedError' })
  })
})
