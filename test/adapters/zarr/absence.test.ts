import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ZarrArray, ZarrGroup } from '../../../src/adapters/zarr/group.ts'
import { openNode } from '../../../src/adapters/zarr/open.ts'
import { verifyNode } from '../../../src/adapters/zarr/verify.ts'
import { DiskArray } from '../../../src/array/disk-array.ts'
import type { TransferProgress } from '../../../src/array/transfers.ts'
import { slice } from '../../../src/grid/slice.ts'
import type { Fetch } from '../../../src/store/http/fetch.ts'
import { S3Store } from '../../../src/store/s3/s3.ts'
import { CountingSource } from '../../support/counting-source.ts'
import { type Manners, RudeServer } from '../../support/rude-server.ts'
import { slow } from '../../support/served.ts'

let rude: RudeServer
beforeAll(async () => {
  rude = await RudeServer.start()
})
afterAll(() => rude.stop())

const text = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
const page = (content: string): Uint8Array => new TextEncoder().encode(`<!doctype html><p>${content}</p>`)

const ARRAY = {
  zarr_format: 3,
  node_type: 'array',
  shape: [8],
  data_type: 'int8',
  chunk_grid: { name: 'regular', configuration: { chunk_shape: [2] } },
  chunk_key_encoding: { name: 'default' },
  fill_value: 0,
  codecs: [{ name: 'bytes' }],
}

/** Chunks 0 and 2 of 4 are there. */
function putArray(): string {
  rude.put('a.zarr/zarr.json', text(ARRAY))
  rude.put('a.zarr/c/0', Uint8Array.of(1, 2))
  return rude.put('a.zarr/c/2', Uint8Array.of(5, 6)).replace('/c/2', '')
}

beforeEach(() => {
  rude.reset()
})

const VALUES = [1, 2, 0, 0, 5, 6, 0, 0]
const requests = (part: string): number => rude.seen.filter(({ url }) => url.includes(part)).length
const opened = async (url: string, options = {}): Promise<ZarrArray> => (await openNode(slow(options), url)) as ZarrArray
const all = async (array: ZarrArray): Promise<number[]> => [...((await array.get([null])) as { data: Int8Array }).data]

describe('a chunk that is answered 404', () => {
  test('is counted by the progress of each kind of read', async () => {
    const array = await opened(putArray())
    const told: number[] = []
    const onProgress = ({ absent }: TransferProgress): void => void told.push(absent)
    const last = async (work: Promise<unknown>): Promise<number | undefined> => {
      told.length = 0
      await work
      return told.at(-1)
    }
    const target = new DiskArray(new CountingSource({ dtype: 'int8', shape: [8], data: new Int8Array(8) }, array.chunks))
    expect(await last(array.get([null], { onProgress }))).toBe(2)
    expect(await last(array.get([[0, 3, 7]], { onProgress }))).toBe(2)
    expect(await last(array.get([slice(0, 2)], { onProgress }))).toBe(0)
    expect(await last(array.view([slice(1, 8)]).get([null], { onProgress }))).toBe(2)
    expect(await last(array.toTensor({ onProgress }))).toBe(2)
    expect(await last(array.copyTo(target, { onProgress }))).toBe(2)
    expect(await last(array.rechunkTo(target, { onProgress }))).toBe(2)
  })

  test('is absent without a further request', async () => {
    const array = await opened(putArray())
    rude.seen.length = 0
    expect(await all(array)).toEqual(VALUES)
    expect(rude.seen.length).toBe(4)
  })
})

describe('an object that is answered 404 by HEAD alone', () => {
  test('is there if GET reads it, whatever HEAD says', async () => {
    const url = putArray()
    rude.manners = { head: 404 }
    expect(await slow().stat(`${url}/c/0`)).toMatchObject({ size: 2 })
    expect(await slow().stat(`${url}/c/1`)).toBeUndefined()
    rude.manners = { head: 410, suffix: 'refused' }
    expect(await slow().getTail!(`${url}/c/2`, 1)).toMatchObject({ size: 2, bytes: Uint8Array.of(6) })
  })
})

