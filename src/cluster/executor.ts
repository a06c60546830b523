import type { Checks } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import type { JobPlan } from './job-plan.ts'

/** The part of a job that is done: tasks and merges of the `total`, bytes of `totalBytes`. */
export interface JobProgress {
  /** Tasks and merges that are done, and all there are. */
  readonly done: number
  readonly total: number
  /** Bytes of elements of tasks that are done, and of the whole array. */
  readonly bytes: number
  readonly totalBytes: number
}

/** Options of running a job; `onProgress` is called whenever more of it is done. */
export interface RunJobOptions {
  /** Ends it, with the reason of the signal. */
  readonly signal?: Signal | undefined
  readonly onProgress?: ((progress: JobProgress) => void) | undefined
}

export const RUN_CHECKS: Checks<RunJobOptions> = { signal: 'AbortSignal', onProgress: 'function' }

/**
 * A place where jobs are done: `run` gives what the method of the array would have given, the same bits,
 * whoever does the tasks and merges, and in whatever order.
 */
export interface Executor {
  run(plan: JobPlan, options?: RunJobOptions): Promise<unknown>
}
