import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { create, open } from '../../src/runtime/index.ts'
import { FileStore } from '../../src/store/fs/file.ts'
import { HttpStore } from '../../src/store/http/http.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { R2Store } from '../../src/store/r2.ts'
import { S3Store } from '../../src/store/s3/s3.ts'
import { absolutePath } from '../../src/tree/absolute-path.ts'
import { type Location, resolveLocation } from '../../src/tree/location.ts'
import { RudeServer } from '../support/rude-server.ts'

const VALUES = Float32Array.from({ length: 1000 }, (_, i) => Math.sin(i))

let folder: string
let rude: RudeServer
let base: Uint8Array
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-location-'))
  rude = await RudeServer.start()
  const file = await create(join(folder, 'x.af'), { codec: 'none' })
  const array = file.createArray('a', { dtype: 'float32', shape: [1000], chunks: [100] })
  await array.set([], { data: VALUES, shape: [1000] })
  await file.compact()
  await file.close()
  const store = new FileStore()
  base = (await store.getRange(join(folder, 'x.af'), 0, (await store.stat(join(folder, 'x.af')))!.size))!
  await store.close()
})
afterAll(async () => {
  await rude.stop()
  await rm(folder, { recursive: true })
})

const valuesAt = async (location: Location): Promise<unknown> => {
  await using file = await open(location)
  return (await file.array('a', 'float32').get([null])).data
}

const fileLike = ({ size, name, lastModified }: File) => ({
  size,
  name,
  lastModified,
  arrayBuffer: async () => new ArrayBuffer(0),
})

describe('open', () => {
  test('a path, and a file: URL as text or URL', async () => {
    const path = join(folder, 'with space%20.af')
    await writeFile(path, base)
    const url = pathToFileURL(path)
    for (const location of [path, url, url.href]) expect(await valuesAt(location)).toEqual(VALUES)
  })

  test('a file: URL with one slash or three, read and written, and refuses one that has a host or a relative path', async () => {
    const path = join(folder, 'one slash.af')
    await writeFile(path, base)
    const { pathname } = pathToFileURL(path)
    for (const url of [`file:${pathname}`, `FILE:${pathname}`, `file://localhost${pathname}`])
      expect(await valuesAt(url)).toEqual(VALUES)
    const made = `file:${pathToFileURL(join(folder, 'made.af')).pathname}`
    await (await create(made)).close()
    expect((await stat(join(folder, 'made.af'))).isFile()).toBe(true)
    expect(absolutePath(made)).toBe(made)
    for (const url of ['file:x.af', 'file:./x.af', `file://host${pathname}`, 'file:', 'file:\\x.af'])
      for (const call of [open, create])
        await expect(call(url), url).rejects.toMatchObject({
          tag: 'InvalidArgumentError',
          message: expect.stringContaining('file:///'),
        })
  })

  test('no URL of a server without both slashes', async () => {
    for (const url of ['https:/example.org/x.af', 'HTTP:example.org/x.af', 's3:/bucket/x.af'])
      for (const call of [open, create])
        await expect(call(url), url).rejects.toMatchObject({
          tag: 'InvalidArgumentError',
          message: expect.stringContaining('begins with'),
        })
  })

  test('an http: URL as text or URL', async () => {
    const url = rude.put('x.af', base)
    for (const location of [url, new URL(url)]) expect(await valuesAt(location)).toEqual(VALUES)
  })

  test('a Blob, a File, an ArrayBuffer, a Uint8Array, an AsyncBuffer', async () => {
    const bytes = Uint8Array.from(base)
    const slice = async (start: number, end: number) => bytes.slice(start, end)
    const locations: Location[] = [
      new Blob([bytes]),
      new File([bytes], 'climate.af'),
      new File([bytes], 'no name for a container'),
      bytes,
      bytes.buffer,
      { byteLength: bytes.length, slice },
    ]
    for (const location of locations) expect(await valuesAt(location)).toEqual(VALUES)
    await using file = await open(new File([bytes], 'climate'))
    expect(file.location).toBe('climate')
  })

  test('an object of a store', async () => {
    const store = new MemoryStore()
    await store.put('x.af', base)
    expect(await valuesAt({ store, path: 'x.af' })).toEqual(VALUES)
  })

  test('a file handle: one version at a time, without sidecars', async () => {
    const bytes = Uint8Array.from(base)
    let now = new File([bytes], 'climate.af', { lastModified: 1 })
    const handle = { kind: 'file', name: 'climate.af', getFile: async () => now } as const
    expect(await valuesAt(handle)).toEqual(VALUES)
    await using file = await open(handle)
    expect(file.location).toBe('climate.af')
    expect(file.layers().length).toBe(1)
    now = new File([bytes], 'climate.af', { lastModified: 2 })
    // A real one would no longer be readable; this one goes on.
    expect((await file.array('a', 'float32').get([null])).data).toEqual(VALUES)
    await expect(file.refresh()).resolves.toBeUndefined()
    expect(await valuesAt(handle)).toEqual(VALUES)
  })

  test('a file handle whose file is gone or was replaced', async () => {
    const gone = Object.assign(new Error('gone'), { name: 'NotFoundError' })
    const missing = { kind: 'file', name: 'x.af', getFile: () => Promise.reject(gone) } as const
    await expect(open(missing)).rejects.toMatchObject({ tag: 'NotFoundError', details: { file: 'x.af' } })
    const file = new File([Uint8Array.from(base)], 'x.af', { lastModified: 1 })
    const unreadable = { ...fileLike(file), slice: () => ({ arrayBuffer: () => Promise.reject(gone) }) }
    // Whenever it is looked at: one that is replaced once is read anew.
    let lastModified = 0
    const getFile = async () => ({ ...unreadable, lastModified: ++lastModified })
    const replaced = { kind: 'file', name: 'x.af', getFile } as const
    await expect(open(replaced)).rejects.toMatchObject({ tag: 'ConflictError', details: { file: 'x.af' } })
    const broken = { kind: 'file', name: 'x.af', getFile: async () => unreadable } as const
    await expect(open(broken)).rejects.toMatchObject({ tag: 'StoreError', details: { file: 'x.af', cause: gone } })
  })

  test('what cannot be written says so', async () => {
    const handle = { kind: 'file', name: 'y.af', getFile: async () => new File([], 'y.af') } as const
    for (const location of [new Blob([]), rude.put('y.af', base), handle])
      await expect(create(location)).rejects.toMatchObject({ tag: 'ReadOnlyError' })
  })
})

