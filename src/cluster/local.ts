import { type Checks, checkOptions } from '../core/options.ts'
import type { WorkerPool } from '../pool/task.ts'
import { type Executor, RUN_CHECKS, type RunJobOptions } from './executor.ts'
import { openJob } from './job.ts'
import { bytesOfPlan, type JobPlan, nodeCounts } from './job-plan.ts'

/** Options of `local`. */
export interface LocalOptions {
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool
  /** Number of concurrent tasks. Default: 2. */
  readonly concurrency?: number
}

const LOCAL_CHECKS: Checks<LocalOptions> = { pool: 'WorkerPool', concurrency: 'integer from 1' }

/**
 * Returns an executor that runs jobs in this process. Writes nothing; partial results stay in memory.
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
        const total = nodeCounts(plan)[0]!
        const totalBytes = bytesOfPlan(plan)
        let done = 0
        const onTask = (): void =>
          onProgress?.({ done: ++done, total, bytes: Math.round((totalBytes * done) / total), totalBytes })
        return await job.runHere(concurrency, onTask, { signal })
      } finally {
        await job.close()
      }
    },
  }
}
