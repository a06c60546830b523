import { type ErrorDetails, HyperslabError } from '../../core/errors.ts'
import type { Checks } from '../../core/options.ts'
import type { WorkerPool } from '../../pool/task.ts'
import { tasksOfCopy } from '../copy-plan.ts'
import { abandonJob, type Job, openJobIn } from '../job.ts'
import { isCopyPlan, type JobPlan, readPlan, treeOfJob } from '../job-plan.ts'
import type { PartialResult } from '../partial-results.ts'
import { ANY_PLACE, type Places } from '../places.ts'
import { unitsOfTask } from '../reduce-plan.ts'
import { type Allowed, AllowedPlaces } from './allow.ts'
import type { NodeRunner } from './nodes.ts'
import { checkQueueOptions, WORKER_CHECKS, type WorkerSettings, type WorkReport } from './options.ts'
import { workOn } from './worker.ts'

/** Options of `work`. */
export interface WorkOptions extends WorkerSettings {
  /**
   * Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. They keep
   * this thread free to tell the queue that its tasks are alive. Without them, each chunk must take less than
   * `lockSeconds`.
   */
  readonly pool?: WorkerPool
  /**
   * Places that its tasks may access: folders (`/data/`, `s3://bucket/`, `https://host/data/`) with
   * everything below them, and files. Jobs that name other places fail, and so do kerchunk references, which
   * may name any place. Default: all places.
   */
  readonly allow?: Allowed
}

/** Maximum number of characters, because the server of a queue keeps everything in memory. */
const MOST_LETTERS = 65_536

const WORK_CHECKS: Checks<WorkOptions> = { ...WORKER_CHECKS, pool: 'WorkerPool', allow: 'list of strings' }

/**
 * Works on the jobs of a queue: runs tasks until its signal is aborted or, with `untilIdle`, until no task is
 * left. This machine must reach the files of the jobs under the same names, with its own credentials in the
 * environment.
 * @throws InvalidArgumentError; MissingDependencyError without the packages bullmq and ioredis or pg;
 *   StoreError if the queue server does not answer; UnsupportedError for a Redis that may evict tasks
 */
export async function work(options: WorkOptions): Promise<WorkReport> {
  checkQueueOptions('work', options, WORK_CHECKS)
  const { pool, allow, ...settings } = options
  const places: Places = allow === undefined ? ANY_PLACE : new AllowedPlaces(allow)
  const allowed = async (content: unknown): Promise<JobPlan> => {
    const plan = await readPlan(content)
    if (places instanceof AllowedPlaces) await places.check(plan)
    return plan
  }
  const open = async (content: unknown): Promise<NodeRunner> =>
    createRunner(await openJobIn(await allowed(content), places, { pool }))
  const abandon = async (content: unknown): Promise<void> => {
    // A plan that is rejected here has written nothing here.
    const plan = await allowed(content).catch(() => undefined)
    if (plan !== undefined) await abandonJob(plan, places)
  }
  return workOn({ open, abandon, describe }, settings)
}

const createRunner = (job: Job): NodeRunner => ({
  ...treeOfJob(job.plan),
  async runNode(level, index, children, signal) {
    const partial = await job.runNode(level, index, children as readonly PartialResult[], { signal })
    if ('state' in partial && partial.state.length > MOST_LETTERS) {
      const text = `a partial result of ${partial.state.length} bytes is too large for a queue: plan the job with a scratch folder`
      throw new HyperslabError('TooLargeError', text, {
        ...sourceOf(job.plan),
        actual: partial.state.length,
        expected: MOST_LETTERS,
      })
    }
    return partial
  },
  close: () => job.close(),
})

function describe(content: unknown, level: number, index: number): ErrorDetails & { readonly text: string } {
  const plan = content as JobPlan
  return { ...sourceOf(plan), text: level === 0 ? taskText(plan, index) : `merge ${index} of level ${level}` }
}

/** Returns the file and the array for messages. */
function sourceOf({ operation: { source } }: JobPlan): { file?: string; array?: string } {
  if ('concat' in source || 'arrays' in source) return {}
  if ('dataset' in source) return { file: [source.dataset].flat()[0]!, ...('variable' in source && { array: source.variable }) }
  return { file: source.location, ...(source.array !== undefined && { array: source.array }) }
}

/** Describes the units or the region of a task. Its boxes of chunks follow from these numbers. */
function taskText(plan: JobPlan, index: number): string {
  if (isCopyPlan(plan)) {
    const { name, number, pass } = tasksOfCopy(plan).task(index)
    return `task ${index} (region ${number} of '${name}'${pass === 'first' ? ', into the intermediate array' : ''})`
  }
  const [from, to] = unitsOfTask(plan, index)
  return `task ${index} (${to - from === 1 ? `unit ${from}` : `units ${from} to ${to - 1}`} of ${plan.units.count})`
}
