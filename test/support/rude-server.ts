import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'

/** Faults of the server. Without any, it follows the standard. */
export interface Manners {
  /** Answers this instead. */
  status?: number
  retryAfter?: string
  /** Answers 200 with everything, whatever range is asked for. */
  ignoreRange?: boolean
  /** Answer to a request for the last bytes: everything, an error, or the first bytes. */
  suffix?: 'ignored' | 'refused' | 'wrong'
  /** Status for HEAD. */
  head?: number
  /** Tells no size with whole objects; with HEAD. */
  noLength?: boolean
  noHeadLength?: boolean
  /** Sends so many bytes less than it should, as if that was all. */
  short?: number
  /** Closes the connection after so many bytes. */
  drop?: number
  /** Sends so many bytes, then nothing. */
  stall?: number
  /** Sends nothing at all, not even the head of an answer. */
  mute?: boolean
  /** Answers once this is settled. */
  hold?: Promise<unknown>
  /** Waits so many ms before it answers. */
  delay?: number
  /** Sends so many bytes every 5 ms. */
  drip?: number
  /** Sends elsewhere: the `Location`; with 307 unless there is a status. */
  redirect?: string
  /** Answers what is not there with 200 and this. */
  page?: Uint8Array
  /** Instead of the `Content-Range`; null for none. */
  contentRange?: string | null
  /** Compresses what it sends. */
  gzip?: boolean
  /** No such header. */
  noEtag?: boolean
  noModified?: boolean
  weakEtag?: boolean
  /** Takes no notice of `If-Match`, or takes it for something else. */
  ifMatch?: 'ignored' | 'misread'
  /** Status for missing objects. */
  missing?: number
  /** Parts begin and end at multiples of this many bytes. */
  granularity?: number
}

export interface Seen {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly range: string | undefined
  readonly headers: IncomingMessage['headers']
}

interface Served {
  readonly bytes: Uint8Array
  readonly etag: string
  readonly modified: string
}

