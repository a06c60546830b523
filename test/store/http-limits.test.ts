import { describe, expect, test, vi } from 'vitest'
import type { Fetch } from '../../src/store/http/fetch.ts'
import { HttpStore, type HttpStoreOptions } from '../../src/store/http/http.ts'
import type { RequestLog } from '../../src/store/requester.ts'
import { S3Store } from '../../src/store/s3/s3.ts'
import type { Manners, RudeServer } from '../support/rude-server.ts'
import { counting, serve } from '../support/served.ts'

let rude: RudeServer
let url: string
serve(2000, (server, address) => {
  rude = server
  url = address
})

const QUICK = { answerTimeout: 60, silenceTimeout: 60, retries: 0 }

const passed = (limit: string) => ({
  tag: 'StoreError',
  details: { limit, file: url },
  message: expect.stringContaining(`(${limit})`),
})

/** Fails unless `work` ends within 3 s, as what hangs would. */
const soon = <T>(work: Promise<T>): Promise<T> =>
  Promise.race([work, new Promise<never>((_, reject) => setTimeout(reject, 3000, new Error('still waiting after 3 s')))])

describe('a server that takes too long is left, on the wire too', () => {
  const READS: [string, (store: HttpStore) => Promise<unknown>][] = [
    ['stat', (store) => store.stat(url)],
    ['getRange', (store) => store.getRange(url, 0, 2000)],
    ['getTail', (store) => store.getTail(url, 2000)],
    ['answersAlike', (store) => store.answersAlike(url, url)],
  ]

  test.each(READS)('%s: no answer', async (_, read) => {
    rude.manners = { mute: true }
    await expect(soon(read(new HttpStore(QUICK)))).rejects.toMatchObject(passed('answerTimeout'))
    await soon(rude.idle())
    expect(rude.seen.length).toBe(1)
  })

  test.each(READS.slice(1))('%s: silence within the answer', async (_, read) => {
    rude.manners = { stall: 5 }
    await expect(soon(read(new HttpStore(QUICK)))).rejects.toMatchObject(passed('silenceTimeout'))
    await soon(rude.idle())
  })

  test('in a browser, which lets requests wait for connections, the head of an answer may come late while others do', async () => {
    const other = rude.put('y.af', counting(10))
    rude.manners = ({ url: path }) => (path === '/y.af' ? { delay: 300 } : { drip: 20 })
    const both = (store: HttpStore) => Promise.allSettled([store.getRange(other, 0, 10), store.getRange(url, 0, 2000)])
    expect((await soon(both(new HttpStore(QUICK))))[0]).toMatchObject({ reason: { details: { limit: 'answerTimeout' } } })
    vi.stubGlobal('document', {})
    vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (X11; Linux x86_64)' })
    try {
      expect((await soon(both(new HttpStore(QUICK))))[0]).toMatchObject({ value: counting(10) })
      await expect(soon(new HttpStore(QUICK).getRange(other, 0, 10))).rejects.toMatchObject({
        details: { limit: 'answerTimeout' },
      })
    } finally {
      vi.unstubAllGlobals()
    }
  })

  test('bytes that come one by one: the rate tells, of which there is none before the answer has settled', async () => {
    // About 200 to 1000 bytes/s.
    rude.manners = { drip: 1 }
    const store = new HttpStore({ ...QUICK, minBytesPerSecond: 50_000 })
    await expect(soon(store.getRange(url, 0, 2000))).rejects.toMatchObject({
      ...passed('minBytesPerSecond'),
      message: expect.stringMatching(/slower than 50000 bytes\/s: \d+ bytes in \d+ ms/),
    })
    await soon(rude.idle())
    // An answer may take longer than any of the limits as long as it comes.
    rude.manners = { drip: 20 }
    expect(await soon(new HttpStore({ ...QUICK, minBytesPerSecond: 10 }).getRange(url, 0, 2000))).toEqual(counting(2000))
  })

  test('a `fetch` that takes no notice of signals, and bodies that come as a whole', async () => {
    const deaf: Fetch = (where, { signal: _, ...init }) => fetch(where, init)
    rude.manners = { mute: true }
    await expect(soon(new HttpStore({ ...QUICK, fetch: deaf }).stat(url))).rejects.toMatchObject(passed('answerTimeout'))
    const whole: Fetch = async (where, init) => {
      const { status, headers } = await fetch(where, { ...init, method: 'HEAD' })
      return { status, headers, arrayBuffer: () => new Promise(() => {}) }
    }
    rude.manners = { ignoreRange: true }
    const store = new HttpStore({ ...QUICK, fetch: whole, minBytesPerSecond: 1e6 })
    await expect(soon(store.getRange(url, 0, 10))).rejects.toMatchObject(passed('silenceTimeout'))
  })

  test('is asked again', async () => {
    const log: RequestLog[] = []
    const store = new HttpStore({ ...QUICK, retries: 1, retryDelay: 100, onRequest: (request) => log.push(request) })
    rude.manners = (_, nth) => (nth === 0 ? { mute: true } : {})
    expect(await soon(store.getRange(url, 3, 2))).toEqual(Uint8Array.of(3, 4))
    expect(log).toMatchObject([{ attempts: 2, status: 206 }])
  })

  test('sending has the time that the bytes need', async () => {
    rude.manners = { delay: 200 }
    const store = new S3Store({ bucket: 'b', endpoint: rude.origin, ...QUICK, minBytesPerSecond: 1000 })
    rude.put('b/x', counting(1))
    await soon(store.put('x', counting(1000)))
    await expect(soon(store.put('x', counting(1)))).rejects.toMatchObject({ details: { limit: 'answerTimeout' } })
    await expect(soon(store.list!(''))).rejects.toMatchObject({ details: { limit: 'answerTimeout' } })
  })

  test('a program that is busy with something else has not waited', async () => {
    const body = () => {
      let left = 6
      const read = async () => {
        await new Promise((resolve) => setTimeout(resolve, 5))
        return left-- > 0 ? { done: false, value: counting(2) } : { done: true }
      }
      return { getReader: () => ({ read, cancel: async () => undefined }), cancel: async () => undefined }
    }
    const headers = new Headers({ 'content-range': 'bytes 0-11/12', etag: '"1"' })
    const fake: Fetch = async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return { status: 206, headers, body: body(), arrayBuffer: () => Promise.reject(new Error('not needed')) }
    }
    const store = new HttpStore({ ...QUICK, fetch: fake, minBytesPerSecond: 100 })
    const reading = store.getRange(url, 0, 12)
    for (let blocks = 0; blocks < 3; blocks++) {
      await new Promise((resolve) => setTimeout(resolve, 8))
      for (const start = Date.now(); Date.now() - start < 150; );
    }
    expect((await soon(reading))!.length).toBe(12)
  })
})

