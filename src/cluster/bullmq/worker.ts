import { HyperslabError, messageOf } from '../../core/errors.ts'
import { pause, untilSettled } from '../../core/pace.ts'
import { newController, onAbort, raceAbort, type Signal } from '../../core/signal.ts'
import { quickReads } from '../../store/fs/quick-reads.ts'
import { childRange, missingChildren } from '../task-tree.ts'
import { Engine, type NodeJob, type NodeValue, onServer, type RunData, type StoredFailure } from './engine.ts'
import { isFinal, storedFailure } from './failure.ts'
import { type JoinedRun, JoinedRuns, type Plans } from './joined-run.ts'
import { nodeJob, parseContent, RUN, runId } from './nodes.ts'
import { checkQueueOptions, WORKER_CHECKS, type WorkerSettings, type WorkReport } from './options.ts'

const STOPPED: NodeValue = { stopped: true }
/** BullMQ's own limit of lost workers. Not used, because our error names the task. */
const NEVER = 1_000_000
/** Number of runs that stay open while they have no task here. */
const OPEN_RUNS = 8
/** History for dashboards: two weeks. */
const METRICS_MINUTES = 2 * 7 * 24 * 60
const LOOK_MS = 1_000
const SAME_WARNING_MS = 30_000

/** Handles the jobs of a worker. */
class NodeWork {
  readonly report = { tasks: 0, merges: 0, retries: 0 }
  /** Aborted when running tasks must return to the queue. */
  readonly returning = newController()
  readonly runs: JoinedRuns
  readonly #engine: Engine
  readonly #lockMs: number
  readonly #maxLost: number
  readonly #plans: Plans

  constructor(engine: Engine, plans: Plans, lockMs: number, maxLost: number) {
    this.#engine = engine
    this.#plans = plans
    this.runs = new JoinedRuns(engine, plans)
    this.#lockMs = lockMs
    this.#maxLost = maxLost
  }

  /** Runs a job. Returns its value, or throws the error by which BullMQ postpones it. */
  async perform(job: NodeJob, token: string, lost: Signal): Promise<NodeValue> {
    const known = (job.data as RunData).failure
    if (known !== undefined) throw new this.#engine.bullmq.UnrecoverableError(known.text)
    let run: JoinedRun | undefined
    try {
      if (job.stalledCounter >= this.#maxLost) await this.#giveUp(job)
      run = await this.runs.join(job.data.plan)
      if (run === undefined) return STOPPED
      run.active++
      const stop = await run.stop(job.name === RUN ? 0 : undefined)
      if (stop !== undefined) return await this.#stop(job, stop)
      const value = await this.#work(job, token, run, lost)
      if (value === undefined) throw new this.#engine.bullmq.WaitingChildrenError()
      this.report[job.data.level === 0 ? 'tasks' : 'merges']++
      return value
    } catch (error) {
      return await this.#failed(job, token, run, lost, error)
    } finally {
      if (run !== undefined) run.active--
      await this.runs.close(OPEN_RUNS)
    }
  }

  /**
   * @throws WorkerLostError, before the source of the plan is opened, because opening may be what ends the
   *   workers
   */
  async #giveUp({ data: { plan, level, index }, stalledCounter }: NodeJob): Promise<void> {
    const run = await this.#engine.tasks.getJob(runId(plan))
    if (run === undefined) return
    const { text, ...details } = this.#plans.describe(parseContent(run), level, index)
    const message = `${text} has ended its worker ${stalledCounter} times`
    throw new HyperslabError('WorkerLostError', message, { ...details, actual: stalledCounter })
  }

  /** @returns undefined if the job waits for its children */
  async #work(job: NodeJob, token: string, run: JoinedRun, lost: Signal): Promise<NodeValue | undefined> {
    const { level, index } = job.data
    const { runner } = run
    const children = await this.#children(job, token, run)
    if (children === undefined) return undefined
    const ends = [run.signal, this.returning.signal, lost]
    const partial = await untilFirst(ends, (signal) => runner.runNode(level, index, children, signal))
    return { partial }
  }

  /** Returns the values of the children. If some are missing, adds them and waits. */
  async #children(job: NodeJob, token: string, { runner }: JoinedRun): Promise<unknown[] | undefined> {
    const { plan, level, index } = job.data
    const [from, to] = childRange(runner, level, index)
    const top = runner.counts.length - 1
    while (from < to) {
      const values = new Map<number, unknown>()
      for (const [key, value] of Object.entries(await job.getChildrenValues<NodeValue>()))
        if ('partial' in value) values.set(Number(key.slice(key.lastIndexOf('-') + 1)), value.partial)
      const missing = missingChildren(runner, level, index, (child) => values.has(child))
      if (missing.length === 0) return Array.from({ length: to - from }, (_, i) => values.get(from + i))
      // Once its children exist, the job takes precedence over children of others.
      if (job.priority > 0) await job.changePriority({ priority: 0 })
      const { tasks } = this.#engine
      const parent = { id: job.id!, queue: tasks.qualifiedName }
      await tasks.addBulk(
        missing.map((i) => {
          const { name, data, opts } = nodeJob({ plan, level: level - 1, index: i }, top)
          return { name, data, opts: { ...opts, parent } }
        }),
      )
      if (await job.moveToWaitingChildren(token)) return undefined
    }
    return []
  }

  async #failed(job: NodeJob, token: string, run: JoinedRun | undefined, lost: Signal, error: unknown): Promise<NodeValue> {
    const { bullmq, stops } = this.#engine
    if (error instanceof bullmq.WaitingChildrenError || error instanceof bullmq.UnrecoverableError) throw error
    const stop = run?.signal.aborted ? await run.stop() : undefined
    if (stop !== undefined) return this.#stop(job, stop)
    // Another worker has the task by now.
    if (lost.aborted) throw error
    if (this.returning.signal.aborted) {
      await job.moveToWait(token)
      throw new bullmq.WaitingError()
    }
    if (!isFinal(error) && job.attemptsMade + 1 < job.opts.attempts!) {
      this.report.retries++
      throw error
    }
    if (!(await job.extendLock(token, this.#lockMs))) throw error
    const failure = storedFailure(error)
    // The first reason counts.
    if (job.name !== RUN) await stops.add('stop', failure, { jobId: job.data.plan })
    return this.#stop(job, failure)
  }

  /** Returns the reason why a run fails, with a note if its output could not be removed. */
  async #abandoned(job: NodeJob, failure: StoredFailure): Promise<StoredFailure> {
    try {
      await this.#plans.abandon?.(parseContent(job))
      return failure
    } catch (error) {
      return { ...failure, text: `${failure.text}; what was written could not be removed: ${messageOf(error)}` }
    }
  }

  /** Ends a node of a stopped run. The job of the whole run fails with the reason. */
  async #stop(job: NodeJob, reason: StoredFailure): Promise<NodeValue> {
    if (job.name !== RUN) return STOPPED
    const failure = await this.#abandoned(job, reason)
    await job.updateData({ ...job.data, failure } as RunData)
    await this.#engine.stops.remove(job.data.plan)
    throw new this.#engine.bullmq.UnrecoverableError(failure.text)
  }
}

