import { describe, expect, test } from 'vitest'
import type { Manners, RudeServer } from '../support/rude-server.ts'
import { counting, serve, slow } from '../support/served.ts'

let rude: RudeServer
let url: string
serve(100, (server, address) => {
  rude = server
  url = address
})

const PAGE = new TextEncoder().encode('<!doctype html><p>The page for every name.</p>')

describe('a whole object is asked for by one request without a range', () => {
  test.each<[string, Manners]>([
    ['with its length', {}],
    ['without its length', { noLength: true }],
    ['compressed in transfer', { gzip: true }],
    ['of a server that knows no ranges', { ignoreRange: true }],
  ])('%s', async (_, manners) => {
    rude.manners = manners
    expect(await slow().get(url)).toEqual({ size: 100, etag: '"v1"', bytes: counting(100) })
    expect(rude.log).toEqual(['GET'])
  })

  test('larger than the guess, in many pieces, without its length', async () => {
    rude.manners = { noLength: true, drip: 300_000 }
    const large = new Uint8Array(2_000_003).fill(7)
    const found = (await slow().get(rude.put('large', large)))!
    expect(found.bytes.length).toBe(large.length)
    expect(found.bytes.every((byte) => byte === 7)).toBe(true)
    expect(found.bytes.buffer.byteLength).toBe(large.length)
  })

  test.each<[string, Manners]>([
    ['drops the connection', { drop: 30 }],
    ['answers 503', { status: 503 }],
  ])('again when the server %s; never missing for that', async (_, manners) => {
    rude.manners = (_seen, nth) => (nth === 0 ? manners : {})
    expect((await slow().get(url))!.bytes).toEqual(counting(100))
    expect(rude.log).toEqual(['GET', 'GET'])
    rude.manners = manners
    await expect(slow({ retries: 1 }).get(url)).rejects.toMatchObject({ tag: 'StoreError', details: { file: url } })
  })

  test.each<[string, Manners, number]>([
    ['by its length', {}, 0],
    ['while it comes', { noLength: true, drip: 20 }, 50_000],
  ])('one that is too large is refused %s', async (_, manners, most) => {
    rude.manners = manners
    const large = rude.put('large', new Uint8Array(100_000))
    let bytes = 0
    const store = slow({
      onRequest: (request) => {
        bytes += request.bytes
      },
    })
    await expect(store.get(large, { maxBytes: 40 })).rejects.toMatchObject({
      tag: 'TooLargeError',
      details: { file: large, expected: 40 },
    })
    expect(bytes).toBeLessThanOrEqual(most)
  })
})

describe('what is not there', () => {
  test.each([404, 410])('answered %i is undefined, by one request', async (missing) => {
    rude.manners = { missing }
    expect(await slow().get(`${rude.origin}/none`)).toBeUndefined()
    expect(rude.log).toEqual(['GET'])
  })

  test('answered 403 is an error that names the option, which helps', async () => {
    rude.manners = { missing: 403 }
    await expect(slow().get(`${rude.origin}/none`)).rejects.toThrow('notFound: [403, 404, 410]')
    expect(await slow({ notFound: [403] }).get(`${rude.origin}/none`)).toBeUndefined()
  })

  test('answered with the page that every name has is undefined; the page is asked for once', async () => {
    rude.manners = { page: PAGE }
    const store = slow()
    expect(await store.get(`${rude.origin}/a/none`)).toBeUndefined()
    expect(await store.get(`${rude.origin}/a/b/other`)).toBeUndefined()
    expect((await store.get(url))!.bytes).toEqual(counting(100))
    expect(rude.seen.length).toBe(4)
  })

  test('a page that only one name has is an object, and the server is asked once for what another name has', async () => {
    rude.manners = ({ url: path }) => (path.includes('index') ? { page: PAGE } : {})
    const store = slow()
    for (const name of ['index', 'index.html']) expect((await store.get(`${rude.origin}/${name}`))!.bytes).toEqual(PAGE)
    expect(rude.seen.length).toBe(3)
  })
})
