import { HyperslabError } from '../../core/errors.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { pause } from '../../core/pace.ts'
import type { Signal } from '../../core/signal.ts'
import { childRange, type TaskTree, tasksBelow } from '../task-tree.ts'
import { type Engine, type NodeJob, type NodeValue, onServer, type RunData } from './engine.ts'
import { errorOfFailure, storedFailure } from './failure.ts'
import { nodeId, parseContent, RUN, runId, runSettings } from './nodes.ts'
import type { JobStatus } from './options.ts'

/** Interval of progress reports, in ms. Short runs report more often. */
const POLL_MS = 1_000
const FIRST_POLL_MS = 20
/** Number of concurrent requests to the server. */
const QUESTIONS = 16
/** Time for which requests wait for a server that restarts, in ms. */
const PATIENCE_MS = 300_000

/**
 * Runs a tree on the workers of a queue. Joins the run if it exists, and resumes it if it failed.
 * @param content the plan, from which workers create the nodes
 * @returns value of the last node
 * @throws the error of a failed task; CancelledError; the reason of the signal, which ends only the wait
 */
export async function runTree(
  engine: Engine,
  tree: TaskTree,
  content: unknown,
  { signal, onProgress }: { readonly signal?: Signal; readonly onProgress?: (status: JobStatus) => void } = {},
): Promise<unknown> {
  await onServer(engine.server, () => start(engine, tree, content))
  const begun = Date.now()
  let waited = FIRST_POLL_MS
  for (let answered = begun; ; waited = Math.min(waited * 1.5, POLL_MS)) {
    signal?.throwIfAborted()
    try {
      const end = await look(engine, tree, content, onProgress)
      answered = Date.now()
      if (end !== undefined) return end.partial
    } catch (error) {
      if (error instanceof Ended) throw error.failure
      if (Date.now() - answered > PATIENCE_MS) await onServer(engine.server, () => Promise.reject(error))
    }
    await pauseUntilOver(engine, tree.id, waited, begun, signal)
  }
}

/**
 * Returns the interval between checks for the end of a run, in ms, after a wait of `waitedMs`. A check takes
 * the machines about a millisecond, so at this interval checks cost no more than a late notice.
 */
const noticedWithin = (waitedMs: number): number => Math.max(10, Math.sqrt(waitedMs))

/** Pauses, at most until the run has ended. */
async function pauseUntilOver(
  { tasks }: Engine,
  id: string,
  ms: number,
  begun: number,
  signal: Signal | undefined,
): Promise<void> {
  const until = Date.now() + ms
  for (let left = ms; left > 0; left = until - Date.now()) {
    await pause(Math.min(left, noticedWithin(Date.now() - begun)), signal)
    // Errors of the server are reported when the run itself is read.
    const state = await tasks.getJobState(runId(id)).catch(() => undefined)
    if (state === 'completed' || state === 'failed') return
  }
}

/** Passes the error of a run through the handler of server errors. */
class Ended extends Error {
  readonly failure: Error

  constructor(failure: Error) {
    super(failure.message)
    this.failure = failure
  }
}

async function start(engine: Engine, tree: TaskTree, content: unknown): Promise<void> {
  const job = await engine.tasks.getJob(runId(tree.id))
  if (job === undefined) return add(engine, tree, content)
  if ((await job.getState()) === 'failed') await takeUp(engine, job)
}

/** Adds the run. Has no effect if it exists already. */
async function add({ tasks }: Engine, { id, counts, fanIn, phases, restarts }: TaskTree, content: unknown): Promise<void> {
  const data: RunData = {
    plan: id,
    level: counts.length - 1,
    index: 0,
    content: JSON.stringify(content),
    counts,
    fanIn,
    phases,
    restarts,
    added: Date.now(),
  }
  await tasks.add(RUN, data, runSettings(id))
}

/** Resumes a failed run. The results of its groups are kept, unless the run must start from the beginning. */
async function takeUp(engine: Engine, job: NodeJob): Promise<void> {
  const { tasks, stops } = engine
  const { failure: _, ...data } = job.data as RunData
  await stops.remove(data.plan)
  if (data.restarts) {
    await job.remove({ removeChildren: true })
    return add(engine, { ...data, id: data.plan }, parseContent(job))
  }
  await job.updateData(data)
  // Another process may have resumed it first.
  await job.retry('failed', { resetAttemptsMade: true }).catch(async (error: unknown) => {
    if ((await tasks.getJobState(job.id!)) === 'failed') throw error
  })
}

async function look(
  engine: Engine,
  tree: TaskTree,
  content: unknown,
  onProgress: ((status: JobStatus) => void) | undefined,
): Promise<{ partial: unknown } | undefined> {
  const { tasks } = engine
  // The state is requested before the job, because a job that was read while it was running does not show how
  // it ended.
  const state = await tasks.getJobState(runId(tree.id))
  const job = await tasks.getJob(runId(tree.id))
  // A server that was killed may have lost its last writes.
  if (job === undefined) return void (await add(engine, tree, content))
  if (state === 'completed') {
    onProgress?.(await readStatus(engine, job))
    return job.returnvalue as Extract<NodeValue, { partial: unknown }>
  }
  // Without a reason, the run was resumed meanwhile.
  if (state === 'failed' && hasReason(job)) throw new Ended(reasonOf(job))
  if (onProgress !== undefined) onProgress(await readStatus(engine, job))
  return undefined
}

