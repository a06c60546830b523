import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { AwsClient } from 'aws4fetch'
import { freePort } from './nginx.ts'

/** Go's modules have this version of it; building it takes a minute. */
const MODULE = 'github.com/versity/versitygw/cmd/versitygw@v1.8.0'
const FOLDER = new URL('../../build/versitygw', import.meta.url).pathname
const PROGRAM = join(FOLDER, 'versitygw')

/**
 * Whether there is an S3 server that looks at conditions when it puts the parts of an upload together, which
 * Ceph does not: that of Versity. In CI it is built when there is none, so that its tests are never left out
 * there.
 */
export function haveVersity(): boolean {
  if (existsSync(PROGRAM)) return true
  if (process.env['CI'] === 'true') {
    mkdirSync(FOLDER, { recursive: true })
    execFileSync('go', ['install', MODULE], { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, GOBIN: FOLDER } })
    return true
  }
  console.warn(`SKIPPED: tests with Versity's S3 gateway (GOBIN=${FOLDER} go install ${MODULE}; CI=true does it)`)
  return false
}

/** Versity's S3 gateway on loopback, over a folder of its own. */
export class Versity {
  readonly endpoint: string
  readonly credentials = { accessKeyId: 'TESTACCESSKEY', secretAccessKey: 'TESTSECRETKEY' }
  readonly #process: ChildProcess
  readonly #folder: string

  private constructor(endpoint: string, child: ChildProcess, folder: string) {
    this.endpoint = endpoint
    this.#process = child
    this.#folder = folder
  }

  static async start(): Promise<Versity> {
    // Its metadata are extended attributes, which a memory file system may not have.
    const folder = mkdtempSync(join(FOLDER, 'data-'))
    const port = await freePort()
    const args = [
      '--port',
      `127.0.0.1:${port}`,
      '--access',
      'TESTACCESSKEY',
      '--secret',
      'TESTSECRETKEY',
      '--quiet',
      'posix',
      folder,
    ]
    const child = spawn(PROGRAM, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    const server = new Versity(`http://127.0.0.1:${port}`, child, folder)
    for (let tries = 0; ; tries++) {
      try {
        await fetch(server.endpoint)
        return server
      } catch (error) {
        if (tries === 300 || child.exitCode !== null) throw error
        await pause(100)
      }
    }
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
    rmSync(this.#folder, { recursive: true })
  }

  /** The variables by which a process finds it. */
  get env(): Record<string, string> {
    const { accessKeyId, secretAccessKey } = this.credentials
    return { AWS_ENDPOINT_URL: this.endpoint, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey }
  }

  async keys(bucket: string): Promise<string[]> {
    return [...(await this.request('GET', `${bucket}?list-type=2`)).matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key!)
  }

  /** Uploads in parts that were neither completed nor dropped. */
  async openUploads(bucket: string): Promise<number> {
    return (await this.request('GET', `${bucket}?uploads`)).split('<Upload>').length - 1
  }

  /** A signed request of another client than the one that is tested. */
  async request(method: string, path: string, body?: string): Promise<string> {
    const client = new AwsClient({ ...this.credentials, service: 's3', region: 'us-east-1' })
    const answer = await client.fetch(`${this.endpoint}/${path}`, { method, ...(body !== undefined && { body }) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text
  }
}
