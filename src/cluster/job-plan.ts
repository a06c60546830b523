import { FAN_IN } from '../aggregate/merge-tree.ts'
import { UNIT_BYTES } from '../array/reductions/units.ts'
import { HyperslabError } from '../core/errors.ts'
import { type Checks, checkValue } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import type { WorkerPool } from '../pool/task.ts'
import { absolutePath } from '../tree/absolute-path.ts'
import { checkEach, optional, type PendingCheck } from './checks.ts'
import { COPY_PLAN_CHECKS, type CopyPlan, checkCopyPlan, planCopies, tasksOfCopy } from './copy-plan.ts'
import {
  type CopyOperation,
  checkPlain,
  defaultScratch,
  formatOfCopy,
  isCopy,
  type JobOperation,
  operationChecks,
  type ReduceOperation,
  relocatedOperation,
} from './job-operation.ts'
import { Pins } from './pins.ts'
import { type AnyPlan, checkParts, hashJson, JOB_FORMAT, JOB_VERSION } from './plan-parts.ts'
import { checkNoSecret } from './recipe.ts'
import { checkReducePlan, planReduce, REDUCE_PLAN_CHECKS, type ReducePlan } from './reduce-plan.ts'
import { type TaskTree, treeOfPhases } from './task-tree.ts'