const hasReason = ({ data, failedReason }: NodeJob): boolean => (data as RunData).failure !== undefined || Boolean(failedReason)

const reasonOf = ({ data, failedReason }: NodeJob): Error =>
  errorOfFailure((data as RunData).failure ?? { text: failedReason, details: {} })

/** Returns the status of a run. */
async function readStatus(engine: Engine, job: NodeJob): Promise<JobStatus> {
  const { plan: id, counts, added } = job.data as RunData
  const [jobState, stop, workers] = await Promise.all([job.getState(), engine.stops.getJob(id), engine.tasks.getWorkersCount()])
  const total = counts[0]!
  const isOver = jobState === 'completed' || jobState === 'failed'
  const done = jobState === 'completed' ? total : await tasksDone(engine, job)
  const state =
    jobState === 'completed' ? 'done' : jobState === 'failed' ? 'failed' : stop ? 'stopping' : done > 0 ? 'running' : 'waiting'
  const ended = jobState === 'failed' && !hasReason(job) ? ((await engine.tasks.getJob(job.id!)) ?? job) : job
  const failure = jobState === 'failed' ? reasonOf(ended) : stop && !isOver ? errorOfFailure(stop.data) : undefined
  return { id, state, done, total, workers, added: new Date(added), ...(failure && { failure }) }
}

/**
 * Returns the number of finished tasks of a run, from the children of its merges. Merges that have not begun
 * to wait for children count as 0.
 */
async function tasksDone({ tasks }: Engine, run: NodeJob): Promise<number> {
  const { plan, counts, fanIn, phases } = run.data as RunData
  const tree: TaskTree = { id: plan, counts, fanIn, phases }
  const top = counts.length - 1
  let done = 0
  let open = top === 0 ? [] : [0]
  for (let level = top; open.length > 0; level--) {
    const below: number[] = []
    await forEachLimited(open, QUESTIONS, async (index) => {
      const job = level === top ? run : await tasks.getJob(nodeId({ plan, level, index }, top))
      if (job === undefined) return
      if (level === 1) {
        done += (await job.getDependenciesCount({ processed: true })).processed ?? 0
        return
      }
      const over = new Set<number>()
      for (const [key, value] of Object.entries(await job.getChildrenValues<NodeValue>()))
        if ('partial' in value) over.add(Number(key.slice(key.lastIndexOf('-') + 1)))
      const [from, to] = childRange(tree, level, index)
      for (let i = from; i < to; i++)
        if (over.has(i)) done += tasksBelow(tree, level - 1, i)
        else below.push(i)
    })
    open = below
  }
  return done
}

/** Returns all runs in the queue, the latest first. */
export async function listRuns(engine: Engine): Promise<JobStatus[]> {
  return onServer(engine.server, async () => {
    const jobs = await engine.tasks.getJobs([
      'active',
      'wait',
      'waiting-children',
      'prioritized',
      'delayed',
      'completed',
      'failed',
    ])
    const runs = jobs.filter((job) => job?.name === RUN)
    const statuses: JobStatus[] = []
    await forEachLimited(runs, QUESTIONS, async (job) => void statuses.push(await readStatus(engine, job)))
    return statuses.sort((a, b) => b.added.getTime() - a.added.getTime())
  })
}

/** @throws NotFoundError for an unknown run */
async function find({ tasks, server }: Engine, id: string): Promise<NodeJob> {
  const job = await onServer(server, () => tasks.getJob(runId(id)))
  if (job !== undefined) return job
  throw new HyperslabError('NotFoundError', `the queue has no run ${id}`, { file: server, actual: id })
}

export async function showRun(engine: Engine, id: string): Promise<JobStatus & { readonly plan: unknown }> {
  const job = await find(engine, id)
  const status = await onServer(engine.server, () => readStatus(engine, job))
  return { ...status, plan: parseContent(job) }
}

/**
 * Stops a run: its running tasks end within about a second, and the others do nothing.
 * @returns whether the run had not ended yet
 */
export async function cancelRun(engine: Engine, id: string): Promise<boolean> {
  const job = await find(engine, id)
  return onServer(engine.server, async () => {
    const state = await job.getState()
    if (state === 'completed' || state === 'failed') return false
    const failure = storedFailure(new HyperslabError('CancelledError', `run ${id} was cancelled`))
    await engine.stops.add('stop', failure, { jobId: id })
    return true
  })
}

/**
 * Resumes a failed or cancelled run.
 * @returns whether the run had failed
 */
export async function retryRun(engine: Engine, id: string): Promise<boolean> {
  const job = await find(engine, id)
  return onServer(engine.server, async () => {
    if ((await job.getState()) !== 'failed') return false
    await takeUp(engine, job)
    return true
  })
}
