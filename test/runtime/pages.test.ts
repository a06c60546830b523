import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'vite'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { create, HttpStore, MemoryStore, open, verify } from '../../src/runtime/index.ts'
import type { Store } from '../../src/runtime/store.ts'
import { haveNginx, Nginx } from '../support/nginx.ts'
import { RudeServer } from '../support/rude-server.ts'

const PAGE = '<!doctype html><html><body>The page of an application, which has one for every name.</body></html>\n'
const text = (content: string): Uint8Array => new TextEncoder().encode(content)

/** A container of a base and two sidecars, `x` of which holds 1 2 3. */
const files = new Map<string, Uint8Array>()
beforeAll(async () => {
  const store = new MemoryStore()
  await using file = await create({ store, path: 'a.af' })
  await file.createArray('x', { dtype: 'uint8', shape: [3] }).set(null, 1)
  await file.flush()
  await file.compact()
  for (const i of [1, 2]) {
    await file.array('x').set([i], i + 1)
    await file.flush()
  }
  for (const key of ['a.af', 'a.1.af', 'a.2.af']) files.set(key, (await store.getRange(key, 0, (await store.stat(key))!.size))!)
})

const valuesAt = async (url: string): Promise<unknown> => {
  await using file = await open(url)
  return (await file.array('x', 'uint8').get()).data
}

describe('a server that answers every name with a page', () => {
  let rude: RudeServer
  beforeAll(async () => {
    rude = await RudeServer.start()
  })
  afterAll(() => rude.stop())
  beforeEach(() => {
    rude.reset()
    for (const [name, bytes] of files) rude.put(name, bytes)
    rude.manners = { page: text(PAGE) }
  })

  test.each([PAGE, '', 'x'.repeat(100_000)])('missing files are detected by two more requests (%#)', async (page) => {
    rude.manners = { page: text(page) }
    await using file = await open(`${rude.origin}/a.af`)
    expect(file.layers().length).toBe(3)
    expect((await file.array('x', 'uint8').get()).data).toEqual(Uint8Array.of(1, 2, 3))
    expect(rude.log.filter((line) => line === 'GET').length).toBe(2)
    expect(await file.stats('x')).toMatchObject({ min: 1, max: 3 })
    expect(await verify(`${rude.origin}/a.af`)).toMatchObject({ ok: true, findings: [], checked: { layers: 3 } })
  })

  test('with the base alone', async () => {
    rude.reset()
    rude.put('a.af', files.get('a.af')!)
    rude.manners = { page: text(PAGE) }
    expect(await valuesAt(`${rude.origin}/a.af`)).toEqual(Uint8Array.of(1, 1, 1))
  })

  test.each<[string, (bytes: Uint8Array) => Uint8Array]>([
    ['cut off', (bytes) => bytes.slice(0, -1)],
    ['empty', () => new Uint8Array(0)],
    ['another page', () => text(PAGE.replace('every', 'any'))],
    ['a bit flipped in the trailer', (bytes) => bytes.map((byte, i) => (i === bytes.length - 1 ? byte ^ 1 : byte))],
    ['another sidecar', () => files.get('a.2.af')!.slice(1)],
  ])('a sidecar that is %s is never taken for missing', async (_, damage) => {
    rude.put('a.1.af', damage(files.get('a.1.af')!))
    await expect(open(`${rude.origin}/a.af`)).rejects.toMatchObject({
      tag: 'FormatError',
      details: { file: `${rude.origin}/a.1.af` },
    })
    const report = await verify(`${rude.origin}/a.af`)
    expect(report.findings.map(({ file }) => file)).toContain(`${rude.origin}/a.1.af`)
  })

  test.each<[string, () => Uint8Array, string]>([
    ['another one each time', () => text(PAGE + Math.random()), 'StoreError'],
    ['larger than any', () => new Uint8Array(2 ** 20 + 1), 'FormatError'],
  ])('a page that is %s is never taken for a missing sidecar', async (_, page, tag) => {
    rude.manners = () => ({ page: page() })
    await expect(open(`${rude.origin}/a.af`)).rejects.toMatchObject({ tag, details: { file: `${rude.origin}/a.3.af` } })
  })

  test('one container for every name, as HTML, is none', async () => {
    const base = files.get('a.af')!
    rude.reset()
    rude.manners = { page: base }
    await expect(open(`${rude.origin}/a.af`)).rejects.toMatchObject({ tag: 'NotFoundError' })
  })
})

