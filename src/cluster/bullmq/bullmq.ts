import { type Checks, checkOptions } from '../../core/options.ts'
import { type Executor, RUN_CHECKS, type RunJobOptions } from '../executor.ts'
import { bytesOfPlan, type JobPlan, readPlan, treeOfJob } from '../job-plan.ts'
import { type PartialResult, PartialResults } from '../partial-results.ts'
import { Engine } from './engine.ts'
import { checkQueueOptions, type JobStatus, QUEUE_CHECKS, type QueueOptions } from './options.ts'
import { runTree } from './runs.ts'

/** Options of `bullmq`. */
export interface BullmqOptions extends QueueOptions {
  /** Function that is called each second with the state of the job, in addition to `onProgress`. */
  readonly onStatus?: (status: JobStatus) => void
}

const BULLMQ_CHECKS: Checks<BullmqOptions> = { ...QUEUE_CHECKS, onStatus: 'function' }

/**
 * Returns an executor that runs jobs on the workers of a queue, on all machines that run `work` or the
 * command `hyperslab work`. Joins a job that is in the queue already. Returns the result of a finished job at
 * once. Resumes a failed or cancelled job from its merged results. A signal ends only the wait, and the job
 * continues; to end the job, call `cancel` of a {@link JobQueue}.
 * @throws InvalidArgumentError. `run` throws MissingDependencyError without the packages bullmq and ioredis
 *   or pg, StoreError if the queue server does not answer, UnsupportedError for a Redis that may evict tasks,
 *   CancelledError if the job is cancelled, WorkerLostError for a task that repeatedly ends its workers, and
 *   the error of a failed task
 */
export function bullmq(options: BullmqOptions): Executor {
  checkQueueOptions('bullmq', options, BULLMQ_CHECKS)
  const { onStatus, ...queue } = options
  return {
    async run(plan: JobPlan, run: RunJobOptions = {}): Promise<unknown> {
      checkOptions('run', run, RUN_CHECKS)
      const { signal, onProgress } = run
      await readPlan(plan)
      const totalBytes = bytesOfPlan(plan)
      const tell = (status: JobStatus): void => {
        onStatus?.(status)
        const { done, total } = status
        onProgress?.({ done, total, bytes: Math.round((totalBytes * done) / total), totalBytes })
      }
      await using engine = await Engine.open(queue)
      const watch = onStatus || onProgress
      const last = (await runTree(engine, treeOfJob(plan), plan, {
        ...(signal && { signal }),
        ...(watch && { onProgress: tell }),
      })) as PartialResult
      await using partials = new PartialResults(plan)
      const result = await partials.loadResult(last, { signal })
      // The last one stays, for later callers with the same job.
      await partials.clean({ signal }, last)
      return result
    },
  }
}