/** An HTTP server for objects in memory that misbehaves on demand. */
export class RudeServer {
  /** All requests so far. */
  readonly seen: Seen[] = []
  /** Answers under way. */
  busy = 0
  /** The most there were at a time. */
  mostBusy = 0
  /** Now and then, or always: `nth` counts requests from 0. */
  manners: Manners | ((request: Seen, nth: number) => Manners) = {}
  readonly #objects = new Map<string, Served>()
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #idle: (() => void)[] = []
  #versions = 0

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response))
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  static async start(): Promise<RudeServer> {
    const server = new RudeServer()
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Serves `bytes` under `/name`; every call is another version. Gives the URL. */
  put(name: string, bytes: Uint8Array): string {
    const version = ++this.#versions
    const modified = new Date(Date.UTC(2024, 0, 1) + version * 1000).toUTCString()
    this.#objects.set(`/${name}`, { bytes, etag: `"v${version}"`, modified })
    return `${this.origin}/${name}`
  }

  /** Forgets objects, versions and requests, and behaves again. */
  reset(): void {
    this.#objects.clear()
    this.seen.length = 0
    this.#versions = 0
    this.mostBusy = 0
    this.manners = {}
  }

  /** Method and range of the requests so far. */
  get log(): string[] {
    return this.seen.map(({ method, range }) => (range === undefined ? method : `${method} ${range}`))
  }

  /** Resolves once no answer is under way: what was stalled has been given up by the client. */
  async idle(): Promise<void> {
    if (this.busy > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { method = 'GET', url = '/', headers } = request
    const seen = { method, url, range: headers.range, headers }
    const manners = typeof this.manners === 'function' ? this.manners(seen, this.seen.length) : this.manners
    this.seen.push(seen)
    this.mostBusy = Math.max(this.mostBusy, ++this.busy)
    response.on('close', () => {
      if (--this.busy === 0) for (const wake of this.#idle.splice(0)) wake()
    })
    if (manners.mute) return
    const reply = () => this.#reply(seen, response, manners)
    // The body of the request is read, whatever becomes of it.
    request.resume().on('end', async () => {
      await manners.hold
      if (manners.delay === undefined) reply()
      else setTimeout(reply, manners.delay)
    })
  }

  #reply(seen: Seen, response: ServerResponse, manners: Manners): void {
    const { method, url } = seen
    const answer = answerTo(seen, this.#objects.get(url.replace(/\?.*/, '')), manners)
    response.writeHead(answer.status, answer.headers)
    const { body } = answer
    if (method === 'HEAD') response.end()
    else if (manners.stall !== undefined) response.write(body.subarray(0, manners.stall))
    else if (manners.drop !== undefined) response.write(body.subarray(0, manners.drop), () => response.socket?.destroy())
    else if (manners.drip !== undefined) drip(response, body, manners.drip)
    else response.end(body)
  }
}

function drip(response: ServerResponse, body: Uint8Array, bytes: number): void {
  let sent = 0
  const timer = setInterval(() => {
    response.write(body.subarray(sent, sent + bytes))
    sent += bytes
    if (sent >= body.length) response.end()
  }, 5)
  response.on('close', () => clearInterval(timer))
}

interface Reply {
  readonly status: number
  readonly headers: Record<string, string | number>
  readonly body: Uint8Array
}

const NOTHING = new Uint8Array(0)
const only = (status: number, headers: Reply['headers'] = {}): Reply => ({ status, headers, body: NOTHING })

function answerTo({ method, range, headers: asked }: Seen, object: Served | undefined, manners: Manners): Reply {
  if (manners.redirect !== undefined) return only(manners.status ?? 307, { location: manners.redirect })
  if (manners.status !== undefined)
    return only(manners.status, manners.retryAfter === undefined ? {} : { 'retry-after': manners.retryAfter })
  if (method === 'HEAD' && manners.head !== undefined) return only(manners.head)
  if (object === undefined && manners.page !== undefined)
    return { status: 200, headers: { 'content-type': 'text/html', 'content-length': manners.page.length }, body: manners.page }
  if (object === undefined) return only(manners.missing ?? 404)
  const { bytes, etag, modified } = object
  const ifMatch = asked['if-match']
  if (ifMatch !== undefined && manners.ifMatch !== 'ignored' && (ifMatch !== etag || manners.ifMatch === 'misread'))
    return only(412)
  const headers = {
    ...(!manners.noEtag && { etag: manners.weakEtag ? `W/${etag}` : etag }),
    ...(!manners.noModified && { 'last-modified': modified }),
    ...(!manners.ignoreRange && { 'accept-ranges': 'bytes' }),
  }
  const part = manners.ignoreRange || method === 'HEAD' ? 'whole' : partOf(range, bytes.length, manners)
  if (part === 'none') return only(416, { 'content-range': manners.contentRange ?? `bytes */${bytes.length}` })
  const withLength = method === 'HEAD' ? !manners.noHeadLength : !manners.noLength
  if (part === 'whole') return { status: 200, ...sent(bytes, manners, headers, withLength) }
  const contentRange =
    manners.contentRange === undefined ? `bytes ${part.start}-${part.end - 1}/${bytes.length}` : manners.contentRange
  const told = contentRange === null ? headers : { ...headers, 'content-range': contentRange }
  return { status: 206, ...sent(bytes.subarray(part.start, part.end), manners, told, true) }
}

function partOf(
  range: string | undefined,
  size: number,
  { suffix, granularity = 1 }: Manners,
): { start: number; end: number } | 'whole' | 'none' {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(range ?? '') ?? []
  if (first === undefined || last === undefined) return 'whole'
  if (first === '') {
    if (suffix === 'ignored') return 'whole'
    if (suffix === 'refused' || size === 0) return 'none'
    if (suffix === 'wrong') return { start: 0, end: Math.min(size, Number(last) + 1) }
    return { start: Math.max(0, size - Number(last)), end: size }
  }
  if (Number(first) >= size) return 'none'
  const end = last === '' ? size : Number(last) + 1
  return {
    start: Math.floor(Number(first) / granularity) * granularity,
    end: Math.min(size, Math.ceil(end / granularity) * granularity),
  }
}

function sent(
  bytes: Uint8Array,
  manners: Manners,
  headers: Reply['headers'],
  withLength: boolean,
): Pick<Reply, 'headers' | 'body'> {
  const { short = 0, gzip } = manners
  if (gzip) {
    const body = gzipSync(bytes)
    return { headers: { ...headers, 'content-encoding': 'gzip', 'content-length': body.length }, body }
  }
  const body = bytes.subarray(0, bytes.length - short)
  return { headers: { ...headers, ...(withLength && { 'content-length': body.length }) }, body }
}
