import type { SharedCodec } from '../codec/codec.ts'
import { lz4 } from '../codec/lz4.ts'
import { type ErrorTag, HyperslabError } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { raceAbort, type Signal } from '../core/signal.ts'
import type { Reply, TaskFailure, TaskRequest } from './perform.ts'
import { spawn, threads, type WorkerLike } from './spawn.ts'
import type { FilePart, PackedBlock, Task, TaskResult, WorkerPool } from './task.ts'
import { Thread } from './thread.ts'

/** Options of `createPool`. */
export interface PoolOptions {
  /**
   * Number of workers. The default is the number of hardware threads, at most 8. With 0, everything runs on
   * the calling thread.
   */
  readonly size?: number
  /**
   * Creates a worker that runs `hyperslab/worker`. For pages whose content security policy forbids workers
   * from blobs: `() => new Worker('/worker.js', { type: 'module' })`, where that file imports
   * `hyperslab/worker` or is a copy of it.
   */
  readonly createWorker?: () => WorkerLike | Promise<WorkerLike>
}

const CHECKS: Checks<PoolOptions> = { size: 'integer from 0 to 1024', createWorker: 'function' }

const DEFAULT_MAX_SIZE = 8
/** Tasks sent to a worker: the one it works on, and the next, so that it never waits. */
const TASKS_PER_WORKER = 2
/**
 * Number of consecutive worker failures, with no task done in between, after which the pool stops using
 * workers.
 */
const MAX_ENDS = 3

interface Job {
  readonly packed: PackedBlock
  readonly task: Task
  /** Number of workers that ended while working on it. */
  ends: number
  /** Whether the caller no longer waits. */
  dropped: boolean
  /** Resolves with the answer, or without one if the caller has to do the work itself. */
  readonly settle: (answer: TaskResult | undefined) => void
  readonly fail: (error: unknown) => void
}

/**
 * Worker threads that decode and reduce blocks. Several files can share one pool. Workers start when there is
 * work for them, and do not keep an otherwise idle process alive.
 */
export class Pool implements WorkerPool {
  readonly #size: number
  readonly #createWorker: () => WorkerLike | Promise<WorkerLike>
  readonly #threads = new Map<Thread, Map<number, Job>>()
  readonly #buffers: BufferPool
  #queue: Job[] = []
  #inline: string | undefined
  #endsInARow = 0
  #lastId = 0

  /** @throws InvalidArgumentError if the size is not an integer from 0 to 1024 */
  constructor(options: PoolOptions = {}) {
    checkOptions('createPool', options, CHECKS)
    const { size = Math.min(threads(), DEFAULT_MAX_SIZE), createWorker = spawn } = options
    this.#size = size
    this.#createWorker = createWorker
    this.#buffers = new BufferPool(size * TASKS_PER_WORKER)
    if (size === 0) this.#inline = 'its size was given as 0'
  }

  /** Number of workers, started or not; 0 if everything runs on the calling thread. */
  get size(): number {
    return this.#inline === undefined ? this.#size : 0
  }

  /** Reason why there are no workers; undefined while there can be. */
  get inlineReason(): string | undefined {
    return this.#inline
  }