describe('a location', () => {
  test.each([
    ['gopher://h/x.af', 'UnsupportedError', /gopher:/],
    [5, 'InvalidArgumentError', /Blob/],
    [null, 'InvalidArgumentError', /Blob/],
    [{}, 'InvalidArgumentError', /Blob/],
    [{ kind: 'directory', name: 'd' }, 'InvalidArgumentError', /file handle/],
  ])('%o is refused', async (location, tag, message) => {
    const refused = { tag, message: expect.stringMatching(message) }
    await expect(resolveLocation(location as never)).rejects.toMatchObject(refused)
  })

  test('a path where there is no file system: what to pass instead', async () => {
    vi.stubGlobal('process', undefined)
    try {
      await expect(resolveLocation('x.af')).rejects.toThrow(/URL, a Blob or File, an AsyncBuffer or \{ store, path \}/)
    } finally {
      vi.unstubAllGlobals()
    }
  })

  test.each([
    ['https://h/d/x.af', 'https://h/d/x.af'],
    ['https://h/d/x.af?sig=a?b&c=/d', 'https://h/d/x.af'],
    ['HTTPS://h/x.af#part?no=query', 'HTTPS://h/x.af'],
    ['http://h/x.af?a=1#part', 'http://h/x.af'],
  ])('%s has the key of the path', async (url, key) => {
    expect(await resolveLocation(url)).toMatchObject({ store: expect.any(HttpStore), path: key })
  })

  test('a bucket of R2 and a key', async () => {
    const bucket = { head: vi.fn(), get: vi.fn(), put: vi.fn(), delete: vi.fn(), list: vi.fn() }
    const { store, path } = await resolveLocation({ bucket, key: 'data/x.af' })
    expect([store instanceof R2Store, path]).toEqual([true, 'data/x.af'])
    expect(store.describe(path)).toBe('r2:data/x.af')
  })

  test('s3: of the environment, or anonymous', async () => {
    const names = [
      'ACCESS_KEY_ID',
      'SECRET_ACCESS_KEY',
      'SESSION_TOKEN',
      'REGION',
      'DEFAULT_REGION',
      'ENDPOINT_URL_S3',
      'ENDPOINT_URL',
    ]
    const asked: { url: string; authorization: string | null }[] = []
    vi.stubGlobal('fetch', async (url: string | Request, init?: RequestInit) => {
      const request = new Request(url, init)
      asked.push({ url: request.url, authorization: request.headers.get('authorization') })
      return new Response('', { status: 404 })
    })
    try {
      for (const name of names) vi.stubEnv(`AWS_${name}`, '')
      const { store, path } = await resolveLocation('s3://data/d/x.af')
      expect([store instanceof S3Store, path, store.describe(path)]).toEqual([true, 'd/x.af', 's3://data/d/x.af'])
      await store.stat(path)
      vi.stubEnv('AWS_ACCESS_KEY_ID', 'id')
      await expect(resolveLocation('s3://data/x.af')).rejects.toThrow(/AWS_SECRET_ACCESS_KEY is not set/)
      vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
      vi.stubEnv('AWS_REGION', 'eu-west-3')
      vi.stubEnv('AWS_ENDPOINT_URL', 'http://127.0.0.1:9')
      await (await resolveLocation('s3://data/x.af')).store.stat('x.af')
    } finally {
      vi.unstubAllEnvs()
      vi.unstubAllGlobals()
    }
    expect(asked).toEqual([
      { url: 'https://data.s3.us-east-1.amazonaws.com/d/x.af', authorization: null },
      { url: 'http://127.0.0.1:9/data/x.af', authorization: expect.stringMatching(/Credential=id\/\d+\/eu-west-3\/s3/) },
    ])
    await expect(resolveLocation('s3://bucket-only')).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })

  test('paths of Windows', async () => {
    expect((await resolveLocation('file:///C:/data/x%20y.af')).path).toBe('C:/data/x y.af')
    expect((await resolveLocation('C://data/x.af')).path).toBe('C://data/x.af')
  })
})
