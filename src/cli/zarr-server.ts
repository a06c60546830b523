import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { messageOf } from '../core/errors.ts'
import { Limiter } from '../core/limiter.ts'
import type { ZarrStoreOfArrays } from '../runtime/zarr.ts'

/** Options of the server. */
export interface ServerOptions {
  /** The address it listens at. */
  readonly host: string
  /** The origin whose pages may read; `*` for all. */
  readonly cors: string | undefined
  /** Told of each answer that could not be made. */
  readonly onFailure: (text: string) => void
}

/** Answers that are being made at a time: each holds a chunk. */
const MOST_ANSWERS = 16
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i

interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | number>>
  readonly body?: Uint8Array
}

/** Answers GET and HEAD for the objects of some stores, each under its name, ranges of them, too. */
export function createZarrServer(stores: ReadonlyMap<string, ZarrStoreOfArrays>, options: ServerOptions): Server {
  const limiter = new Limiter(MOST_ANSWERS, Infinity)
  const isLocal = LOOPBACK.test(options.host) || options.host === '::1'
  return createServer((request, response) => {
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const answer = async (): Promise<Answer> => {
      const host = (request.headers.host ?? '').replace(/:\d+$/, '')
      // A page may have its own name resolve to this machine: then it would be of the same origin.
      if (isLocal && !LOOPBACK.test(host)) return text(421, `this server answers as ${options.host}, not as ${host}`)
      if (request.method === 'OPTIONS') return { status: 204 }
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return { ...text(405, 'it can only be read'), headers: { allow: 'GET, HEAD, OPTIONS' } }
      return limiter.run(0, () => answerOf(stores, request, gone.signal), gone.signal)
    }
    answer().then(
      (found) => send(request, response, found, options),
      (error: unknown) => {
        if (gone.signal.aborted) return
        options.onFailure(`${request.url}: ${messageOf(error)}`)
        send(request, response, text(500, messageOf(error)), options)
      },
    )
  })
}

async function answerOf(
  stores: ReadonlyMap<string, ZarrStoreOfArrays>,
  { url = '/', headers }: IncomingMessage,
  signal: AbortSignal,
): Promise<Answer> {
  const path = pathOf(url)
  if (path === undefined) return text(400, 'the path is no text in UTF-8')
  if (path === '/') return { status: 200, headers: JSON_TYPE, body: encode(JSON.stringify([...stores.keys()])) }
  const [, name = '', key = ''] = /^\/([^/]*)(\/.*)?$/s.exec(path) ?? []
  const bytes = key === '' ? undefined : await stores.get(name)?.get(key as `/${string}`, { signal })
  if (bytes === undefined) return text(404, 'there is no such object')
  const type = key.endsWith('.json') ? JSON_TYPE : { 'content-type': 'application/octet-stream' }
  const range = rangeOf(headers.range, bytes.length)
  if (range === undefined) return { status: 200, headers: { ...type, 'accept-ranges': 'bytes' }, body: bytes }
  if (range === 'outside')
    return { ...text(416, 'the range lies outside'), headers: { 'content-range': `bytes */${bytes.length}` } }
  const [start, stop] = range
  return {
    status: 206,
    headers: { ...type, 'accept-ranges': 'bytes', 'content-range': `bytes ${start}-${stop - 1}/${bytes.length}` },
    body: bytes.subarray(start, stop),
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }
const encode = (content: string): Uint8Array => new TextEncoder().encode(content)
const text = (status: number, content: string): Answer => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: encode(`${content}\n`),
})

function pathOf(url: string): string | undefined {
  try {
    return decodeURIComponent(url.replace(/[?#].*$/s, ''))
  } catch {
    return undefined
  }
}

/** One range of bytes; of several, and of what is no range, everything is the answer, as HTTP allows. */
function rangeOf(header: string | undefined, size: number): readonly [start: number, stop: number] | 'outside' | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first === '') return Number(last) === 0 ? 'outside' : [Math.max(0, size - Number(last)), size]
  const [start, stop] = [Number(first), last === '' ? size : Math.min(size, Number(last) + 1)]
  if (last !== '' && Number(last) < start) return undefined
  return start < size ? [start, stop] : 'outside'
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Answer,
  { cors }: ServerOptions,
): void {
  if (cors !== undefined) {
    response.setHeader('access-control-allow-origin', cors)
    response.setHeader('access-control-expose-headers', 'accept-ranges, content-length, content-range')
    if (cors !== '*') response.setHeader('vary', 'origin')
    if (request.method === 'OPTIONS') {
      response.setHeader('access-control-allow-methods', 'GET, HEAD, OPTIONS')
      response.setHeader('access-control-allow-headers', request.headers['access-control-request-headers'] ?? 'range')
      response.setHeader('access-control-allow-private-network', 'true')
    }
  }
  // What is behind it may change while it is served.
  response.writeHead(status, { 'cache-control': 'no-cache', ...headers, ...(body && { 'content-length': body.length }) })
  response.end(request.method === 'HEAD' ? undefined : body)
}
