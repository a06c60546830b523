import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Fetch } from '../../src/store/http/fetch.ts'
import { HttpStore, type HttpStoreOptions } from '../../src/store/http/http.ts'
import { S3Store } from '../../src/store/s3/s3.ts'
import { RudeServer, type Seen } from '../support/rude-server.ts'
import { counting } from '../support/served.ts'

let one: RudeServer
let other: RudeServer
beforeAll(async () => {
  one = await RudeServer.start()
  other = await RudeServer.start()
})
afterAll(() => Promise.all([one.stop(), other.stop()]))
beforeEach(() => {
  one.reset()
  other.reset()
  for (const server of [one, other]) for (const name of ['x.af', 'b/x.af']) server.put(name, counting(50))
})

const SECRETS = { authorization: 'Bearer geheim', 'x-api-key': 'geheim', cookie: 'a=geheim', 'X-Custom': 'geheim' }
const CREDENTIALS = { accessKeyId: 'geheim-id', secretAccessKey: 'key', sessionToken: 'geheim-token' }

/** Returns the secrets of the first server that the second one received. */
const leaked = ({ seen }: RudeServer): unknown =>
  seen
    .flatMap(({ url, headers }) => [url, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)])
    .filter((text) => /geheim|x-amz-/i.test(text))

/** The first server sends everything to the second. */
const sendAway = (path = '/x.af', status = 307): void => {
  one.manners = { redirect: `${other.origin}${path}`, status }
}

const STORES: [string, () => HttpStore | S3Store, string][] = [
  ['HttpStore with headers', () => new HttpStore({ headers: SECRETS }), '/x.af'],
  [
    'HttpStore with a fetch that adds some',
    () => new HttpStore({ fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, ...SECRETS } }) }),
    '/x.af',
  ],
  ['S3Store', () => new S3Store({ bucket: 'b', endpoint: one.origin, credentials: CREDENTIALS, headers: SECRETS }), '/b/x.af'],
]

describe.each(STORES)('%s', (_, make, path) => {
  const key = () => (path === '/x.af' ? `${one.origin}${path}` : 'x.af')

  test.each([301, 302, 303, 307, 308])(
    'a request follows %i to another origin without credentials and headers',
    async (status) => {
      sendAway(path, status)
      const store = make()
      const { etag } = (await store.stat(key()))!
      expect(await store.getRange(key(), 3, 2, { ifMatch: etag })).toEqual(Uint8Array.of(3, 4))
      expect((await store.getTail(key(), 2))!.bytes).toEqual(Uint8Array.of(48, 49))
      expect(leaked(other)).toEqual([])
      expect(other.log).toEqual(['HEAD', 'GET bytes=3-4', 'GET bytes=-2'])
      expect(other.seen[1]!.headers['if-match']).toBe(etag)
      expect((leaked(one) as string[]).length).toBeGreaterThan(0)
    },
  )

  test('sends them along within the origin', async () => {
    one.manners = ({ url }: Seen) => (url.includes('?') ? {} : { redirect: `${path}?moved` })
    expect(await make().getRange(key(), 3, 2)).toEqual(Uint8Array.of(3, 4))
    const [first, second] = one.seen.map(({ headers }) => headers)
    expect(second!['x-api-key']).toBe('geheim')
    expect(second!.authorization === undefined).toBe(first!.authorization === undefined)
    // Signed for the place it goes to.
    if (path !== '/x.af') expect(second!.authorization).not.toBe(first!.authorization)
  })

  test('sends nothing along any more once it was elsewhere', async () => {
    one.manners = ({ url }: Seen) => (url.includes('?') ? {} : { redirect: `${other.origin}/away` })
    other.manners = { redirect: `${one.origin}${path}?back` }
    expect(await make().getRange(key(), 3, 2)).toEqual(Uint8Array.of(3, 4))
    expect(one.seen[1]!.headers).not.toHaveProperty('x-api-key')
    expect(one.seen[1]!.headers).not.toHaveProperty('authorization')
  })

  test.each([401, 403])('says why it was refused there (%i), though that may mean missing', async (status) => {
    sendAway(path)
    other.manners = { status }
    const reading = make().getRange(key(), 0, 1)
    await expect(reading).rejects.toThrow(`the server redirects to ${other.origin}, where neither credentials nor headers`)
    await expect(reading).rejects.toMatchObject({ tag: 'StoreError', details: { actual: status } })
  })

  test('goes round in circles only so often, and to nothing but HTTP', async () => {
    one.manners = { redirect: path }
    await expect(make().stat(key())).rejects.toThrow('redirects more than 20 times')
    expect(one.seen.length).toBe(21)
    for (const redirect of ['file:///etc/passwd', 'http://geheim@127.0.0.1/', 'http://']) {
      one.manners = { redirect }
      await expect(make().stat(key()), redirect).rejects.toThrow('neither http: nor https:')
    }
  })
})