  /** Ends the workers. Files that use the pool stay usable, and continue on the calling thread. */
  async close(): Promise<void> {
    this.#giveUp('it was closed')
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Whether its workers can decode blocks of a codec. */
  decodes(codec: unknown): boolean {
    return this.size > 0 && (codec === lz4 || (codec as SharedCodec).remote !== undefined)
  }

  /** Runs a task on a worker; see {@link WorkerPool}. */
  run<T>(packed: PackedBlock, task: Task, use: (answer: TaskResult) => T, signal?: Signal): Promise<T | undefined> {
    signal?.throwIfAborted()
    let job: Job
    const work = new Promise<T | undefined>((resolve, reject) => {
      const settle = (answer: TaskResult | undefined): void => resolve(answer && use(answer))
      job = { packed, task, ends: 0, dropped: false, settle, fail: reject }
      this.#queue.push(job)
      this.#dispatch()
    })
    return raceAbort(work, signal).finally(() => {
      job.dropped = true
    })
  }

  /** Sends waiting jobs to the least busy workers, and starts another worker if all are busy. */
  #dispatch(): void {
    this.#queue = this.#queue.filter(({ dropped }) => !dropped)
    while (this.#queue.length > 0) {
      if (this.size === 0) {
        for (const job of this.#queue.splice(0)) job.settle(undefined)
        return
      }
      let [thread, jobs] = this.#idlest() ?? []
      if ((jobs === undefined || jobs.size > 0) && this.#threads.size < this.#size) [thread, jobs] = this.#hire()
      if (thread === undefined || jobs === undefined || jobs.size >= TASKS_PER_WORKER) return
      const job = this.#queue.shift()!
      const request = this.#requestFor(job)
      jobs.set(request.id, job)
      thread.send(request)
    }
  }

  #idlest(): [Thread, Map<number, Job>] | undefined {
    return [...this.#threads].sort(([, a], [, b]) => a.size - b.size)[0]
  }

  #hire(): [Thread, Map<number, Job>] {
    const jobs = new Map<number, Job>()
    const thread: Thread = new Thread(
      // Turns a synchronous exception into a rejection.
      Promise.resolve().then(() => this.#createWorker()),
      {
        onReply: (reply) => this.#receive(thread, jobs, reply),
        onEnd: (cause, started) => this.#bury(thread, jobs, cause, started),
      },
    )
    this.#threads.set(thread, jobs)
    return [thread, jobs]
  }

  /**
   * Copies the bytes of a job, because other readers may use them, to a transferable buffer with room for the
   * answer.
   */
  #requestFor({ packed: { input, decodedBytes, codec, stored }, task }: Job): TaskRequest {
    const bytes = input instanceof Uint8Array ? input : new Uint8Array(0)
    const room = task.kind === 'reduce' ? bytes.length : Math.max(bytes.length, decodedBytes)
    const buffer = isKept(task) ? new ArrayBuffer(room) : this.#buffers.take(room)
    new Uint8Array(buffer).set(bytes)
    const from = input === bytes ? bytes.length : (input as FilePart)
    return { id: ++this.#lastId, buffer, input: from, decodedBytes, codec, stored, task }
  }

  #receive(thread: Thread, jobs: Map<number, Job>, { id, buffer, length, parts, unread, failure }: Reply): void {
    const job = jobs.get(id)
    if (job === undefined) return
    jobs.delete(id)
    this.#endsInARow = 0
    if (!job.dropped) {
      if (failure !== undefined) job.fail(toError(failure))
      else if (unread) job.settle(undefined)
      else settle(job, { bytes: new Uint8Array(buffer, 0, length), parts })
    }
    if (!isKept(job.task)) this.#buffers.give(buffer)
    this.#dispatch()
    if (jobs.size === 0) thread.rest()
  }

  #bury(thread: Thread, jobs: ReadonlyMap<number, Job>, cause: unknown, started: boolean): void {
    this.#threads.delete(thread)
    const reason = cause instanceof Error ? cause.message : String(cause)
    if (!started) this.#giveUp(`workers cannot be started: ${reason}`)
    else if (++this.#endsInARow >= MAX_ENDS) this.#giveUp(`workers keep ending: ${reason}`)
    for (const job of jobs.values()) {
      // Retried once on another worker, because the job need not be the cause.
      if (++job.ends === 1) this.#queue.unshift(job)
      else job.settle(undefined)
    }
    this.#dispatch()
  }

  #giveUp(reason: string): void {
    this.#inline ??= reason
    for (const thread of this.#threads.keys()) thread.end(reason)
    this.#buffers.clear()
    this.#dispatch()
  }
}

/**
 * Creates a pool of worker threads that decode and reduce blocks, to be passed to `open` and `create`.
 * @throws InvalidArgumentError if the size is not an integer from 0 to 1024
 * @example
 * await using pool = createPool({ size: 2 })
 * await using file = await open('climate.af', { pool })
 * console.log(await file.array('tas').mean()) // 285.5
 */
export const createPool = (options?: PoolOptions): Pool => new Pool(options)

const isKept = (task: Task): boolean => task.kind === 'decode' && task.keep

function settle(job: Job, answer: TaskResult): void {
  try {
    job.settle(answer)
  } catch (error) {
    job.fail(error)
  }
}

function toError({ tag, text, details }: TaskFailure): Error {
  return tag === undefined ? new Error(text) : new HyperslabError(tag as ErrorTag, text, details)
}

/** Buffer sizes are multiples of this, so that blocks of similar size can share buffers. */
const STEP_BYTES = 64 * 1024

/** Largest sum of bytes kept for reuse. */
const MAX_BYTES = 128 * 1024 * 1024

/** Buffers for reuse, because allocating new memory costs more than writing to it. */
export class BufferPool {
  readonly #count: number
  #free: ArrayBuffer[] = []
  #bytes = 0

  /** @param count largest number of buffers kept */
  constructor(count: number) {
    this.#count = count
  }

  /** Returns a buffer of at least `bytes` bytes, with undefined content. */
  take(bytes: number): ArrayBuffer {
    if (bytes === 0) return new ArrayBuffer(0)
    const at = this.#free.findIndex(({ byteLength }) => byteLength >= bytes)
    if (at < 0) return new ArrayBuffer(Math.ceil(bytes / STEP_BYTES) * STEP_BYTES)
    const [buffer] = this.#free.splice(at, 1)
    this.#bytes -= buffer!.byteLength
    return buffer!
  }

  give(buffer: ArrayBuffer): void {
    if (buffer.byteLength === 0) return
    this.#free.push(buffer)
    this.#bytes += buffer.byteLength
    while (this.#free.length > this.#count || this.#bytes > MAX_BYTES) this.#bytes -= this.#free.shift()!.byteLength
  }

  clear(): void {
    this.#free = []
    this.#bytes = 0
  }
}