describe('a chunk that is answered 404 after a redirect', () => {
  const signedOut: Manners = { status: 302, redirect: '/login' }

  test.each([
    ['by the platform', {}],
    ['by this package', { headers: { 'x-key': '1' } }],
  ])('followed %s is an error that says so, if the metadata are, too', async (_, options) => {
    const array = await opened(putArray(), options)
    rude.manners = ({ url }) => (url === '/login' ? {} : signedOut)
    await expect(array.get([null])).rejects.toMatchObject({
      tag: 'StoreError',
      message: expect.stringMatching(/answered 404 after a redirect, which does not prove/),
    })
  })

  test('is fill if the metadata are still there', async () => {
    const array = await opened(putArray())
    rude.manners = ({ url }) => (/c\/[13]$/.test(url) ? signedOut : {})
    rude.seen.length = 0
    expect(await all(array)).toEqual(VALUES)
    expect(requests('zarr.json')).toBe(1)
  })
})

describe('a chunk that is answered 403, where that may mean missing', () => {
  const options = { notFound: [403, 404] }

  test('is fill, once the metadata were read again, by one request a run', async () => {
    const url = putArray()
    rude.manners = { missing: 403 }
    const array = await opened(url, options)
    rude.seen.length = 0
    expect(await all(array)).toEqual(VALUES)
    expect(requests('zarr.json')).toBe(1)
    expect(rude.seen.length).toBe(5)
    expect(rude.seen.at(-1)!.url).toContain('zarr.json')
    expect(await all(array)).toEqual(VALUES)
    expect(requests('zarr.json')).toBe(1)
  })

  test('a chunk answered with 403 is an error that names the status and the object, if the session has ended', async () => {
    const array = await opened(putArray(), options)
    rude.manners = { status: 403 }
    await expect(array.get([null])).rejects.toMatchObject({
      tag: 'StoreError',
      message: expect.stringMatching(/a\.zarr\/c\/\d.*answered 403, which does not prove.*zarr\.json.*renew/s),
    })
    await expect(array.sum()).rejects.toMatchObject({ tag: 'StoreError' })
    await expect(array.blocks()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ tag: 'StoreError' })
    rude.manners = {}
    expect(await all(array)).toEqual(VALUES)
    expect(await array.sum()).toBe(14)
  })

  test('is checked once for reads that run at the same time', async () => {
    const url = putArray()
    rude.manners = { missing: 403 }
    const array = await opened(url, options)
    rude.seen.length = 0
    const parts = await Promise.all([array.get([1]), array.get([3]), array.get([7]), array.get([6])])
    expect(parts).toEqual([2, 0, 0, 0])
    expect(requests('zarr.json')).toBeLessThanOrEqual(2)
  })

  test('is not believed by a read that overlaps a failed check', async () => {
    const array = await opened(putArray(), options)
    let release = (): void => undefined
    const hold = new Promise<void>((resolve) => {
      release = resolve
    })
    // One read meets the refusal and waits for another chunk; meanwhile another one fails, and the session is
    // renewed.
    let ended = true
    rude.manners = ({ url }) => (url.endsWith('c/0') ? { hold } : ended ? { status: 403 } : {})
    const long = array.get([null]).catch((error: unknown) => error)
    await expect(array.get([3])).rejects.toMatchObject({ tag: 'StoreError' })
    ended = false
    release()
    expect(await long).toMatchObject({ tag: 'StoreError' })
    expect(await all(array)).toEqual(VALUES)
  })

  test('is an error when the metadata were replaced meanwhile', async () => {
    const url = putArray()
    rude.manners = { missing: 403 }
    const array = await opened(url, options)
    rude.put('a.zarr/zarr.json', text({ ...ARRAY, attributes: { a: 1 } }))
    await expect(array.get([null])).rejects.toThrow(/another version.*open the place again/)
  })

  test('is checked by verify, too', async () => {
    const url = putArray()
    rude.manners = { missing: 403 }
    const open = () => openNode(slow(options), url)
    expect((await verifyNode(url, open, {})).checked).toMatchObject({ chunks: 2, missingChunks: 2 })
    rude.manners = ({ url }, nth) => (nth < 8 && url.endsWith('zarr.json') ? {} : { status: 403 })
    rude.seen.length = 0
    const onProgress = (): void => {
      rude.manners = { status: 403 }
    }
    await expect(verifyNode(url, open, { onProgress })).rejects.toMatchObject({ tag: 'StoreError' })
  })
})

