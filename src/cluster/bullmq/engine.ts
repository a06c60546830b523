import type { Job, JobsOptions, Queue, Worker, WorkerOptions } from 'bullmq'
import { HyperslabError, messageOf } from '../../core/errors.ts'
import { JOB_VERSION } from '../plan-parts.ts'
import type { QueueOptions } from './options.ts'

/** Data of the job of a node. */
export interface NodeData {
  readonly plan: string
  readonly level: number
  readonly index: number
}

/** Additional data of the job of the whole tree. */
export interface RunData extends NodeData {
  /** The plan itself, once, as text, because PostgreSQL reorders the names in JSON. */
  readonly content: string
  /** Number of nodes of each level. */
  readonly counts: readonly number[]
  readonly fanIn: number
  readonly phases?: readonly (readonly number[])[] | undefined
  readonly restarts?: boolean | undefined
  readonly added: number
  /** Reason of its failure. */
  readonly failure?: StoredFailure
}

/** An error as the queue stores it. */
export interface StoredFailure {
  readonly tag?: string
  readonly text: string
  readonly details: object
}

/** Result of a node for the node above: a partial aggregate, or none if the run was stopped. */
export type NodeValue = { readonly partial: unknown } | { readonly stopped: true }

export type NodeJob = Job<NodeData, NodeValue>
export type NodeQueue = Queue<NodeData, NodeValue>
export type NodeWorker = Worker<NodeData, NodeValue>
export type NodeProcessor = (job: NodeJob, token: string | undefined, signal: AbortSignal | undefined) => Promise<NodeValue>
export type { JobsOptions }

type BullMQ = typeof import('bullmq')

/** Loaded when a queue is opened. Imported through variables, so that bundlers omit them. */
const [BULLMQ, REDIS, POSTGRES] = ['bullmq', 'ioredis', 'pg']

/** Timeout of a server's first answer, in ms. */
const CONNECT_MS = 10_000
/** Maximum number of connections to PostgreSQL, which other programs may use, too. */
const POSTGRES_CONNECTIONS = 4
/** Number of events that are kept for dashboards. */
const EVENTS = 1000

const NAME = /^[a-z_][a-z0-9_-]{0,40}$/i

/** A queue on its server: tasks, and reasons of stopped runs. */
export class Engine {
  /** The server without user and password, for messages. */
  readonly server: string
  readonly bullmq: BullMQ
  readonly tasks: NodeQueue
  /** One job, which no worker takes, for each run that must stop. Adding it twice keeps the first. */
  readonly stops: Queue<StoredFailure>
  readonly #base: { connection: object; prefix: string; telemetry?: never }
  readonly #backend: undefined | BullMQ['createPostgresBackend']

