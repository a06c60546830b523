import { createReadStream } from 'node:fs'
import { mkdtemp, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { HttpStore, type HttpStoreOptions } from '../../src/store/http/http.ts'
import { type ReadablePlace, readableConformance } from '../../src/testing/index.ts'
import { testAll } from '../support/conformance.ts'
import { haveNginx, Nginx } from '../support/nginx.ts'
import { type Manners, RudeServer } from '../support/rude-server.ts'

const FAST = { retryDelay: 1 }

/**
 * A file in a served folder. Dates have full seconds in HTTP: each version gets a later one than the last.
 */
async function fileIn(folder: string, origin: string, content: Uint8Array): Promise<ReadablePlace> {
  const name = `${Math.random().toString(36).slice(2)}.af`
  let seconds = 1_700_000_000
  const write = async (bytes: Uint8Array): Promise<void> => {
    await writeFile(join(folder, 'next'), bytes)
    await utimes(join(folder, 'next'), seconds, seconds++)
    await rename(join(folder, 'next'), join(folder, name))
  }
  await write(content)
  return { store: new HttpStore(FAST), key: `${origin}/${name}`, missing: `${origin}/none.af`, replace: write }
}

describe('a plain server of a folder, without ETag and If-Match', () => {
  let folder: string
  let server: Server
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hyperslab-http-'))
    server = createServer(async (request, response) => {
      const path = join(folder, new URL(request.url!, 'http://any').pathname)
      const info = await stat(path).catch(() => undefined)
      if (!info?.isFile()) return response.writeHead(404).end()
      const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '') ?? []
      const headers = { 'last-modified': info.mtime.toUTCString() }
      if (first === undefined) {
        response.writeHead(200, { ...headers, 'content-length': info.size })
        return request.method === 'HEAD' ? response.end() : createReadStream(path).pipe(response)
      }
      const start = first === '' ? Math.max(0, info.size - Number(last)) : Number(first)
      const end = first === '' || last === '' ? info.size - 1 : Math.min(Number(last), info.size - 1)
      if (start > end) return response.writeHead(416, { 'content-range': `bytes */${info.size}` }).end()
      response.writeHead(206, {
        ...headers,
        'content-range': `bytes ${start}-${end}/${info.size}`,
        'content-length': end - start + 1,
      })
      return createReadStream(path, { start, end }).pipe(response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    server.closeAllConnections()
    await rm(folder, { recursive: true })
  })
  testAll(readableConformance((content) => fileIn(folder, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, content)))
})

const nginxThere = haveNginx()
describe.skipIf(!nginxThere)('nginx', () => {
  let nginx: Nginx
  beforeAll(async () => {
    nginx = await Nginx.start()
  })
  afterAll(() => nginx.stop())
  testAll(readableConformance((content) => fileIn(nginx.folder, nginx.origin, content)))
})

let rude: RudeServer
beforeAll(async () => {
  rude = await RudeServer.start()
})
afterAll(() => rude.stop())

const MANNERS: [string, Manners, HttpStoreOptions?][] = [
  ['behaves', {}],
  ['ignores Range', { ignoreRange: true }],
  ['ignores Range and tells the size with HEAD only', { ignoreRange: true, noLength: true }],
  ['sends more than was asked for', { granularity: 16 }],
  ['ignores suffix ranges', { suffix: 'ignored' }],
  ['refuses suffix ranges', { suffix: 'refused' }],
  ['takes suffix ranges for others', { suffix: 'wrong' }],
  ['refuses HEAD with 403', { head: 403 }],
  ['refuses HEAD with 405', { head: 405 }],
  ['has no HEAD', { head: 501 }],
  ['has weak tags', { weakEtag: true }],
  ['has dates only', { noEtag: true }],
  ['ignores If-Match', { ifMatch: 'ignored' }],
  ['misreads If-Match', { ifMatch: 'misread' }],
  ['answers 403 for what is missing', { missing: 403 }, { notFound: [403, 404] }],
  ['answers 410 for what is missing', { missing: 410 }],
]
describe.each(MANNERS)('a server that %s', (_, manners, options = {}) => {
  testAll(
    readableConformance(async (content) => {
      rude.reset()
      rude.manners = manners
      const key = rude.put('x.af', content)
      const replace = async (bytes: Uint8Array): Promise<void> => void rude.put('x.af', bytes)
      return { store: new HttpStore({ ...FAST, ...options }), key, missing: `${rude.origin}/none.af`, replace }
    }),
  )
})

describe('a server that tells no version', () => {
  testAll(
    readableConformance(async (content) => {
      rude.reset()
      rude.manners = { noEtag: true, noModified: true }
      // Replacing goes unnoticed there, so it is not tried.
      return {
        store: new HttpStore(FAST),
        key: rude.put('x.af', content),
        missing: `${rude.origin}/none.af`,
      }
    }),
  )
})

describe('a server that fails whenever something is asked for the first time', () => {
  testAll(
    readableConformance(async (content) => {
      rude.reset()
      const troubles: Manners[] = [{ status: 503 }, { drop: 0 }, { status: 429, retryAfter: '0' }]
      const asked = new Set<string>()
      rude.manners = ({ method, url, range }, nth) => {
        const first = !asked.has(`${method} ${url} ${range}`)
        asked.add(`${method} ${url} ${range}`)
        return first ? troubles[nth % troubles.length]! : {}
      }
      return { store: new HttpStore(FAST), key: rude.put('x.af', content), missing: `${rude.origin}/none.af` }
    }),
  )
})
