import { open, stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Time without a further request after which a round is complete, in ms. */
const QUIET_MS = 30

/** A request of a round. */
export interface RoundRequest {
  readonly method: string
  readonly range: string | undefined
}

/**
 * An HTTP server for local files that counts round trips. A round is a set of requests that are all sent
 * before any answer of the set has arrived: the server answers only after no request has come for a while.
 */
export class RoundServer {
  /** Requests of each round so far. */
  readonly rounds: RoundRequest[][] = []
  /** Bytes of all bodies so far. */
  bytes = 0
  /** Whether requests wait without an answer. */
  holds = false
  /** Number of requests that ended without an answer. */
  ended = 0
  /** ETag of the answer to a request, by the number of the request. */
  etag: (request: number) => string = () => '"1"'
  readonly #server: Server
  readonly #files = new Map<string, string>()
  #waiting: (() => Promise<void>)[] = []
  #current: RoundRequest[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #requests = 0

  private constructor() {
    this.#server = createServer((request, response) => this.#receive(request, response))
  }

  static async start(): Promise<RoundServer> {
    const server = new RoundServer()
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** Serves a local file under a name, and returns its URL. */
  serve(name: string, file: string): string {
    this.#files.set(`/${name}`, file)
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${name}`
  }

  /** Returns the rounds since the last call, and forgets them. */
  take(): { rounds: number; requests: number; bytes: number; log: RoundRequest[][] } {
    const log = this.rounds.splice(0)
    const { bytes } = this
    this.bytes = 0
    return { rounds: log.length, requests: log.flat().length, bytes, log }
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const { method = 'GET', url = '/', headers } = request
    const number = this.#requests++
    this.#current.push({ method, range: headers.range })
    response.on('close', () => {
      if (!response.writableFinished) this.ended++
    })
    this.#waiting.push(async () => {
      await this.#answer(url, { method, range: headers.range, etag: this.etag(number) }, response)
    })
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#flush(), QUIET_MS)
  }

  /** Number of requests that wait for an answer. */
  get waiting(): number {
    return this.#waiting.length
  }

  #flush(): void {
    if (this.holds) return
    this.rounds.push(this.#current)
    const waiting = this.#waiting
    this.#current = []
    this.#waiting = []
    for (const answer of waiting) void answer()
  }

  async #answer(
    url: string,
    { method, range, etag }: { method: string; range: string | undefined; etag: string },
    response: ServerResponse,
  ): Promise<void> {
    const path = this.#files.get(url)
    if (path === undefined) {
      response.writeHead(404, { 'content-length': 0 }).end()
      return
    }
    const { size } = await stat(path)
    const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(range ?? '') ?? []
    const isPart = first !== '' || last !== ''
    const start = first !== '' ? Number(first) : isPart ? Math.max(0, size - Number(last)) : 0
    const end = first !== '' && last !== '' ? Math.min(size, Number(last) + 1) : size
    const length = end - start
    const common = { etag, 'content-length': length }
    response.writeHead(isPart ? 206 : 200, isPart ? { ...common, 'content-range': `bytes ${start}-${end - 1}/${size}` } : common)
    if (method === 'HEAD') {
      response.end()
      return
    }
    const handle = await open(path)
    try {
      const bytes = new Uint8Array(length)
      await handle.read(bytes, 0, length, start)
      if (!response.destroyed) this.bytes += length
      response.end(bytes)
    } finally {
      await handle.close()
    }
  }
}
