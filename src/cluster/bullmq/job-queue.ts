import { Engine, onServer } from './engine.ts'
import { checkQueueOptions, type JobStatus, QUEUE_CHECKS, type QueueOptions } from './options.ts'
import { cancelRun, listRuns, retryRun, showRun } from './runs.ts'

/** Jobs of a queue. Finished and failed jobs are kept for a week. */
export interface JobQueue extends AsyncDisposable {
  /**
   * Returns all jobs, the latest first.
   * @throws StoreError
   */
  list(): Promise<JobStatus[]>
  /**
   * Returns one job with its plan.
   * @param id id of the plan
   * @throws NotFoundError; StoreError
   */
  show(id: string): Promise<JobStatus & { readonly plan: unknown }>
  /**
   * Stops a job, which then fails with CancelledError. Its running tasks end within about a second.
   * @returns false if the job has ended already
   * @throws NotFoundError; StoreError
   */
  cancel(id: string): Promise<boolean>
  /**
   * Resumes a failed or cancelled job from its merged results.
   * @returns false if the job has not ended, or is done
   * @throws NotFoundError; StoreError
   */
  retry(id: string): Promise<boolean>
  /**
   * Returns the number of tasks by state, and of tasks that workers have finished, as text for Prometheus.
   * @throws StoreError
   */
  metrics(): Promise<string>
  /** Closes the connections. Jobs continue. */
  close(): Promise<void>
}

/**
 * Opens a queue for listing and cancelling jobs, and for resuming failed ones.
 * @throws InvalidArgumentError; MissingDependencyError without the packages bullmq and ioredis or pg;
 *   StoreError if the queue server does not answer; UnsupportedError for a Redis that may evict tasks
 */
export async function openJobQueue(options: QueueOptions): Promise<JobQueue> {
  checkQueueOptions('openJobQueue', options, QUEUE_CHECKS)
  const engine = await Engine.open(options)
  const close = (): Promise<void> => engine.close()
  return {
    list: () => listRuns(engine),
    show: (id) => showRun(engine, id),
    cancel: (id) => cancelRun(engine, id),
    retry: (id) => retryRun(engine, id),
    metrics: () => onServer(engine.server, () => engine.tasks.exportPrometheusMetrics()),
    close,
    [Symbol.asyncDispose]: close,
  }
}
