import { describe, expect, test } from 'vitest'
import type { FetchInit } from '../../src/store/http/fetch.ts'
import type { HttpStoreOptions } from '../../src/store/http/http.ts'
import type { RequestLog } from '../../src/store/requester.ts'
import type { RudeServer } from '../support/rude-server.ts'
import { counting, serve, slow } from '../support/served.ts'

let rude: RudeServer
let url: string
serve(100, (server, address) => {
  rude = server
  url = address
})

describe('what is asked for', () => {
  test('HEAD for the size, one request for a tail, one for ranges close to each other', async () => {
    const store = slow()
    const info = (await store.stat(url))!
    expect(info).toEqual({ size: 100, etag: '"v1"' })
    expect((await store.getTail(url, 10))!.etag).toBe(info.etag)
    await store.getRanges(url, [
      { offset: 5, length: 5 },
      { offset: 50, length: 5 },
    ])
    expect(rude.log).toEqual(['HEAD', 'GET bytes=-10', 'GET bytes=5-54'])
  })

  test('a version is asked for with If-Match, unless its tag is weak', async () => {
    const store = slow()
    await store.getRange(url, 0, 1, { ifMatch: '"v1"' })
    rude.manners = { weakEtag: true }
    await store.getRange(url, 0, 1, { ifMatch: 'W/"v1"' })
    expect(rude.seen.map(({ headers }) => headers['if-match'])).toEqual(['"v1"', undefined])
    // Node's fetch says it once more for ranges.
    for (const { headers } of rude.seen) expect(headers['accept-encoding']).toMatch(/^identity(, identity)?$/)
  })

  test('many ranges far apart without a version: the version first, which all must have', async () => {
    const store = slow({ maxGapBytes: 0 })
    const ranges = [
      { offset: 0, length: 1 },
      { offset: 50, length: 1 },
    ]
    await store.getRanges(url, ranges)
    expect(rude.log.sort()).toEqual(['GET bytes=0-0', 'GET bytes=50-50', 'HEAD'])
    // Replaced after the first of them: started again.
    let replaced = false
    rude.manners = ({ range }) => {
      if (range === 'bytes=50-50' && !replaced) {
        replaced = true
        rude.put('x.af', new Uint8Array(100).fill(7))
      }
      return {}
    }
    expect(await store.getRanges(url, ranges)).toEqual([Uint8Array.of(7), Uint8Array.of(7)])
  })

  test('what a server does not do is not tried again', async () => {
    const store = slow()
    rude.manners = { head: 405, suffix: 'refused', ifMatch: 'misread' }
    for (let round = 0; round < 2; round++) {
      expect((await store.getTail(url, 5))!.bytes).toEqual(counting(100).slice(95))
    }
    // Refused suffix; HEAD, first byte, 412, first byte to compare versions, tail; from then on nothing in
    // vain.
    expect(rude.log).toEqual([
      'GET bytes=-5',
      'HEAD',
      'GET bytes=0-0',
      'GET bytes=95-99',
      'GET bytes=0-0',
      'GET bytes=95-99',
      'GET bytes=0-0',
      'GET bytes=95-99',
    ])
  })

  test('the query belongs to the store and to no message; a query in a key works, too', async () => {
    const store = slow({ query: '?sig=secret%2B', notFound: [404] })
    await store.getRange(url, 0, 1)
    await store.stat(`${url}?a=1#part`)
    expect(rude.seen.map(({ url }) => url)).toEqual(['/x.af?sig=secret%2B', '/x.af?a=1&sig=secret%2B'])
    rude.manners = { status: 403 }
    const error = await store.stat(`${url}?a=1`).catch((e: Error) => e.message)
    expect(error).toContain('answered 403')
    expect(error).not.toMatch(/secret|a=1/)
  })

  test('headers and a fetch of one’s own', async () => {
    const asked: FetchInit[] = []
    const store = slow({
      headers: { authorization: 'Bearer x' },
      fetch: (where, init) => {
        asked.push(init)
        return fetch(where, init)
      },
    })
    await store.getRange(url, 0, 1)
    expect(rude.seen[0]!.headers.authorization).toBe('Bearer x')
    expect(asked.length).toBe(1)
    // The platform's own fits the type, and bodies may come as a whole.
    expect(await slow({ fetch }).getRange(url, 3, 1)).toEqual(Uint8Array.of(3))
    const whole: HttpStoreOptions['fetch'] = async (where, init) => {
      const { status, headers, ...rest } = await fetch(where, init).then(async (r) => ({
        status: r.status,
        headers: r.headers,
        body: null,
        bytes: await r.arrayBuffer(),
      }))
      return { status, headers, arrayBuffer: async () => rest.bytes }
    }
    rude.manners = { ignoreRange: true }
    expect(await slow({ fetch: whole }).getRange(url, 3, 2)).toEqual(Uint8Array.of(3, 4))
  })

  test('every request is told about, with its attempts', async () => {
    const log: RequestLog[] = []
    const store = slow({ onRequest: (request) => log.push(request), query: 'sig=1' })
    rude.manners = (_, nth) => (nth < 2 ? { status: 503 } : {})
    await store.getRange(url, 10, 20)
    await store.getTail(url, 7)
    await store.stat(`${rude.origin}/none`)
    expect(log).toEqual([
      { method: 'GET', url, range: { offset: 10, length: 20 }, status: 206, bytes: 20, attempts: 3 },
      { method: 'GET', url, range: { offset: -7, length: 7 }, status: 206, bytes: 7, attempts: 1 },
      { method: 'HEAD', url: `${rude.origin}/none`, status: 404, bytes: 0, attempts: 1 },
      { method: 'GET', url: `${rude.origin}/none`, range: { offset: 0, length: 1 }, status: 404, bytes: 0, attempts: 1 },
    ])
  })

  test.each([
    ['a relative path', 'x.af', /absolute/],
    ['another scheme', 'ftp://h/x.af', /absolute/],
    ['a password', 'http://u:geheim@h/x.af', /headers/],
  ])('%s is refused before anything is sent', async (_, key, message) => {
    const error = await slow()
      .stat(key)
      .catch((e: unknown) => e)
    expect(error).toMatchObject({ tag: 'InvalidArgumentError', message: expect.stringMatching(message) })
    expect(String(error)).not.toContain('geheim')
  })
})
