import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { AwsClient } from 'aws4fetch'
import { freePort } from './nginx.ts'
import { install } from './provide.ts'

const SCRIPT = new URL('ceph.sh', import.meta.url).pathname
const PACKAGES = ['ceph-mon', 'ceph-osd', 'radosgw', 'ceph-common']

/**
 * Whether there is a Ceph; in CI it is installed when there is none, so that its tests are never left out
 * there.
 */
export function haveCeph(): boolean {
  if (works()) return true
  if (process.env['CI'] !== 'true' || process.getuid?.() !== 0) return false
  install(...PACKAGES)
  return works()
}

function works(): boolean {
  try {
    for (const program of ['ceph-mon', 'ceph-osd', 'radosgw', 'ceph']) execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** A Ceph on loopback, as an S3 server. */
export class Ceph {
  readonly endpoint: string
  readonly credentials = { accessKeyId: 'TESTACCESSKEY', secretAccessKey: 'TESTSECRETKEY' }
  readonly #process: ChildProcess

  private constructor(endpoint: string, child: ChildProcess) {
    this.endpoint = endpoint
    this.#process = child
  }

  static async start(): Promise<Ceph> {
    const [monitor, gateway] = [await freePort(), await freePort()]
    const child = spawn(SCRIPT, [String(monitor), String(gateway), 'TESTACCESSKEY', 'TESTSECRETKEY'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    await new Promise<void>((resolve, reject) => {
      child.stdout!.once('data', () => resolve())
      child.once('exit', (code) => reject(new Error(`Ceph ended with ${code}`)))
    })
    return new Ceph(`http://127.0.0.1:${gateway}`, child)
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.stdin!.end()
    await ended
  }

  /** @param acl `public-read` lets everyone list it and read what is put there with the same */
  async makeBucket(bucket: string, acl = 'private'): Promise<void> {
    await this.request('PUT', bucket, { 'x-amz-acl': acl })
  }

  /** Counts the uploads that were not completed. */
  async openUploads(bucket: string): Promise<number> {
    return (await this.request('GET', `${bucket}?uploads`)).split('<Upload>').length - 1
  }

  /** A signed request of another client than the one that is tested. */
  async request(method: string, path: string, headers: Record<string, string> = {}): Promise<string> {
    const client = new AwsClient({ ...this.credentials, service: 's3', region: 'us-east-1' })
    const answer = await client.fetch(`${this.endpoint}/${path}`, { method, headers })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text
  }
}
