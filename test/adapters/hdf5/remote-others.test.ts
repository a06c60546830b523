import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Hdf5Array } from '../../../src/adapters/hdf5/group.ts'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { HttpStore } from '../../../src/store/http/http.ts'
import { type Manners, RudeServer } from '../../support/rude-server.ts'
import { linkedFiles } from './linked-files.ts'

const { python, folder } = linkedFiles()
const LOGIN = new TextEncoder().encode('<!doctype html><html><body>Please sign in.</body></html>')
const listOf = async (array: Hdf5Array, selection: readonly unknown[] = []): Promise<number[]> =>
  Array.from(((await array.get(selection as never)) as unknown as { data: ArrayLike<number> }).data, Number)
const row = (number: number): number[] => Array.from({ length: 10 }, (_, i) => 100 * number + i)

/** Answers in place of a followed file, each with the error of reading it. */
const REFUSALS: readonly (readonly [string, Manners, object])[] = [
  ['status 403', { status: 403 }, { tag: 'StoreError' }],
  ['status 401', { status: 401 }, { tag: 'StoreError' }],
  ['status 500', { status: 500 }, { tag: 'StoreError' }],
]
/** Answers of a server after a session has ended: a page for a login, whatever is requested. */
const ended = ({ url }: { readonly url: string }): Manners => (url === '/login' ? { page: LOGIN } : { redirect: '/login' })

describe.skipIf(python === undefined)('files that a file over HTTP leads to', () => {
  let server: RudeServer
  let url: (name: string) => string
  /** Faults of requests for one file; the others are answered. */
  const spoil = (name: string, manners: Manners): void => {
    server.manners = (request) => (request.url.endsWith(name) ? manners : {})
  }
  const asked = (name: string): number => server.seen.filter((seen) => seen.url.endsWith(name)).length

  beforeAll(async () => {
    server = await RudeServer.start()
  })
  afterAll(() => server.stop())
  beforeEach(() => {
    server.reset()
    const inner = join(folder(), 'inner')
    for (const name of ['main.h5', 'virtual.h5', ...readdirSync(join(inner, 'sub')).map((each) => `sub/${each}`)])
      server.put(name, readFileSync(join(inner, name)))
    url = (name) => `${server.origin}/${name}`
  })

  test('are fill values if the server says that there is none, and nothing else', async () => {
    await using root = await openHdf5(url('virtual.h5'), { external: true })
    const rows = await root.array('rows')
    expect(await listOf(rows)).toEqual([...row(0), ...row(1), ...new Array(10).fill(-5), ...row(3)])
    const requests = asked('row2.h5')
    expect(await listOf(rows, [2])).toEqual(new Array(10).fill(-5))
    expect([requests > 0, asked('row2.h5')]).toEqual([true, requests])
  })

  test.each(REFUSALS)('reject the read after %s, and are read once they can be', async (_, manners, error) => {
    for (const name of ['row1.h5', 'row2.h5']) {
      const store = new HttpStore({ retries: 0 })
      await using root = await openHdf5({ store, path: url('virtual.h5') }, { external: true })
      const rows = await root.array('rows')
      spoil(name, manners)
      await expect(rows.get()).rejects.toMatchObject(error)
      expect(await listOf(rows, [3])).toEqual(row(3))
      server.manners = {}
      expect((await listOf(rows)).slice(10, 30)).toEqual([...row(1), ...new Array(10).fill(-5)])
    }
  })

  test('reject the read if a page takes their place', async () => {
    await using root = await openHdf5(url('virtual.h5'), { external: true })
    server.put('sub/row1.h5', LOGIN)
    server.manners = (request) => (request.url.endsWith('row2.h5') ? { page: LOGIN } : {})
    const rows = await root.array('rows')
    await expect(rows.get([1])).rejects.toMatchObject({ tag: 'FormatError' })
    await expect(rows.get([2])).rejects.toThrow(/does not prove that the file is absent|sends an HTML page/)
    server.manners = ended
    await expect(rows.get([3])).rejects.toThrow(/does not prove that the file is absent|sends an HTML page/)
    server.manners = {}
    expect(await listOf(rows, [3])).toEqual(row(3))
  })

  test('reject reads after they have changed', async () => {
    await using root = await openHdf5(url('main.h5'), { external: true })
    const raw = await root.array('raw')
    expect(await listOf(raw)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    const again = (name: string): string => server.put(name, readFileSync(join(folder(), 'inner', name)))
    again('sub/x.raw')
    await expect(raw.get()).rejects.toMatchObject({ tag: 'ConflictError' })
    // The source changes between the request for its version and that for its first bytes.
    server.manners = ({ url, method }) => {
      if (url.endsWith('row1.h5') && method === 'GET') again('sub/row1.h5')
      return {}
    }
    await using other = await openHdf5(url('virtual.h5'), { external: true })
    const rows = await other.array('rows')
    await expect(rows.get([1])).rejects.toMatchObject({ tag: 'ConflictError' })
    server.manners = {}
    expect(await listOf(rows, [1])).toEqual(row(1))
  })

  test('with raw elements reject the read unless they are there', async () => {
    const store = new HttpStore({ retries: 0 })
    await using root = await openHdf5({ store, path: url('main.h5') }, { external: true })
    const raw = await root.array('raw')
    for (const [manners, error] of [
      [{ status: 404 }, { tag: 'NotFoundError' }],
      [{ status: 403 }, { tag: 'StoreError' }],
      [{ status: 500 }, { tag: 'StoreError' }],
    ] as const) {
      spoil('x.raw', manners)
      await expect(raw.get(), JSON.stringify(manners)).rejects.toMatchObject(error)
    }
    server.manners = ended
    await expect(raw.get()).rejects.toThrow(/does not prove that the file is absent/)
    server.manners = {}
    expect(await listOf(raw)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    await expect((await root.array('raw_absent')).get()).rejects.toMatchObject({ tag: 'NotFoundError' })
  })

  test('with raw elements reject the read if the server sends a page for a login in place of this file alone', async () => {
    await using root = await openHdf5(url('main.h5'), { external: true })
    const raw = await root.array('raw')
    server.manners = ({ url }) => (url.endsWith('x.raw') ? { redirect: '/login' } : url === '/login' ? { page: LOGIN } : {})
    await expect(raw.get()).rejects.toThrow(/x\.raw.*: the server sends an HTML page in place of the file/)
    await expect(raw.get([3])).rejects.toMatchObject({ tag: 'StoreError' })
    server.manners = {}
    expect(await listOf(raw, [3])).toEqual([6, 7])
  })

  test('are listed with the failure if a link leads to them', async () => {
    const store = new HttpStore({ retries: 0 })
    for (const [status, tag] of [
      [404, 'UnsupportedError'],
      [403, 'StoreError'],
      [500, 'StoreError'],
    ] as const) {
      await using root = await openHdf5({ store, path: url('main.h5') }, { external: true })
      spoil('b.h5', { status })
      const unreadable = await root.unreadable()
      expect([status, unreadable.get('read')?.tag]).toEqual([status, tag])
      expect(await listOf(await root.array('own'))).toEqual([0, 1, 2, 3])
      server.manners = {}
    }
  })
})