describe('patience', () => {
  test('patience bounds the whole wait: a server that never answers is not retried as often as allowed', async () => {
    rude.manners = { mute: true }
    const store = new HttpStore({ ...QUICK, retries: 50, retryDelay: 1, patience: 150 })
    await expect(soon(store.stat(url))).rejects.toMatchObject(passed('answerTimeout'))
    expect(rude.seen.length).toBe(3)
  })

  test('patience bounds the wait that Retry-After requests', async () => {
    const asks = (retryAfter: string, options: HttpStoreOptions) => {
      rude.seen.length = 0
      rude.manners = (_, nth): Manners => (nth === 0 ? { status: 503, retryAfter } : {})
      return soon(new HttpStore({ retryDelay: 1, ...options }).getRange(url, 0, 1))
    }
    await expect(asks('2', { patience: 1000 })).rejects.toThrow('the server answered 503 and asks to wait 2 s')
    expect(rude.seen.length).toBe(1)
    await expect(asks(new Date(Date.now() + 50_000).toUTCString(), { patience: 10_000 })).rejects.toThrow(
      /asks to wait (49|50) s/,
    )
    expect(await asks('1', { patience: 1500 })).toEqual(Uint8Array.of(0))
    expect(rude.seen.length).toBe(2)
    // By default a minute.
    const refused = asks('61', {})
    await expect(refused).rejects.toThrow('asks to wait 61 s')
    await expect(refused).rejects.toMatchObject({ details: { limit: 'patience', expected: 60_000, actual: 503 } })
  })
})

test('limits that are none are refused; without limits a request waits', async () => {
  for (const options of [
    { answerTimeout: 0 },
    { silenceTimeout: -1 },
    { minBytesPerSecond: Number.NaN },
    { patience: '1' },
  ] as HttpStoreOptions[])
    expect(() => new HttpStore(options), JSON.stringify(options)).toThrow(
      expect.objectContaining({ tag: 'InvalidArgumentError' }),
    )
  const endless = { answerTimeout: Number.POSITIVE_INFINITY, silenceTimeout: Number.POSITIVE_INFINITY, minBytesPerSecond: 0 }
  rude.manners = { delay: 30 }
  expect(await new HttpStore(endless).getRange(url, 0, 1)).toEqual(Uint8Array.of(0))
})

test('a text without end is refused', async () => {
  let given = 0
  const mebibyte = new Uint8Array(2 ** 20).fill(32)
  const read = async () => ({ done: false, value: given++ < 100 ? mebibyte : undefined })
  const body = { getReader: () => ({ read, cancel: async () => undefined }), cancel: async () => undefined }
  const fake: Fetch = async () => ({ status: 200, headers: new Headers(), body, arrayBuffer: async () => new ArrayBuffer(0) })
  const store = new S3Store({ bucket: 'b', fetch: fake, retries: 0 })
  await expect(store.list!('')).rejects.toMatchObject({ tag: 'StoreError', details: { expected: 16 * 2 ** 20 } })
  expect(given).toBe(17)
})
