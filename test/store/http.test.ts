import { describe, expect, test } from 'vitest'
import type { RequestLog } from '../../src/store/requester.ts'
import type { Manners, RudeServer } from '../support/rude-server.ts'
import { counting, serve, slow } from '../support/served.ts'

const MIB = 2 ** 20

let rude: RudeServer
let url: string
serve(100, (server, address) => {
  rude = server
  url = address
})

describe('a server that', () => {
  const once =
    (manners: Manners, times = 1) =>
    (_: unknown, nth: number): Manners =>
      nth < times ? manners : {}

  test.each<[string, Manners]>([
    ['is overloaded', { status: 503 }],
    ['asks to slow down', { status: 429, retryAfter: '0' }],
    ['drops connections without an answer', { drop: 0 }],
    ['drops connections in the middle', { drop: 5 }],
    ['truncates bodies', { short: 3 }],
  ])('%s is asked again, but not for ever', async (_, manners) => {
    rude.manners = once(manners, 4)
    expect(await slow().getRange(url, 10, 10)).toEqual(counting(20).slice(10))
    expect(rude.seen.length).toBe(5)
    rude.seen.length = 0
    rude.manners = manners
    await expect(slow({ retries: 2 }).getRange(url, 10, 10)).rejects.toMatchObject({ tag: 'StoreError', details: { file: url } })
    expect(rude.seen.length).toBe(3)
    rude.seen.length = 0
    await expect(slow({ retries: 0 }).getTail(url, 10)).rejects.toMatchObject({ tag: 'StoreError' })
    expect(rude.seen.length).toBe(1)
  })

  test('truncates bodies is quoted with numbers', async () => {
    rude.manners = { short: 3 }
    await expect(slow({ retries: 1 }).getRange(url, 10, 10)).rejects.toMatchObject({ details: { actual: 7, expected: 10 } })
  })

  test('is not there', async () => {
    const error = await slow({ retries: 1 })
      .stat('http://127.0.0.1:1/x.af')
      .catch((e: unknown) => e)
    expect(error).toMatchObject({ tag: 'StoreError', details: { file: 'http://127.0.0.1:1/x.af' } })
  })

  test('asks to wait longer than anybody would', async () => {
    rude.manners = { status: 503, retryAfter: '86400' }
    await expect(slow().stat(url)).rejects.toMatchObject({ tag: 'StoreError', details: { actual: 503 } })
    expect(rude.seen.length).toBe(1)
  })

  test.each([400, 401, 403, 405, 501])('answers %i is not asked again', async (status) => {
    rude.manners = { status }
    await expect(slow().getRange(url, 0, 1)).rejects.toMatchObject({ tag: 'StoreError', details: { actual: status } })
    expect(rude.seen.length).toBe(1)
  })

  test('says 403 for what is missing: the message tells the option, which helps', async () => {
    rude.manners = { missing: 403 }
    const none = `${rude.origin}/none.af`
    await expect(slow().stat(none)).rejects.toThrow('notFound: [403, 404, 410]')
    expect(await slow({ notFound: [403, 404] }).stat(none)).toBeUndefined()
  })

  test.each([
    ['an earlier one', 'bytes 9-18/100'],
    ['a later one', 'bytes 11-20/100'],
    ['a shorter one', 'bytes 10-18/100'],
  ])('sends another range, %s, than was asked for', async (_, contentRange) => {
    rude.manners = { contentRange }
    // An earlier range would do if its bytes reached the end. Here one byte is missing.
    await expect(slow({ retries: 0 }).getRange(url, 10, 10)).rejects.toMatchObject({
      tag: 'StoreError',
      details: { expected: [10, 20] },
    })
  })

  test.each([
    ['none', null],
    ['nonsense', 'bytes ten to twenty'],
  ])('tells no range with a part: %s', async (_, contentRange) => {
    rude.manners = { contentRange }
    await expect(slow().getRange(url, 10, 10)).rejects.toMatchObject({ tag: 'StoreError', details: { actual: contentRange } })
  })

  test('says that the object ends earlier', async () => {
    rude.manners = { contentRange: 'bytes 10-19/15' }
    await expect(slow().getRange(url, 10, 10)).rejects.toMatchObject({
      tag: 'FormatError',
      details: { actual: 15, expected: 20 },
    })
    rude.manners = ({ method }) => (method === 'GET' ? { status: 416 } : {})
    await expect(slow().getRange(url, 10, 10)).rejects.toMatchObject({ details: { actual: 416 } })
  })

  test('compresses', async () => {
    rude.manners = { gzip: true }
    for (const read of [
      () => slow().getRange(url, 10, 10),
      () => slow().getTail(url, 10),
      () => slow().stat(url),
      () => slow().getRange(url, 0, 0),
    ]) {
      await expect(read()).rejects.toMatchObject({ tag: 'UnsupportedError', details: { actual: 'gzip' } })
    }
    // Whole objects are decompressed on the way; what is cut out of them is right.
    rude.manners = { gzip: true, ignoreRange: true }
    expect(await slow().getRange(url, 10, 10)).toEqual(counting(20).slice(10))
    await expect(slow().getRange(url, 95, 10)).rejects.toMatchObject({
      tag: 'FormatError',
      details: { actual: 100, expected: 105 },
    })
    await expect(slow().stat(url)).rejects.toMatchObject({ tag: 'UnsupportedError' })
  })

  test('tells no size with HEAD, or nowhere', async () => {
    rude.manners = { noHeadLength: true }
    expect((await slow().stat(url))!.size).toBe(100)
    expect(rude.log).toEqual(['HEAD', 'GET bytes=0-0'])
    rude.manners = { noHeadLength: true, noLength: true, ignoreRange: true }
    await expect(slow().stat(url)).rejects.toMatchObject({ tag: 'UnsupportedError' })
    expect(await slow().getRange(url, 98, 2)).toEqual(Uint8Array.of(98, 99))
  })

  test('ignores Range sends no more than is needed, and not too much', async () => {
    const large = rude.put('large.af', new Uint8Array(80 * MIB))
    rude.manners = { ignoreRange: true }
    const log: RequestLog[] = []
    const store = slow({ onRequest: (request) => log.push(request) })
    expect(await store.getRange(large, 10, 10)).toEqual(new Uint8Array(10))
    expect(log[0]!.bytes).toBeLessThan(20 * MIB)
    await rude.idle()
    await expect(store.getRange(large, 64 * MIB + 1, 1)).rejects.toMatchObject({
      tag: 'UnsupportedError',
      message: expect.stringContaining('does not answer range requests'),
    })
    await rude.idle()
  })

  test('sends everything for a tail is told to stop, and asked for the end', async () => {
    const large = rude.put('large.af', new Uint8Array(8 * MIB).fill(1))
    rude.manners = { suffix: 'ignored' }
    expect((await slow().getTail(large, 4))!.bytes).toEqual(Uint8Array.of(1, 1, 1, 1))
    expect(rude.log).toEqual(['GET bytes=-4', `GET bytes=${8 * MIB - 4}-${8 * MIB - 1}`])
  })
})