test('without anything to protect redirects are left to the platform', async () => {
  sendAway()
  expect(await new HttpStore().getRange(`${one.origin}/x.af`, 3, 2)).toEqual(Uint8Array.of(3, 4))
})

describe('writing', () => {
  const store = () => new S3Store({ bucket: 'b', endpoint: one.origin, credentials: CREDENTIALS })

  test('is sent on within the origin, with its body', async () => {
    one.manners = ({ url }: Seen) => (url.includes('?') ? {} : { redirect: '/b/x.af?moved' })
    await store().put('x.af', counting(7))
    expect(one.seen.map(({ method, headers }) => [method, headers['content-length']])).toEqual([
      ['PUT', '7'],
      ['PUT', '7'],
    ])
  })

  test('is not sent elsewhere, nor made a GET', async () => {
    sendAway('/b/x.af')
    await expect(store().put('x.af', counting(7))).rejects.toThrow(`redirects a PUT to ${other.origin} (307)`)
    await expect(store().delete('x.af')).rejects.toThrow(`redirects a DELETE to ${other.origin}`)
    // After a failure it is looked whether the object was written all the same.
    expect(new Set(other.log)).toEqual(new Set(['HEAD']))
    expect(leaked(other)).toEqual([])
    one.manners = { redirect: '/b/x.af?moved', status: 302 }
    await expect(store().put('x.af', counting(7))).rejects.toThrow('redirects a PUT')
  })
})

describe('in a browser, only requests without headers follow redirects', () => {
  afterEach(() => vi.unstubAllGlobals())
  const page = (): void => {
    vi.stubGlobal('document', {})
    vi.stubGlobal('origin', one.origin)
    vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (X11; Linux x86_64)' })
  }
  const real = globalThis.fetch
  /** Fetch as a page has it: redirects are opaque. */
  const opaque: Fetch = async (url, init) => {
    const response = await real(url, init)
    if (init.redirect !== 'manual' || response.status < 300 || response.status > 399) return response
    return { status: 0, type: 'opaqueredirect', headers: new Headers(), body: null, arrayBuffer: async () => new ArrayBuffer(0) }
  }

  test.each<[string, HttpStoreOptions]>([
    ['headers', { headers: { 'x-api-key': 'geheim' } }],
    ['a fetch', { fetch: opaque }],
  ])('requests with %s are refused', async (_, options) => {
    page()
    vi.stubGlobal('fetch', opaque)
    sendAway()
    const store = new HttpStore(options)
    await expect(store.stat(`${one.origin}/x.af`)).rejects.toThrow('browsers do not tell where to')
    expect(other.seen).toEqual([])
    one.manners = {}
    expect(await store.getRange(`${one.origin}/x.af`, 3, 2)).toEqual(Uint8Array.of(3, 4))
  })

  test('others are followed', async () => {
    page()
    sendAway()
    expect((await new HttpStore().stat(`${one.origin}/x.af`))!.size).toBe(50)
  })
})