/** Options of `planJob`. The source is opened with `pool`, and `signal` cancels the opening. */
export interface PlanJobOptions {
  /**
   * Approximate number of bytes of elements that a task reads. Default: 256 MiB. A task of a reduction has 1,
   * 16, 256 … units: the most that do not exceed this size. A task of a copy has whole objects of the target.
   */
  readonly taskBytes?: number
  /**
   * Bytes of elements in a unit, of which tasks of a reduction consist. Default: 16 MiB, which yields the
   * same bits as the methods of arrays. Mostly for tests.
   */
  readonly unitBytes?: number
  /**
   * Location of a folder that the workers share, for partial results that are too large for a queue. Default
   * for copies to a container, which need one: `x.af.parts` beside a target `x.af`; for other jobs: none.
   */
  readonly scratch?: string
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

/**
 * A job as data: an operation, its source, and its division into tasks. Contains no code and no secrets. `id`
 * is the SHA-256 of everything else, so equal jobs have equal ids.
 */
export type JobPlan = ReducePlan | CopyPlan

/** Maximum number of children of a merge: two levels of the tree of units. */
export const MERGE_FAN_IN = FAN_IN * FAN_IN

const PLAN_JOB_CHECKS: Checks<PlanJobOptions> = {
  taskBytes: 'number from 1',
  unitBytes: 'number from 1',
  scratch: 'string',
  pool: 'WorkerPool',
  signal: 'AbortSignal',
}

const TASK_BYTES = 256 * 2 ** 20

/**
 * Plans a job: opens the source for its shape, chunks and version, and divides the work into tasks. Reads no
 * elements and writes nothing, so the time does not depend on their number.
 * @throws InvalidArgumentError for an invalid operation, for functions among its options and credentials in
 *   its locations; UnsupportedError for quantiles other than those of a sketch; errors of opening the source
 */
export async function planJob(operation: ReduceOperation, options?: PlanJobOptions): Promise<ReducePlan>
export async function planJob(operation: CopyOperation, options?: PlanJobOptions): Promise<CopyPlan>
export async function planJob(operation: JobOperation, options?: PlanJobOptions): Promise<JobPlan>
export async function planJob(operation: JobOperation, options: PlanJobOptions = {}): Promise<JobPlan> {
  const job = parseJob(operation, options)
  const pins = new Pins()
  const parts = isCopy(job.operation)
    ? await planCopies(job.operation, job.taskBytes, pins, job.opening)
    : await planReduce(job.operation, job, pins, job.opening)
  const facts = {
    format: JOB_FORMAT,
    version: JOB_VERSION,
    operation: job.operation,
    pins: pins.seen(),
    ...parts,
    ...(job.scratch !== undefined && { scratch: job.scratch }),
  } as const
  return { ...facts, id: await hashJson(facts) } as JobPlan
}

/** An operation that has been checked, with absolute locations, and the settings of its plan. */
interface ParsedJob {
  readonly operation: JobOperation
  readonly scratch: string | undefined
  readonly opening: Pick<PlanJobOptions, 'pool' | 'signal'>
  readonly taskBytes: number
  readonly unitBytes: number
}

/** @throws InvalidArgumentError */
function parseJob(given: JobOperation, options: PlanJobOptions): ParsedJob {
  checkEach(jobChecks(given, options))
  const { taskBytes = TASK_BYTES, unitBytes = UNIT_BYTES, pool, signal } = options
  const operation = relocatedOperation(given, absolutePath)
  const scratch = options.scratch ?? defaultScratch(operation)
  const folder = scratch === undefined ? undefined : absolutePath(scratch)
  return { operation, taskBytes, unitBytes, scratch: folder, opening: { ...(pool && { pool }), signal } }
}

function* jobChecks(operation: JobOperation, options: PlanJobOptions): Generator<PendingCheck, void> {
  yield optional('planJob', options, PLAN_JOB_CHECKS)
  yield* operationChecks('planJob', operation)
  if (options.scratch !== undefined) checkNoSecret('planJob', options.scratch)
}

/** Whether a plan is a copy. */
export const isCopyPlan = (plan: JobPlan): plan is CopyPlan => isCopy(plan.operation)

/**
 * Parses a plan from its JSON value.
 * @throws FormatError if it is not a plan, or was changed; UnsupportedError for another version;
 *   InvalidArgumentError for unknown or wrong parts, and as {@link planJob}
 */
export async function readPlan(json: unknown): Promise<JobPlan> {
  const plan = json as JobPlan
  if (Object(json) !== json || plan.format !== JOB_FORMAT)
    throw new HyperslabError('FormatError', 'this is not a plan of a job', {})
  if (plan.version !== JOB_VERSION) {
    const text = `this plan is of version ${plan.version}, but only version ${JOB_VERSION} is supported here`
    throw new HyperslabError('UnsupportedError', text, { actual: plan.version, expected: JOB_VERSION })
  }
  checkPlain('readPlan', plan, 'the plan')
  const { id, ...facts } = plan
  const actual = await hashJson(facts)
  if (actual !== id) {
    const text = `the plan is not the one of its id: ${actual} instead of ${id}`
    throw new HyperslabError('FormatError', text, { actual, expected: id })
  }
  checkPlan(plan)
  return plan
}

const PLAN_CHECKS: Checks<AnyPlan & { readonly operation: unknown }> = {
  format: 'string',
  version: 'integer',
  id: 'string',
  operation: 'plain object',
  pins: 'plain object',
  scratch: 'string',
}

/**
 * Checks all parts of a plan, because any program with access to the queue can write a plan with a correct
 * hash.
 */
function checkPlan(plan: JobPlan): void {
  const { operation, pins, scratch } = plan
  checkValue('a plan', 'operation', operation, 'plain object')
  const own = isCopyPlan(plan) ? COPY_PLAN_CHECKS : REDUCE_PLAN_CHECKS
  checkParts('a plan', { scratch: '', ...plan }, { ...PLAN_CHECKS, ...own })
  for (const [file, version] of Object.entries(pins)) checkValue('a plan: pins', file, version, 'string')
  checkEach(operationChecks('a plan', operation))
  if (defaultScratch(operation) !== undefined) checkValue('a plan', 'scratch', scratch, 'string')
  if (scratch !== undefined) checkNoSecret('a plan', scratch)
  if (isCopyPlan(plan)) checkCopyPlan(plan)
  else checkReducePlan(plan)
}

/** Returns the tree of a job's tasks and merges, as a queue runs it. */
export function treeOfJob(plan: JobPlan): TaskTree {
  if (isCopyPlan(plan)) {
    const tree = treeOfPhases(plan.id, tasksOfCopy(plan).counts, MERGE_FAN_IN)
    return formatOfCopy(plan.operation).writing.isFile ? { ...tree, restarts: true } : tree
  }
  const counts = [plan.tasks.count]
  while (counts.at(-1)! > 1) counts.push(Math.ceil(counts.at(-1)! / MERGE_FAN_IN))
  return { id: plan.id, counts, fanIn: MERGE_FAN_IN }
}

/**
 * Returns the number of nodes of each level in a queue: tasks, then merges of up to 256 nodes of the level
 * below, until there is one.
 * @throws FormatError for a copy with invalid regions
 */
export const nodeCounts = (plan: JobPlan): readonly number[] => treeOfJob(plan).counts

/** Returns the bytes of the elements that a job reads. */
export const bytesOfPlan = (plan: JobPlan): number =>
  isCopyPlan(plan) ? Object.values(plan.arrays).reduce((sum, { bytes }) => sum + bytes, 0) : plan.array.bytes