describe('an object that changes', () => {
  const now = new Uint8Array(100).fill(7)

  test.each<[string, Manners]>([
    ['with If-Match', {}],
    ['by the tag of the answer', { ifMatch: 'ignored' }],
    ['by a weak tag', { weakEtag: true }],
    ['by the date', { noEtag: true }],
  ])('is noticed %s', async (_, manners) => {
    rude.manners = manners
    const store = slow()
    const { etag } = (await store.getTail(url, 1))!
    rude.put('x.af', now)
    await expect(store.getRange(url, 0, 1, { ifMatch: etag })).rejects.toMatchObject({ tag: 'ConflictError' })
  })

  test('a changed object is noticed by its size if the server sends no version', async () => {
    rude.manners = { noEtag: true, noModified: true }
    const store = slow()
    const { etag } = (await store.stat(url))!
    expect(etag).toBe('size-only:100')
    rude.put('x.af', now)
    expect(await store.getRange(url, 0, 1, { ifMatch: etag })).toEqual(Uint8Array.of(7))
    rude.put('x.af', now.subarray(1))
    await expect(store.getRange(url, 0, 1, { ifMatch: etag })).rejects.toMatchObject({ tag: 'ConflictError' })
    // Asked for beyond its new end: replaced, not truncated.
    await expect(store.getRange(url, 99, 1, { ifMatch: etag })).rejects.toMatchObject({ tag: 'ConflictError' })
  })

  test('between size and tail is read again', async () => {
    rude.manners = (_, nth) => {
      if (nth === 2) rude.put('x.af', now.subarray(50))
      return { suffix: 'refused' }
    }
    expect(await slow().getTail(url, 2)).toEqual({ size: 50, etag: '"v2"', bytes: Uint8Array.of(7, 7) })
  })

  test('all the time is given up', async () => {
    rude.manners = () => {
      rude.put('x.af', now)
      return { suffix: 'refused' }
    }
    await expect(slow().getTail(url, 2)).rejects.toMatchObject({ tag: 'ConflictError' })
  })

  test('and is gone then is missing', async () => {
    rude.manners = (_, nth) => (nth > 0 ? { status: 404 } : {})
    const store = slow()
    const { etag } = (await store.stat(url))!
    expect(await store.getRange(url, 0, 1, { ifMatch: etag })).toBeUndefined()
  })
})
