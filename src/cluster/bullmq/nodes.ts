import { parseJson } from '../../core/json.ts'
import type { Signal } from '../../core/signal.ts'
import type { TaskTree } from '../task-tree.ts'
import type { JobsOptions, NodeData, NodeJob, RunData } from './engine.ts'

/** Runs the nodes of a tree of tasks. */
export interface NodeRunner extends TaskTree {
  /**
   * @param children values of the nodes below, in the order of their indices; empty for a task
   * @returns JSON of at most a few kilobytes
   */
  runNode(level: number, index: number, children: readonly unknown[], signal: Signal): Promise<unknown>
  /** Closes the files that it has opened. */
  close?(): Promise<void>
}

/** Maximum number of characters of the plan of a run. */
const MOST_BYTES = 256 * 2 ** 20

/** Returns the plan of a run. */
export const parseContent = ({ data }: NodeJob): unknown =>
  parseJson((data as RunData).content, 'the plan of a run', { maxBytes: MOST_BYTES, exact: false })

/** Job ids must not contain colons or be numbers. */
export const runId = (plan: string): string => `${plan}-run`

export const nodeId = ({ plan, level, index }: NodeData, top: number): string =>
  level === top ? runId(plan) : `${plan}-${level}-${index}`

/** Names of jobs, as dashboards show them. */
export const RUN = 'run'
const nameOf = (level: number): string => (level === 0 ? 'task' : 'merge')

/** Attempts of a task: a store that does not answer is retried for eight minutes in total. */
const ATTEMPTS = 10
const FIRST_RETRY_MS = 1_000
/** Time for which the result or the error of a finished run is kept: a week. */
const KEPT_SECONDS = 7 * 24 * 3600

const SETTINGS: JobsOptions = {
  attempts: ATTEMPTS,
  backoff: { type: 'exponential', delay: FIRST_RETRY_MS, jitter: 0.5 },
  // The reason of a failure is stored in the run, so stacks are for debugging only.
  stackTraceLimit: 1,
  keepLogs: 0,
}

/**
 * Returns the job of a node. It is removed once it is done, because its value then belongs to its parent.
 * Merges that have not added their children wait until no other job is left, and merges of higher levels wait
 * longest. The queue therefore never has many more tasks than the workers take.
 */
export function nodeJob(data: NodeData, top: number): { name: string; data: NodeData; opts: JobsOptions } {
  const opts: JobsOptions = { ...SETTINGS, jobId: nodeId(data, top), removeOnComplete: true, failParentOnFailure: true }
  if (data.level > 0) opts.priority = data.level
  return { name: nameOf(data.level), data, opts }
}

export const runSettings = (plan: string): JobsOptions => ({
  ...SETTINGS,
  jobId: runId(plan),
  removeOnComplete: { age: KEPT_SECONDS },
  removeOnFail: { age: KEPT_SECONDS },
})
