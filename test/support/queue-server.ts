import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './nginx.ts'
import { provide, runs } from './provide.ts'

const SCRIPT = new URL('queue-server.sh', import.meta.url).pathname
const POSTGRES = '/usr/lib/postgresql/15/bin'

/** The kinds of servers that queues of tasks are kept by. */
export type QueueKind = 'redis' | 'postgres'

export const haveQueue = (kind: QueueKind): boolean =>
  kind === 'redis'
    ? provide('redis-server', () => runs('redis-server', '--version'))
    : provide(
        'postgresql-15',
        () => existsSync(`${POSTGRES}/initdb`) && (process.getuid?.() !== 0 || idOf('postgres') !== undefined),
      )

/**
 * A Redis or PostgreSQL on loopback, of its own port and folder, that keeps what it has acknowledged when it
 * is killed.
 */
export class QueueServer {
  readonly url: string
  readonly kind: QueueKind
  readonly #port: number
  readonly #folder: string
  readonly #process: ChildProcess

  private constructor(kind: QueueKind, port: number, folder: string, child: ChildProcess) {
    this.kind = kind
    this.url = kind === 'redis' ? `redis://127.0.0.1:${port}` : `postgres://postgres@127.0.0.1:${port}/postgres`
    this.#port = port
    this.#folder = folder
    this.#process = child
  }

  /** @param settings of Redis, such as `--maxmemory-policy allkeys-lru` */
  static async start(kind: QueueKind, settings: readonly string[] = []): Promise<QueueServer> {
    const port = await freePort()
    const folder = mkdtempSync(join(tmpdir(), `hyperslab-${kind}-`))
    const command = kind === 'redis' ? redis(port, folder, settings) : postgres(port, folder)
    const child = spawn(SCRIPT, [folder, ...command], { stdio: ['pipe', 'pipe', 'inherit'] })
    const server = new QueueServer(kind, port, folder, child)
    await server.#answers()
    return server
  }

  /** Ends it as a power cut would. */
  kill(): Promise<void> {
    return this.#tell('kill')
  }

  /** Starts it again, on the same port, with what it had acknowledged. */
  async restart(): Promise<void> {
    await this.#tell('start')
    await this.#answers()
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.stdin!.end()
    await ended
  }

  async #tell(line: string): Promise<void> {
    const told = once(this.#process.stdout!, 'data')
    this.#process.stdin!.write(`${line}\n`)
    await told
  }

  /** Waits until it takes commands: while Postgres recovers it takes connections only to refuse them. */
  async #answers(): Promise<void> {
    for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
      if (this.kind === 'redis' ? await pings(this.#port) : isReady(this.#port)) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    throw new Error(`no answer of ${this.kind}: ${readFileSync(join(this.#folder, 'server.out'), 'utf8')}`)
  }
}

function redis(port: number, folder: string, settings: readonly string[]): string[] {
  const kept = ['--appendonly', 'yes', '--save', '', '--maxmemory-policy', 'noeviction']
  return ['redis-server', '--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...kept, ...settings]
}

/** Postgres refuses to run as root: it runs as the user that its package makes. */
function postgres(port: number, folder: string): string[] {
  const user = process.getuid?.() === 0 ? idOf('postgres')! : undefined
  const as = user === undefined ? [] : ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
  chmodSync(folder, 0o755)
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const [program, ...args] = [
    ...as,
    `${POSTGRES}/initdb`,
    '-D',
    data,
    '-U',
    'postgres',
    '-A',
    'trust',
    '--no-sync',
    '--locale=C.UTF-8',
  ]
  execFileSync(program!, args, { stdio: ['ignore', 'ignore', 'inherit'], cwd: folder })
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, `unix_socket_directories=${folder}`, 'max_connections=200']
  return [...as, `${POSTGRES}/postgres`, '-D', data, ...settings.flatMap((setting) => ['-c', setting])]
}

function idOf(name: string): { uid: number; gid: number } | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${name}:`))
  if (line === undefined) return undefined
  const [, , uid, gid] = line.split(':')
  return { uid: Number(uid), gid: Number(gid) }
}

const isReady = (port: number): boolean =>
  runs(`${POSTGRES}/pg_isready`, '-q', '-h', '127.0.0.1', '-p', String(port), '-U', 'postgres')

function pings(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (answer: boolean): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (bytes) => end(bytes.toString().startsWith('+PONG')))
    socket.once('error', () => end(false))
  })
}
