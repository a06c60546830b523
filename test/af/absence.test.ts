import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ArrayFile } from '../../src/af/file.ts'
import { verifyPath } from '../../src/af/verify/verify.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { createWithBase } from '../support/containers.ts'
import { type Manners, RudeServer } from '../support/rude-server.ts'
import { slow } from '../support/served.ts'

let rude: RudeServer
/** A base whose elements are 1, and a sidecar in which the second is 2. */
const files = new Map<string, Uint8Array>()
beforeAll(async () => {
  rude = await RudeServer.start()
  const store = new MemoryStore()
  const file = await createWithBase({ store, path: 'a.af' })
  await file.createArray('x', { dtype: 'uint8', shape: [2] }).set([], 1)
  await file.flush()
  await file.compact()
  await file.array('x').set([1], 2)
  await file.flush()
  for (const key of ['a.af', 'a.1.af']) files.set(key, (await store.getRange(key, 0, (await store.stat(key))!.size))!)
})
afterAll(() => rude.stop())
beforeEach(() => rude.reset())

const put = (...names: string[]): string => {
  for (const name of names) rude.put(name, files.get(name)!)
  return `${rude.origin}/a.af`
}
const text = (content: string): Uint8Array => new TextEncoder().encode(`<!doctype html><p>${content}</p>`)
const open = (url: string): Promise<ArrayFile> => ArrayFile.open(slow({ notFound: [403, 404] }), url)
const verify = (url: string) => verifyPath(slow({ notFound: [403, 404] }), url, {})
const values = async (file: ArrayFile): Promise<unknown> => (await file.array('x', 'uint8').get()).data

const ANSWERS: [string, () => Manners][] = [
  ['403', () => ({ status: 403 })],
  ['a login page', () => ({ redirect: `${rude.origin}/login` })],
]

describe.each(ANSWERS)('a sidecar that is answered with %s', (_, refused) => {
  let refusal: Manners
  beforeEach(() => {
    refusal = refused()
    rude.put('login', text('Log in'))
  })

  test('is missing once the base was read again, when opened and when verified', async () => {
    const url = put('a.af')
    rude.manners = ({ url: path }) => (path === '/a.af' || path === '/login' ? {} : refusal)
    await using file = await open(url)
    expect(await values(file)).toEqual(Uint8Array.of(1, 1))
    expect(rude.seen.filter(({ url }) => url === '/a.af').length).toBeGreaterThan(1)
    expect(await verify(url)).toMatchObject({ ok: true, checked: { layers: 1 } })
  })

  test.each<[string, (url: string) => Promise<unknown>]>([
    ['opened', open],
    ['verified', verify],
  ])('a refused sidecar is an error if the base cannot be read again while it is %s', async (_, work) => {
    const url = put('a.af', 'a.1.af')
    let baseReads = 0
    rude.manners = ({ url: path }) => {
      if (path === '/login') return {}
      if (path === '/a.af' && ++baseReads === 1) return {}
      return refusal
    }
    await expect(work(url)).rejects.toMatchObject({
      tag: 'StoreError',
      message: expect.stringMatching(/a\.1\.af: the server answered .* does not prove .*a\.af, which was read before/s),
    })
  })

  test('is an error when the session ends before a refresh', async () => {
    const url = put('a.af')
    rude.manners = { missing: 403 }
    await using file = await open(url)
    rude.manners = ({ url: path }) => (path === '/login' ? {} : refusal)
    await expect(file.refresh()).rejects.toMatchObject({ tag: expect.stringMatching(/StoreError|NotFoundError|FormatError/) })
    rude.manners = { missing: 403 }
    expect(await values(file)).toEqual(Uint8Array.of(1, 1))
  })
})
