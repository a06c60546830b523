import { HyperslabError } from '../../core/errors.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { pause } from '../../core/pace.ts'
import type { Signal } from '../../core/signal.ts'
import { childrenOf, type TaskTree, tasksBelow } from '../task-tree.ts'
import { type Engine, type NodeJob, type NodeValue, onServer, type RunData } from './engine.ts'
import { errorOfFailure, storedFailure } from './failure.ts'
import { contentOf, nodeId, RUN, runId, runSettings } from './nodes.ts'
import type { JobStatus } from './options.ts'

/** How often the progress of a run is told, in milliseconds; that of short runs more often. */
const POLL_MS = 1_000
const FIRST_POLL_MS = 20
/** Questions to the server at once. */
const QUESTIONS = 16
/** A server that is started again is waited for. */
const PATIENCE_MS = 300_000

/**
 * Has a tree worked on by the workers of a queue, or joins those who wait for it already, or takes it up
 * again where it failed.
 * @param content what workers make its nodes of
 * @returns the value of the last node
 * @throws what a task failed with; CancelledError; the reason of the signal, which ends waiting and leaves
 *   the run going
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
 * How long the end of a run may go unnoticed that has been waited for so long, both in milliseconds. Asking
 * takes about a millisecond of the machines: as often as this, that costs no more than noticing late.
 */
const noticedWithin = (waitedMs: number): number => Math.max(10, Math.sqrt(waitedMs))

/** Waits, but no longer than a run takes to end. */
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
    // What the server cannot answer is told where the run is looked at.
    const state = await tasks.getJobState(runId(id)).catch(() => undefined)
    if (state === 'completed' || state === 'failed') return
  }
}

/** Carries the reason of a run past what is only the server's. */
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

/** Adding what is there already changes nothing. */
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

/** Starts a run again that failed: what its groups came to is kept, unless it is of no use any more. */
async function takeUp(engine: Engine, job: NodeJob): Promise<void> {
  const { tasks, stops } = engine
  const { failure: _, ...data } = job.data as RunData
  await stops.remove(data.plan)
  if (data.restarts) {
    await job.remove({ removeChildren: true })
    return add(engine, { ...data, id: data.plan }, contentOf(job))
  }
  await job.updateData(data)
  // Another one may have been first.
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
  // Asked for before the job: one that was read while it was under way does not say how it has ended since.
  const state = await tasks.getJobState(runId(tree.id))
  const job = await tasks.getJob(runId(tree.id))
  // A server that was ended in the middle may have forgotten what it was told last.
  if (job === undefined) return void (await add(engine, tree, content))
  if (state === 'completed') {
    onProgress?.(await statusOf(engine, job))
    return job.returnvalue as Extract<NodeValue, { partial: unknown }>
  }
  // Without a reason it has been taken up again meanwhile.
  if (state === 'failed' && hasReason(job)) throw new Ended(reasonOf(job))
  if (onProgress !== undefined) onProgress(await statusOf(engine, job))
  return undefined
}

const hasReason = ({ data, failedReason }: NodeJob): boolean => (data as RunData).failure !== undefined || Boolean(failedReason)

const reasonOf = ({ data, failedReason }: NodeJob): Error =>
  errorOfFailure((data as RunData).failure ?? { text: failedReason, details: {} })

/** Tells of a run. */
async function statusOf(engine: Engine, job: NodeJob): Promise<JobStatus> {
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
 * Tasks of a run that are done, from the children of its merges: of those that have not begun to wait for
 * children, none are.
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
      const [from, to] = childrenOf(tree, level, index)
      for (let i = from; i < to; i++)
        if (over.has(i)) done += tasksBelow(tree, level - 1, i)
        else below.push(i)
    })
    open = below
  }
  return done
}

/** All runs that the queue knows, those added last first. */
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
    await forEachLimited(runs, QUESTIONS, async (job) => void statuses.push(await statusOf(engine, job)))
    return statuses.sort((a, b) => b.added.getTime() - a.added.getTime())
  })
}

/** @throws NotFoundError for a run that the queue does not know */
async function find({ tasks, server }: Engine, id: string): Promise<NodeJob> {
  const job = await onServer(server, () => tasks.getJob(runId(id)))
  if (job !== undefined) return job
  throw new HyperslabError('NotFoundError', `the queue has no run ${id}`, { file: server, actual: id })
}

export async function showRun(engine: Engine, id: string): Promise<JobStatus & { readonly plan: unknown }> {
  const job = await find(engine, id)
  const status = await onServer(engine.server, () => statusOf(engine, job))
  return { ...status, plan: contentOf(job) }
}

/**
 * Has a run stopped: its tasks that are under way end within about a second, and the others do nothing.
 * @returns whether it was not over
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
 * Takes up a run again that failed or was cancelled.
 * @returns whether it had
 */
export async function retryRun(engine: Engine, id: string): Promise<boolean> {
  const job = await find(engine, id)
  return onServer(engine.server, async () => {
    if ((await job.getState()) !== 'failed') return false
    await takeUp(engine, job)
    return true
  })
}