describe('the number of layers has a limit', () => {
  /** Cannot be listed, and has a sidecar for every number. */
  const endless = (): Store & { asked: number } => ({
    asked: 0,
    describe: (key) => key,
    async stat(key) {
      this.asked++
      return { size: (files.get(key) ?? files.get('a.1.af')!).length, etag: key }
    },
    async getRange(key, offset, length) {
      return (files.get(key) ?? files.get('a.1.af')!).slice(offset, offset + length)
    },
  })

  test('the limit also holds for layers that are requested one by one', async () => {
    const store = endless()
    const expected = { tag: 'TooLargeError', details: { limit: 'limits.layers', expected: 20, file: 'a.af' } }
    await expect(open({ store, path: 'a.af' }, { limits: { layers: 20 } })).rejects.toMatchObject(expected)
    expect(store.asked).toBeLessThan(25)
    await expect(verify({ store, path: 'a.af' }, { limits: { layers: 20 } })).rejects.toMatchObject(expected)
    await using file = await open({ store, path: 'a.af' }, { layer: 2, limits: { layers: 2 } })
    expect(file.layers().length).toBe(3)
  })

  test('and for those that are listed, before any is opened', async () => {
    const store = new MemoryStore()
    for (const [key, bytes] of files) await store.put(key, bytes)
    const place = { store, path: 'a.af' }
    await (await open(place, { limits: { layers: 2 } })).close()
    await expect(open(place, { limits: { layers: 1 } })).rejects.toMatchObject({ tag: 'TooLargeError', details: { actual: 2 } })
    await expect(verify(place, { limits: { layers: 1 } })).rejects.toMatchObject({ tag: 'TooLargeError' })
    await expect(open(place, { limits: { layers: -1 } })).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })
})

/** A served folder with the container and a page. */
async function folderOf(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'hyperslab-pages-'))
  for (const [name, bytes] of [...files, ['index.html', text(PAGE)] as const]) await writeFile(join(folder, name), bytes)
  return folder
}

test("Vite's development server", async () => {
  const root = await folderOf()
  const server = await createServer({ root, configFile: false, logLevel: 'silent', server: { port: 0, host: '127.0.0.1' } })
  try {
    await server.listen()
    const origin = server.resolvedUrls!.local[0]!.replace(/\/$/, '')
    const none = await fetch(`${origin}/a.3.af`)
    expect([none.status, await none.text()]).toEqual([200, expect.stringContaining('every name')])
    expect(await valuesAt(`${origin}/a.af`)).toEqual(Uint8Array.of(1, 2, 3))
    expect((await verify(`${origin}/a.af`)).findings).toEqual([])
    await writeFile(join(root, 'a.2.af'), files.get('a.2.af')!.slice(0, -1))
    await expect(open(`${origin}/a.af`)).rejects.toMatchObject({ tag: 'FormatError', details: { file: `${origin}/a.2.af` } })
  } finally {
    await server.close()
    await rm(root, { recursive: true })
  }
})

test.skipIf(!haveNginx())('nginx with a page for what is not there, compressed or not', async () => {
  for (const directives of ['', 'gzip on; gzip_min_length 1;']) {
    const nginx = await Nginx.start(`location / { try_files $uri /index.html; ${directives} }`)
    try {
      for (const [name, bytes] of [...files, ['index.html', text(PAGE)] as const])
        await writeFile(join(nginx.folder, name), bytes)
      expect(await valuesAt(`${nginx.origin}/a.af`)).toEqual(Uint8Array.of(1, 2, 3))
      // As browsers do, which undo the compression and hide the size of what was compressed.
      const store = new HttpStore({ headers: { 'accept-encoding': 'gzip' } })
      await using file = await open({ store, path: `${nginx.origin}/a.af` })
      expect(file.layers().length).toBe(3)
      expect(await file.stats('x')).toMatchObject({ max: 3 })
    } finally {
      await nginx.stop()
    }
  }
})
