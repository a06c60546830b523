import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { inject } from 'vitest'
import type { WireAttribute, WireScalar } from './wire.ts'

/** An array as the Rust crate sees it. */
export interface PeerArray {
  readonly name: string
  readonly dtype: string
  readonly shape: number[]
  readonly chunkShape: number[]
  readonly dimensionNames: string[]
  readonly fillValue: WireScalar | null
  /** The elements, as the payload of a chunk, in hexadecimal; or why there are none. */
  readonly values: Answer
  readonly attributes: Record<string, WireAttribute>
  readonly stats: { min: WireScalar | null; max: WireScalar | null; nullCount: string; rowCount: string } | null
}

export interface Answer {
  readonly ok?: unknown
  readonly error?: string
  readonly panic?: string
}

/** Whether the crate can be asked: in CI always, elsewhere where there is a cargo. */
export const havePeer = inject('peerPort') !== undefined

/** The path of a program, once it is compiled, which takes minutes the first time. */
export async function programAt(port: number): Promise<string> {
  const told = await text(connect(port, '127.0.0.1'))
  if (!told.startsWith('built ')) throw new Error(told)
  return told.slice('built '.length)
}

/** The Rust crate array-format in a process of its own, which takes commands one after another. */
export class Peer {
  readonly #process: ChildProcessWithoutNullStreams
  readonly #waiting: { resolve(answer: Answer): void; reject(error: Error): void }[] = []

  /** Waits for it to be compiled. */
  static async start(port = inject('peerPort')): Promise<Peer> {
    return new Peer(await programAt(port!))
  }

  private constructor(program: string) {
    this.#process = spawn(program, { stdio: 'pipe' })
    this.#process.stderr.pipe(process.stderr)
    createInterface({ input: this.#process.stdout }).on('line', (line) => this.#waiting.shift()?.resolve(JSON.parse(line)))
    this.#process.on('exit', (code, signal) => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error(`the Rust peer ended with ${code ?? signal}`))
    })
  }

  /** Sends a command to the crate; returns its answer, errors and panics included. */
  ask(command: { readonly do: string; readonly [key: string]: unknown }): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#process.stdin.write(`${JSON.stringify(command)}\n`)
    })
  }

  /** Sends a command to the crate; returns its result. @throws when the crate fails */
  async do(what: string, details: Record<string, unknown> = {}): Promise<unknown> {
    const answer = await this.ask({ do: what, ...details })
    if ('ok' in answer) return answer.ok
    throw new Error(`${what} ${JSON.stringify(details)}: the crate says ${JSON.stringify(answer)}`)
  }

  /** All arrays of the file that is open, with attributes of the given names. */
  async dump(keys: readonly string[]): Promise<{ layers: number; arrays: PeerArray[] }> {
    return (await this.do('dump', { keys })) as { layers: number; arrays: PeerArray[] }
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.stdin.end()
    await ended
  }
}