describe('a login page that is answered 200 for every name', () => {
  test.each<[string, () => Uint8Array]>([
    ['the same', () => page('Log in')],
    ['another one for each name', () => page(`Log in ${Math.random()}`)],
  ])('is no chunk: %s', async (_, login) => {
    const array = await opened(putArray())
    rude.reset()
    rude.manners = () => ({ page: login() })
    await expect(array.get([null])).rejects.toMatchObject({ tag: 'StoreError', message: expect.stringContaining('HTML') })
  })

  test('is fill where the server has a page for missing names only', async () => {
    const url = putArray()
    rude.manners = { page: page('Nothing here') }
    const array = await opened(url)
    rude.seen.length = 0
    expect(await all(array)).toEqual(VALUES)
    expect(requests('zarr.json')).toBe(1)
  })
})

describe('a shard', () => {
  const SHARDED = {
    ...ARRAY,
    chunk_grid: { name: 'regular', configuration: { chunk_shape: [4] } },
    codecs: [
      {
        name: 'sharding_indexed',
        configuration: {
          chunk_shape: [2],
          codecs: [{ name: 'bytes' }],
          index_codecs: [{ name: 'bytes', configuration: { endian: 'little' } }],
        },
      },
    ],
  }

  test.each<[string, Manners]>([
    ['403', { status: 403 }],
    ['a login page', { page: page('Log in') }],
  ])('that is answered with %s for every name is an error', async (_, manners) => {
    const url = rude.put('a.zarr/zarr.json', text(SHARDED)).replace('/zarr.json', '')
    rude.manners = { missing: 403 }
    const array = await opened(url, { notFound: [403] })
    expect(await all(array)).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
    array.refresh()
    rude.reset()
    rude.manners = manners
    await expect(array.get([null])).rejects.toMatchObject({ tag: 'StoreError' })
  })
})

describe('the children of a group', () => {
  test('are not left out for a session that has ended', async () => {
    const group = { zarr_format: 3, node_type: 'group' }
    const url = rude.put('g.zarr/zarr.json', text(group)).replace('/zarr.json', '')
    rude.put('g.zarr/a/zarr.json', text(ARRAY))
    const node = (await openNode(slow({ notFound: [403] }), url, { names: ['a'] })) as ZarrGroup
    rude.manners = { status: 403 }
    await expect(node.arrays()).rejects.toMatchObject({ tag: 'StoreError' })
    rude.manners = {}
    expect(await node.arrays()).toEqual(['a'])
  })
})

describe('an answer of S3 without an object', () => {
  /** A bucket with an array, which answers all chunks with a status and a code. */
  function bucket(status: number, code: string, options = {}): { store: S3Store; asked: string[] } {
    const asked: string[] = []
    const fetch: Fetch = async (url) => {
      asked.push(url)
      if (url.endsWith('zarr.json'))
        return new Response(text(ARRAY) as Uint8Array<ArrayBuffer>, { status: 200, headers: { etag: '"1"' } })
      const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>No</Message></Error>`
      return new Response(body, { status, headers: { 'content-type': 'application/xml' } })
    }
    return { store: new S3Store({ bucket: 'b', fetch, retryDelay: 1, listing: false, ...options }), asked }
  }

  test.each([
    [403, 'ExpiredToken'],
    [400, 'ExpiredToken'],
    [403, 'InvalidAccessKeyId'],
    [403, 'SignatureDoesNotMatch'],
    [403, 'RequestTimeTooSkewed'],
    [403, 'AllAccessDisabled'],
    [403, 'AccountProblem'],
    [403, 'InvalidObjectState'],
    [404, 'NoSuchBucket'],
    [404, 'InvalidAccessKeyId'],
  ])('of status %i and code %s is an error', async (status, code) => {
    const { store } = bucket(status, code, { notFound: [400, 403, 404] })
    const array = (await openNode(store, 'a.zarr')) as ZarrArray
    await expect(array.get([null])).rejects.toMatchObject({
      tag: 'StoreError',
      message: expect.stringContaining(`${status} ${code}`),
    })
  })

  test.each([
    [403, 'AccessDenied', 1],
    [403, 'NoSuchKey', 1],
    [404, 'NoSuchKey', 0],
  ])('of status %i and code %s is fill, with %i requests more', async (status, code, more) => {
    const { store, asked } = bucket(status, code)
    const array = (await openNode(store, 'a.zarr')) as ZarrArray
    asked.length = 0
    expect(await all(array)).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
    expect(asked.length).toBe(4 + more)
  })
})
