import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { HyperslabError } from '../../runtime/index.ts'
import { decodePath } from '../show/text.ts'

/** Options of a read-only server. */
export interface ServerOptions {
  /** Address to listen on. */
  readonly host: string
  /** Origin whose pages may read; `*` for all origins. */
  readonly cors: string | undefined
  /** Callback for failed answers, called with a message. */
  readonly onFailure: (text: string) => void
  /** Time in ms before the minimum rate applies to a reader. Default: 10 s. */
  readonly graceMs?: number
}

/** Answer to GET. HEAD gets the same without the body. */
export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | number>>
  readonly body?: Uint8Array
  /** Body in parts, which are produced while they are sent. `size` is their total in bytes. */
  readonly parts?: { readonly size: number; readonly bytes: AsyncIterable<Uint8Array> }
}

/** Maximum number of concurrent answers. Each holds a chunk until its reader has received it. */
const MOST_ANSWERS = 16
/**
 * Maximum number of unanswered requests of a connection. A client that sends more before it reads loses the
 * connection.
 */
const MOST_PIPELINED = 32
/** Maximum number of connections. Further ones are closed at once. */
const MOST_CONNECTIONS = 256
/** Minimum rate of a reader in bytes per second, averaged over 10 s. */
const LEAST_BYTES_PER_SECOND = 16 * 1024
const GRACE_MS = 10_000
/** Number of bytes passed to a connection at a time. Progress can only be measured between such pieces. */
const PIECE_BYTES = 64 * 1024
/** Maximum time in ms until the headers of a request are complete. */
const HEADERS_MS = 10_000
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i

/**
 * Creates a server that answers GET and HEAD. On the loopback address, it only answers requests that name
 * this address as host.
 */
export function createReadServer(
  answerTo: (request: {
    readonly path: string
    readonly range: string | undefined
    readonly signal: AbortSignal
  }) => Promise<Answer>,
  options: ServerOptions,
): Server {
  const slots = new Slots(MOST_ANSWERS)
  const connections = new WeakMap<Socket, Connection>()
  const isLocal = LOOPBACK.test(options.host) || options.host === '::1'
  const server = createServer({ headersTimeout: HEADERS_MS, connectionsCheckingInterval: 1000 }, (request, response) => {
    const { socket } = request
    // Requests that were parsed before the connection was closed.
    if (socket.destroyed) return
    const connection = connections.get(socket) ?? { line: new Slots(1), unanswered: 0 }
    connections.set(socket, connection)
    if (connection.unanswered === MOST_PIPELINED) {
      socket.destroy()
      return
    }
    connection.unanswered++
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const answer = async (): Promise<Answer> => {
      const refusal = isLocal ? refuseRequest(request, options.host) : undefined
      return refusal ?? answerRequest(request, (path) => answerTo({ path, range: request.headers.range, signal: gone.signal }))
    }
    const fail = (error: unknown): void => {
      if (gone.signal.aborted) return
      options.onFailure(`${request.url}: ${error instanceof Error ? error.message : error}`)
      if (response.headersSent) response.destroy()
      else send(request, response, textAnswer(500, FAILED), options, fail)
    }
    const sent = new Promise<void>((resolve) => {
      response.once('finish', resolve)
      response.once('close', resolve)
    })
    const whole = async (): Promise<void> => {
      const ended = watchRate(socket, response, options.graceMs ?? GRACE_MS)
      try {
        await answer().then((found) => send(request, response, found, options, fail), fail)
        await sent
      } finally {
        ended()
      }
    }
    // One request of a connection at a time waits for a slot, so that the connections bound the queue.
    const turn = async (): Promise<void> => {
      // Responses behind the last one of a connection never get its socket.
      if (response.socket === null || socket.destroyed) return
      // The answer keeps its slot until the reader has received all of it.
      await slots.run(whole, gone.signal).catch(fail)
      connection.unanswered--
    }
    connection.line.run(turn)
  })
  server.maxConnections = MOST_CONNECTIONS
  return server
}

/** Returns the answer to a request that names another host. */
function refuseRequest({ headers }: IncomingMessage, own: string): Answer | undefined {
  const host = (headers.host ?? '').replace(/:\d+$/, '')
  // A web page may resolve its own name to this machine, to make its requests same-origin.
  return LOOPBACK.test(host) ? undefined : textAnswer(421, `this server answers as ${own}, not as ${host}`)
}

