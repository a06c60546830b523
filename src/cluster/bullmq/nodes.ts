import { parseJson } from '../../core/json.ts'
import type { Signal } from '../../core/signal.ts'
import type { TaskTree } from '../task-tree.ts'
import type { JobsOptions, NodeData, NodeJob, RunData } from './engine.ts'

/** How the nodes of a tree are worked on. */
export interface NodeRunner extends TaskTree {
  /**
   * @param children values of the nodes below, in the order of their indices; of a task none
   * @returns JSON of a few kilobytes at most
   */
  runNode(level: number, index: number, children: readonly unknown[], signal: Signal): Promise<unknown>
  /** Closes what it has opened. */
  close?(): Promise<void>
}

/** Maximum number of characters of the plan of a run. */
const MOST_BYTES = 256 * 2 ** 20

/** The plan of a run. */
export const contentOf = ({ data }: NodeJob): unknown =>
  parseJson((data as RunData).content, 'the plan of a run', { maxBytes: MOST_BYTES, exact: false })

/** The ids of jobs may have no colon and not be numbers. */
export const runId = (plan: string): string => `${plan}-run`

export const nodeId = ({ plan, level, index }: NodeData, top: number): string =>
  level === top ? runId(plan) : `${plan}-${level}-${index}`

/** Names of jobs, as dashboards show them. */
export const RUN = 'run'
const nameOf = (level: number): string => (level === 0 ? 'task' : 'merge')

/** A store that does not answer is waited for, eight minutes in all. */
const ATTEMPTS = 10
const FIRST_RETRY_MS = 1_000
/** Of a run that is over its answer is kept, or the reason why there is none: a week. */
const KEPT_SECONDS = 7 * 24 * 3600

const SETTINGS: JobsOptions = {
  attempts: ATTEMPTS,
  backoff: { type: 'exponential', delay: FIRST_RETRY_MS, jitter: 0.5 },
  // A reason goes into the run, so that stacks are of use for debugging only.
  stackTraceLimit: 1,
  keepLogs: 0,
}

/**
 * The job of a node. What is over is removed, its value is the parent's by then. Merges that have still to
 * add their children wait until there is nothing else to do, those of higher levels longest: so that there
 * are never many more tasks in the queue than workers take.
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
