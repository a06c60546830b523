import { type Checks, checkOptions } from '../../core/options.ts'
import { type Executor, RUN_CHECKS, type RunJobOptions } from '../executor.ts'
import { bytesOfPlan, type JobPlan, readPlan, treeOfJob } from '../job-plan.ts'
import { type PartialResult, PartialResults } from '../partial-results.ts'
import { Engine } from './engine.ts'
import { checkQueueOptions, type JobStatus, QUEUE_CHECKS, type QueueOptions } from './options.ts'
import { runTree } from './runs.ts'

/** Options of `bullmq`. */
export interface BullmqOptions extends QueueOptions {
  /** A function that is called each second with the state of the job, besides `onProgress`. */
  readonly onStatus?: (status: JobStatus) => void
}

const BULLMQ_CHECKS: Checks<BullmqOptions> = { ...QUEUE_CHECKS, onStatus: 'function' }

/**
 * Runs jobs by the workers of a queue, on as many machines as there are: `work` on each of them, or the
 * command `hyperslab work`. A job that is in the queue already is joined; one that is done gives its result
 * at once; one that failed or was cancelled goes on with what it had merged. A signal ends only waiting, the
 * job goes on: `cancel` of a {@link JobQueue} ends it.
 * @throws InvalidArgumentError; running it throws MissingDependencyError without the packages bullmq and
 *   ioredis or pg, StoreError where the server of the queue does not answer, UnsupportedError for a Redis
 *   that may forget tasks, CancelledError for a job that someone cancels, WorkerLostError for a task that
 *   ends its workers again and again, and what a task fails with
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
      // The last one stays, for whoever asks again.
      await partials.clean({ signal }, last)
      return result
    },
  }
}