  private constructor(server: string, bullmq: BullMQ, options: QueueOptions) {
    const { url, prefix = 'hyperslab', connection = {}, telemetry } = options
    const isRedis = isRedisUrl(url)
    this.server = server
    this.bullmq = bullmq
    this.#backend = isRedis ? undefined : bullmq.createPostgresBackend
    this.#base = {
      prefix,
      ...(telemetry && { telemetry: telemetry as never }),
      connection: isRedis
        ? { url, maxRetriesPerRequest: null, retryStrategy: (tries: number) => Math.min(2 ** tries * 50, 2_000), ...connection }
        : { connectionString: url, schema: prefix, migrate: true, max: POSTGRES_CONNECTIONS, ...connection },
    }
    const queue = (name: string): Queue => {
      const settings = { ...this.#base, streams: { events: { maxLen: EVENTS } } }
      const made = new bullmq.Queue(name, settings as never, this.#backend as never) as Queue
      // Each request reports its own error. Without a listener, the event would be thrown.
      made.on('error', () => undefined)
      return made
    }
    // The version is part of the name, so that only workers that know it take its plans.
    this.tasks = queue(`tasks-${JOB_VERSION}`) as NodeQueue
    this.stops = queue(`stops-${JOB_VERSION}`) as Queue<StoredFailure>
  }

  /**
   * @throws MissingDependencyError without the packages bullmq and ioredis or pg; StoreError if the server
   *   does not answer within 10 seconds; UnsupportedError for a server that may evict tasks
   */
  static async open(options: QueueOptions): Promise<Engine> {
    const { url, prefix = 'hyperslab', connection } = options
    const server = parseServer(url)
    if (!NAME.test(prefix))
      throw new HyperslabError('InvalidArgumentError', 'the prefix of a queue is 1 to 41 letters, digits, _ or -', {
        file: server,
        actual: prefix,
      })
    const bullmq = await load<BullMQ>(BULLMQ, server)
    if (isRedisUrl(url)) await checkRedis(server, url, connection)
    else await checkPostgres(server, url, connection)
    const engine = new Engine(server, bullmq, options)
    await onServer(server, () => Promise.all([engine.tasks.waitUntilReady(), engine.stops.waitUntilReady()]))
    return engine
  }

  work(processor: NodeProcessor, options: Omit<WorkerOptions, 'connection' | 'prefix'>): NodeWorker {
    const settings = { ...this.#base, ...options }
    return new this.bullmq.Worker(this.tasks.name, processor as never, settings as never, this.#backend as never) as NodeWorker
  }

  async close(): Promise<void> {
    await Promise.all([this.tasks.close(), this.stops.close()])
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Runs requests to the server. Converts errors of its client to StoreErrors. */
export async function onServer<T>(server: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof HyperslabError) throw cause
    throw new HyperslabError('StoreError', `the server of the queue failed: ${reasonOf(cause)}`, { file: server, cause })
  }
}

/** An error about several addresses has no message of its own. */
const reasonOf = (cause: unknown): string =>
  messageOf(cause) ||
  (cause as { errors?: unknown[] }).errors?.map(messageOf).join('; ') ||
  String((cause as { code?: unknown }).code)

const isRedisUrl = (url: string): boolean => /^rediss?:/.test(url)

/** @throws InvalidArgumentError unless it is the URL of a server for queues */
function parseServer(url: string): string {
  const parsed = /^(rediss?|postgres(?:ql)?):\/\//.test(url) && URL.canParse(url) ? new URL(url) : undefined
  if (parsed !== undefined) return `${parsed.protocol}//${parsed.host}${parsed.pathname}`
  const text = 'the URL of a queue begins with redis://, rediss:// or postgres://'
  // The message omits the URL, which may contain a password.
  throw new HyperslabError('InvalidArgumentError', text, { expected: ['redis:', 'rediss:', 'postgres:'] })
}

async function load<T>(name: string | undefined, server: string): Promise<T> {
  try {
    return (await import(/* webpackIgnore: true */ /* @vite-ignore */ name!)) as T
  } catch (cause) {
    const text = `queues need the package ${name}: npm install ${name}`
    throw new HyperslabError('MissingDependencyError', text, { file: server, cause })
  }
}

async function checkRedis(server: string, url: string, options: object = {}): Promise<void> {
  const { Redis } = await load<typeof import('ioredis')>(REDIS, server)
  const client = new Redis(url, { connectTimeout: CONNECT_MS, ...options, lazyConnect: true, retryStrategy: () => null })
  let failure: unknown
  client.on('error', (error) => {
    failure = error
  })
  try {
    await client.connect()
    const memory = await client.info('memory')
    const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1]
    if (policy !== undefined && policy !== 'noeviction') {
      const text = `its maxmemory-policy is ${policy}: it may forget tasks; set it to noeviction`
      throw new HyperslabError('UnsupportedError', text, { file: server, actual: policy, expected: 'noeviction' })
    }
  } catch (cause) {
    if (cause instanceof HyperslabError) throw cause
    throw new HyperslabError('StoreError', `the server of the queue does not answer: ${reasonOf(failure ?? cause)}`, {
      file: server,
      cause: failure ?? cause,
    })
  } finally {
    client.disconnect()
  }
}

/** The used part of the package pg, which has no types. */
interface Pg {
  readonly default: {
    readonly Client: new (
      options: object,
    ) => {
      on(event: 'error', listener: () => void): void
      connect(): Promise<void>
      end(): Promise<void>
    }
  }
}

async function checkPostgres(server: string, url: string, options: object = {}): Promise<void> {
  const { Client } = (await load<Pg>(POSTGRES, server)).default
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS, ...options })
  client.on('error', () => undefined)
  try {
    await client.connect()
  } catch (cause) {
    throw new HyperslabError('StoreError', `the server of the queue does not answer: ${reasonOf(cause)}`, { file: server, cause })
  } finally {
    await client.end().catch(() => undefined)
  }
}
