import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export type Fault =
  /** An answer of the proxy's own; the server hears nothing. */
  | { readonly status: number; readonly code?: string }
  /**
   * The connection is cut before the server hears of the request, or after it has done what was asked, or
   * after so many bytes.
   */
  | { readonly cut: 'before' | 'after' | number }
  /** The server does what was asked, its answer is another one. */
  | { readonly status: number; readonly after: true }
  /** So many bytes of the answer, then nothing; with 0 not even its head. */
  | { readonly stall: number }

export interface Passing {
  readonly method: string
  /** Path and query. */
  readonly url: string
}

/** Stands in front of a server and spoils what passes. */
export class FaultProxy {
  /** Requests so far. */
  readonly seen: Passing[] = []
  /** Requests under way. */
  busy = 0
  /** `nth` counts requests from 0. */
  fault: (request: Passing, nth: number) => Fault | undefined = () => undefined
  readonly #target: URL
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(target: string) {
    this.#target = new URL(target)
    this.#server = createServer((incoming, response) => this.#pass(incoming, response))
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  reset(): void {
    this.seen.length = 0
    this.fault = () => undefined
  }

  /** Methods of the requests so far. */
  get log(): string[] {
    return this.seen.map(({ method }) => method)
  }

  async #pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers, socket } = incoming
    const fault = this.fault({ method, url }, this.seen.length)
    this.seen.push({ method, url })
    this.busy++
    response.on('close', () => void this.busy--)
    const body = await collect(incoming).catch(() => undefined)
    if (body === undefined) return
    if (fault !== undefined && 'cut' in fault && fault.cut === 'before') return void socket.destroy()
    if (fault !== undefined && 'status' in fault && !('after' in fault)) return answer(response, fault.status, fault.code)
    const { hostname, port } = this.#target
    // The header with the host is part of what was signed.
    const forward = request({ hostname, port, method, path: url, headers, agent: false }, async (answered) => {
      const bytes = await collect(answered)
      if (fault !== undefined && 'cut' in fault && fault.cut === 'after') return void socket.destroy()
      if (fault !== undefined && 'status' in fault) return answer(response, fault.status)
      if (fault !== undefined && 'stall' in fault && fault.stall === 0) return
      response.writeHead(answered.statusCode!, answered.headers)
      if (fault === undefined) response.end(bytes)
      else if ('stall' in fault) response.write(bytes.subarray(0, fault.stall))
      else response.write(bytes.subarray(0, fault.cut as number), () => socket.destroy())
    })
    forward.on('error', () => socket.destroy())
    forward.end(body)
  }
}

function answer(response: ServerResponse, status: number, code?: string): void {
  response.writeHead(status).end(code === undefined ? '' : `<Error><Code>${code}</Code></Error>`)
}

async function collect(stream: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(part)
  return Buffer.concat(parts)
}
