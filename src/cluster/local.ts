import { inOrder } from '../core/in-order.ts'
import { numbersFrom } from '../core/numbers.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import type { WorkerPool } from '../pool/task.ts'
import { type Executor, RUN_CHECKS, type RunJobOptions } from './executor.ts'
import { openJob } from './job.ts'
import { type JobPlan, unitsOfTask } from './job-plan.ts'

/** Options of `local`. */
export interface LocalOptions {
  /** Threads that decode and reduce. */
  readonly pool?: WorkerPool
  /** Tasks at the same time; two when left out. */
  readonly concurrency?: number
}

const LOCAL_CHECKS: Checks<LocalOptions> = { pool: 'WorkerPool', concurrency: 'integer from 1' }

/**
 * Runs jobs in this process, one task after another, of which some are under way at a time. Nothing is
 * written; partial results stay in memory.
 * @throws InvalidArgumentError
 */
export function local(options: LocalOptions = {}): Executor {
  checkOptions('local', options, LOCAL_CHECKS)
  const { pool, concurrency = 2 } = options
  return {
    async run(plan: JobPlan, run: RunJobOptions = {}): Promise<unknown> {
      checkOptions('run', run, RUN_CHECKS)
      const { signal, onProgress } = run
      const job = await openJob(plan, { pool, signal })
      try {
        const { tasks, array, units } = plan
        const tree = job.mergeTree()
        let done = 0
        const work = (index: number): Promise<unknown> => job.reduceTask(index, { signal })
        await inOrder(numbersFrom(0, tasks.count), { count: concurrency }, work, (part) => {
          tree.add(part)
          const [, unitsDone] = unitsOfTask(plan, done++)
          const bytes = Math.round(array.bytes * (unitsDone / units.count))
          onProgress?.({ done, total: tasks.count, bytes, totalBytes: array.bytes })
        })
        return job.finish(tree.finish())
      } finally {
        await job.close()
      }
    },
  }
}