/** Returns the answer to a request by its method, and for GET and HEAD by its path. */
async function answerRequest({ method, url }: IncomingMessage, read: (path: string) => Promise<Answer>): Promise<Answer> {
  if (method === 'OPTIONS') return { status: 204 }
  if (method !== 'GET' && method !== 'HEAD')
    return { ...textAnswer(405, 'it can only be read'), headers: { allow: 'GET, HEAD, OPTIONS' } }
  const path = decodePath(url ?? '/')
  return path === undefined ? textAnswer(400, 'the path is no text in UTF-8') : read(path)
}

/** Slots for which work waits in its order. */
class Slots {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  /** Runs work in a slot. Throws the reason of the signal if it is aborted before. */
  async run(work: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    if (this.#free > 0) this.#free--
    else await this.#next(signal)
    try {
      await work()
    } finally {
      const [next] = this.#waiting
      if (next === undefined) this.#free++
      else next()
    }
  }

  #next(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(start)
        reject(signal!.reason)
      }
      const start = (): void => {
        this.#waiting.delete(start)
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      this.#waiting.add(start)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }
}

/** Requests of one connection that are not answered yet. */
interface Connection {
  /** Answers them one after the other. */
  readonly line: Slots
  unanswered: number
}

/**
 * Answer to a failed request. Errors name files, and readers may be strangers, so only the server's own log
 * shows the error.
 */
const FAILED = 'this cannot be read; the server tells why where it runs'

/**
 * Closes the connection of a reader that takes less than the minimum rate while bytes are ready for it.
 * @returns a function that stops the watch
 */
function watchRate(socket: Socket, response: ServerResponse, graceMs: number): () => void {
  const isWaiting = (): boolean => socket.writableLength + response.writableLength > 0
  const taken = (): number => socket.bytesWritten - socket.writableLength
  let [before, wasWaiting] = [taken(), isWaiting()]
  const timer = setInterval(() => {
    if (wasWaiting && isWaiting() && taken() - before < (LEAST_BYTES_PER_SECOND * graceMs) / 1000) response.destroy()
    before = taken()
    wasWaiting = isWaiting()
  }, graceMs)
  timer.unref()
  return () => clearInterval(timer)
}

/**
 * Starts listening.
 * @throws StoreError if the server cannot listen
 */
export function listening(server: Server, port: number, host: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why =
        cause.code === 'EADDRINUSE' ? 'another program listens there; --port 0 takes any port that is free' : cause.message
      reject(new HyperslabError('StoreError', `cannot listen at ${host}:${port}: ${why}`, { cause }))
    })
    server.listen(port, host, () => resolve(server))
  })
}

export const JSON_TYPE = { 'content-type': 'application/json' }
export const encodeText = (content: string): Uint8Array => new TextEncoder().encode(content)
export const textAnswer = (status: number, content: string): Answer => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: encodeText(`${content}\n`),
})

/**
 * Returns the answer with the requested range of some bytes, or with all bytes.
 * @param size total number of bytes
 * @param bytes returns the bytes from `start` to `stop`
 */
export function rangeAnswer(
  header: string | undefined,
  size: number,
  headers: Readonly<Record<string, string | number>>,
  bytes: (start: number, stop: number) => Pick<Answer, 'body' | 'parts'>,
): Answer {
  const range = rangeOf(header, size)
  if (range === undefined) return { status: 200, headers: { ...headers, 'accept-ranges': 'bytes' }, ...bytes(0, size) }
  if (range === 'outside')
    return { ...textAnswer(416, 'the range lies outside'), headers: { 'content-range': `bytes */${size}` } }
  const [start, stop] = range
  const ranged = { ...headers, 'accept-ranges': 'bytes', 'content-range': `bytes ${start}-${stop - 1}/${size}` }
  return { status: 206, headers: ranged, ...bytes(start, stop) }
}

/**
 * Parses a single range of bytes. For several ranges and invalid headers the answer has all bytes, as HTTP
 * allows.
 */
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
  { status, headers, body, parts }: Answer,
  { cors }: ServerOptions,
  fail: (error: unknown) => void,
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
  const size = body?.length ?? parts?.size
  // The content may change while it is served.
  response.writeHead(status, { 'cache-control': 'no-cache', ...headers, ...(size !== undefined && { 'content-length': size }) })
  if (request.method === 'HEAD') response.end()
  else if (parts === undefined && (body === undefined || body.length <= PIECE_BYTES)) response.end(body)
  else
    Readable.from(inPieces(parts?.bytes ?? [body!]), { highWaterMark: 1 })
      .on('error', fail)
      .pipe(response)
}

async function* inPieces(parts: AsyncIterable<Uint8Array> | readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for await (const part of parts) for (let at = 0; at < part.length; at += PIECE_BYTES) yield part.subarray(at, at + PIECE_BYTES)
}
