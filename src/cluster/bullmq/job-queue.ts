import { Engine, onServer } from './engine.ts'
import { checkQueueOptions, type JobStatus, QUEUE_CHECKS, type QueueOptions } from './options.ts'
import { cancelRun, listRuns, retryRun, showRun } from './runs.ts'

/** The jobs of a queue: those that are done are kept for a week, those that failed as well. */
export interface JobQueue extends AsyncDisposable {
  /**
   * All jobs, those that were added last first.
   * @throws StoreError
   */
  list(): Promise<JobStatus[]>
  /**
   * One job, with its plan.
   * @param id that of its plan
   * @throws NotFoundError; StoreError
   */
  show(id: string): Promise<JobStatus & { readonly plan: unknown }>
  /**
   * Has a job stopped, which fails with CancelledError: its tasks that are under way end within about a
   * second.
   * @returns false for a job that is over
   * @throws NotFoundError; StoreError
   */
  cancel(id: string): Promise<boolean>
  /**
   * Has a job go on that failed or was cancelled, with what it had merged.
   * @returns false for one that is not over, or done
   * @throws NotFoundError; StoreError
   */
  retry(id: string): Promise<boolean>
  /**
   * Numbers of tasks by their state, and of those that workers have finished, as text for Prometheus.
   * @throws StoreError
   */
  metrics(): Promise<string>
  /** Ends its connections; jobs go on. */
  close(): Promise<void>
}

/**
 * Opens a queue to list its jobs, to cancel them, and to resume those that failed.
 * @throws InvalidArgumentError; MissingDependencyError without the packages bullmq and ioredis or pg;
 *   StoreError where the server of the queue does not answer; UnsupportedError for a Redis that may forget
 *   tasks
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
