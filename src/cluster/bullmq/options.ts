import { type Check, type Checks, checkOptions, checkValue } from '../../core/options.ts'
import type { Signal } from '../../core/signal.ts'

/** The server that keeps the queue, and how to reach it. */
export interface QueueOptions {
  /**
   * `redis://host`, `rediss://host` (encrypted) or `postgres://host/database`; user and password in it are
   * not shown in messages.
   */
  readonly url: string
  /**
   * The beginning of the names of keys in Redis, and the schema in PostgreSQL: queues of other prefixes have
   * nothing to do with each other (default: `hyperslab`).
   */
  readonly prefix?: string
  /** More options of the client: those of `ioredis`, or of a pool of `pg`, such as `tls` or `ssl`. */
  readonly connection?: object
  /** Tells OpenTelemetry of each task: `new BullMQOtel('hyperslab')` of the package bullmq-otel. */
  readonly telemetry?: object
}

export const QUEUE_CHECKS: Checks<QueueOptions> = {
  url: 'string',
  prefix: 'string',
  connection: 'object',
  telemetry: 'object',
}

/**
 * @param call how messages name the function
 * @throws InvalidArgumentError for what {@link checkOptions} refuses, and without a URL
 */
export function checkQueueOptions(call: string, options: unknown, checks: Readonly<Record<string, Check>>): void {
  checkOptions(call, options, checks)
  checkValue(call, 'url', (options as QueueOptions | undefined)?.url, 'string')
}

/** The settings of a worker. */
export interface WorkerSettings extends QueueOptions {
  /** Tasks at once (default: 1). */
  readonly concurrency?: number
  /** Ends when there is nothing left to do, instead of waiting for more. */
  readonly untilIdle?: boolean
  /**
   * Ends the worker: it takes no more tasks, lets those under way finish for `graceSeconds`, and gives back
   * the others.
   */
  readonly signal?: Signal
  /** Seconds that tasks may take to finish when the worker is ended (default: 10). */
  readonly graceSeconds?: number
  /** Seconds after which tasks of a worker that is silent are given to others (default: 30). */
  readonly lockSeconds?: number
  /** Seconds between two looks for such tasks (default: 10). */
  readonly checkSeconds?: number
  /** Workers that a task may end, by a crash or by silence, until its run fails (default: 5). */
  readonly maxLost?: number
  /** A function that is called with warnings, such as that the server does not answer for the moment. */
  readonly onWarning?: (text: string) => void
}

export const WORKER_CHECKS: Checks<WorkerSettings> = {
  ...QUEUE_CHECKS,
  concurrency: 'integer from 1 to 1024',
  untilIdle: 'boolean',
  signal: 'AbortSignal',
  graceSeconds: 'number from 0',
  lockSeconds: 'number from 1',
  checkSeconds: 'number from 1',
  maxLost: 'integer from 1',
  onWarning: 'function',
}

/** The work that a worker has done: `tasks`, and `merges` of what they came to. */
export interface WorkReport {
  readonly tasks: number
  readonly merges: number
  /** Attempts that failed and were put off. */
  readonly retries: number
}

/** The state of a job; `stopping` is one whose tasks under way are ending. */
export type JobState = 'waiting' | 'running' | 'stopping' | 'done' | 'failed'

/**
 * A job as its queue tells of it: its `state`, how many tasks of the `total` are done, and when it was
 * `added`.
 */
export interface JobStatus {
  /** The id of its plan. */
  readonly id: string
  readonly state: JobState
  /** Tasks done, and all there are. */
  readonly done: number
  readonly total: number
  /** Workers that are connected to the queue, whatever they work on. */
  readonly workers: number
  readonly added: Date
  /** Why it failed, or is about to. */
  readonly failure?: Error
}