/** Works on the tasks of a queue until the worker is stopped. */
export async function workOn(plans: Plans, options: WorkerSettings): Promise<WorkReport> {
  checkQueueOptions('work', options, WORKER_CHECKS)
  const {
    concurrency = 1,
    untilIdle = false,
    signal,
    graceSeconds = 10,
    lockSeconds = 30,
    checkSeconds = 10,
    maxLost = 5,
  } = options
  const { url, prefix, connection, telemetry } = options
  const queue = { url, ...(prefix && { prefix }), ...(connection && { connection }), ...(telemetry && { telemetry }) }
  // A read that delays this thread would delay the renewal of locks.
  using _asynchronous = quickReads.suspend()
  await using engine = await Engine.open(queue)
  const work = new NodeWork(engine, plans, lockSeconds * 1000, maxLost)
  const worker = engine.work((job, token, lost) => work.perform(job, token!, lost!), {
    concurrency,
    lockDuration: lockSeconds * 1000,
    stalledInterval: checkSeconds * 1000,
    maxStalledCount: NEVER,
    runRetryDelay: 1_000,
    metrics: { maxDataPoints: METRICS_MINUTES },
  })
  const warn = seldom(options.onWarning)
  worker.on('error', (error) => warn(messageOf(error)))
  // Tasks that other workers have taken meanwhile are cancelled.
  worker.on('lockRenewalFailed', (ids: readonly string[]) => {
    for (const id of ids) worker.cancelJob(id, 'its lock was lost')
  })
  const ended = newController()
  try {
    const looking = every(LOOK_MS, ended.signal, () => work.runs.look().catch((error: unknown) => warn(messageOf(error))))
    const idle = untilIdle ? untilNothingLeft(engine, ended.signal) : new Promise<void>(() => undefined)
    await raceAbort(Promise.race([idle, looking]), signal).catch((error: unknown) => {
      if (!signal?.aborted) throw error
    })
  } finally {
    pause(graceSeconds * 1000, ended.signal).then(
      () => work.returning.abort(),
      () => undefined,
    )
    await worker.close()
    ended.abort()
    await work.runs.close()
  }
  return work.report
}

/** Repeats a call until the signal aborts. */
async function every(ms: number, signal: Signal, call: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await pause(ms, signal).catch(() => undefined)
    if (!signal.aborted) await call()
  }
}

const STATES = ['wait', 'active', 'delayed', 'prioritized', 'waiting-children'] as const

async function untilNothingLeft({ tasks, server }: Engine, signal: Signal): Promise<void> {
  while (!signal.aborted) {
    const counts = await onServer(server, () => tasks.getJobCounts(...STATES))
    if (Object.values(counts).every((count) => count === 0)) return
    await pause(LOOK_MS / 4, signal).catch(() => undefined)
  }
}

/** Runs work with a signal that aborts with the first of several. */
async function untilFirst<T>(signals: readonly Signal[], work: (signal: Signal) => Promise<T>): Promise<T> {
  const controller = newController()
  const forget = signals.map((each) => onAbort(each, () => controller.abort(each.reason)))
  const aborted = signals.find((each) => each.aborted)
  if (aborted !== undefined) controller.abort(aborted.reason)
  try {
    controller.signal.throwIfAborted()
    const running = work(controller.signal)
    return await raceAbort(running, controller.signal).catch(async (error: unknown) => {
      // The output of a stopped run is discarded next. Work that ends within a second adds nothing to it
      // afterwards.
      await untilSettled(running)
      throw error
    })
  } finally {
    for (const each of forget) each()
  }
}

/** Suppresses repetitions of a text for a while. */
function seldom(tell: (text: string) => void = () => undefined): (text: string) => void {
  const told = new Map<string, number>()
  return (text) => {
    const now = Date.now()
    if (now - (told.get(text) ?? Number.NEGATIVE_INFINITY) < SAME_WARNING_MS) return
    told.set(text, now)
    tell(text)
  }
}
