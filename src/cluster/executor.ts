import type { Progress } from '../array/transfers.ts'
import type { Checks } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import type { JobPlan } from './job-plan.ts'

/** Progress of a job: finished tasks and merges of the `total`, bytes of `totalBytes`. */
export interface JobProgress extends Progress {
  /** Bytes of the elements of finished tasks, and of the whole array. */
  readonly bytes: number
  readonly totalBytes: number
}

/** Options for running a job. `onProgress` is called whenever more of it is done. */
export interface RunJobOptions {
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
  /** Receives the progress after each step. */
  readonly onProgress?: ((progress: JobProgress) => void) | undefined
}

export const RUN_CHECKS: Checks<RunJobOptions> = { signal: 'AbortSignal', onProgress: 'function' }

/**
 * Runs jobs. `run` returns the same bits as the method of the array, for any order and any distribution of
 * tasks and merges.
 */
export interface Executor {
  /** Runs the tasks and merges of a plan, and returns its result. */
  run(plan: JobPlan, options?: RunJobOptions): Promise<unknown>
}
