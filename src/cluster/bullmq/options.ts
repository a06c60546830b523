import { type Check, type Checks, checkOptions, checkValue } from '../../core/options.ts'
import type { Signal } from '../../core/signal.ts'

/** Server of a queue, and the connection to it. */
export interface QueueOptions {
  /**
   * `redis://host`, `rediss://host` (encrypted) or `postgres://host/database`. Messages omit user and
   * password.
   */
  readonly url: string
  /**
   * Prefix of the keys in Redis, and schema in PostgreSQL. Queues of different prefixes are independent.
   * Default: `hyperslab`.
   */
  readonly prefix?: string
  /** Additional options of the client, such as `tls` or `ssl`: those of `ioredis`, or of a pool of `pg`. */
  readonly connection?: object
  /** Reports each task to OpenTelemetry: `new BullMQOtel('hyperslab')` of the package bullmq-otel. */
  readonly telemetry?: object
}

export const QUEUE_CHECKS: Checks<QueueOptions> = {
  url: 'string',
  prefix: 'string',
  connection: 'object',
  telemetry: 'object',
}

/**
 * @param call name of the function in messages
 * @throws the errors of {@link checkOptions}; InvalidArgumentError without a URL
 */
export function checkQueueOptions(call: string, options: unknown, checks: Readonly<Record<string, Check>>): void {
  checkOptions(call, options, checks)
  checkValue(call, 'url', (options as QueueOptions | undefined)?.url, 'string')
}

/** Settings of a worker. */
export interface WorkerSettings extends QueueOptions {
  /** Number of concurrent tasks. Default: 1. */
  readonly concurrency?: number
  /** Whether the worker ends if there are no tasks left, instead of waiting for more. Default: false. */
  readonly untilIdle?: boolean
  /**
   * Cancels the call when it is aborted. The worker then takes no more tasks, lets running tasks finish
   * within `graceSeconds`, and returns the others to the queue.
   */
  readonly signal?: Signal
  /** Seconds in which running tasks may finish when the worker is stopped. Default: 10. */
  readonly graceSeconds?: number
  /** Seconds without a sign of life of a worker, after which its tasks are given to others. Default: 30. */
  readonly lockSeconds?: number
  /** Seconds between two checks for such tasks. Default: 10. */
  readonly checkSeconds?: number
  /** Number of workers that a task may end, by a crash or by silence, before its run fails. Default: 5. */
  readonly maxLost?: number
  /** Function that is called with warnings, such as that the server does not answer at the moment. */
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

/** Work done by a worker: `tasks`, and `merges` of their results. */
export interface WorkReport {
  readonly tasks: number
  readonly merges: number
  /** Failed attempts that were postponed. */
  readonly retries: number
}

/** State of a job. `stopping`: its running tasks are ending. */
export type JobState = 'waiting' | 'running' | 'stopping' | 'done' | 'failed'

/**
 * Status of a job in its queue: its `state`, how many tasks of the `total` are done, and when it was `added`.
 */
export interface JobStatus {
  /** Id of its plan. */
  readonly id: string
  readonly state: JobState
  /** Number of tasks that are done, and of all tasks. */
  readonly done: number
  readonly total: number
  /** Number of workers that are connected to the queue, for any job. */
  readonly workers: number
  readonly added: Date
  /** Reason why it has failed, or is about to fail. */
  readonly failure?: Error
}
