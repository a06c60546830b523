import { FAN_IN } from '../aggregate/merge-tree.ts'
import { UNIT_BYTES } from '../array/reductions/units.ts'
import { HyperslabError } from '../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import type { WorkerPool } from '../pool/task.ts'
import { absolutePath } from '../runtime/absolute-path.ts'
import { COPY_PLAN_CHECKS, type CopyPlan, CopyTasks, checkCopyPlan, planCopies } from './copy-plan.ts'
import {
  type CopyOperation,
  checkOperation,
  checkPlain,
  defaultScratch,
  isContainerCopy,
  isCopy,
  type JobOperation,
  type ReduceOperation,
  relocatedOperation,
} from './job-operation.ts'
import { Pins } from './pins.ts'
import { type AnyPlan, checkParts, hashOf, JOB_FORMAT, JOB_VERSION } from './plan-parts.ts'
import { checkNoSecret } from './recipe.ts'
import { checkReducePlan, planReduce, REDUCE_PLAN_CHECKS, type ReducePlan } from './reduce-plan.ts'
import { type TaskTree, treeOfPhases } from './task-tree.ts'

/** Options of `planJob`; the source is opened with its `pool`, and until its `signal` ends that. */
export interface PlanJobOptions {
  /**
   * About how many bytes of elements a task reads; 256 MiB when left out. Tasks of a reduction are of 1, 16,
   * 256 … units, of which the largest that is not above that is taken; those of a copy are of whole objects
   * of the target.
   */
  readonly taskBytes?: number
  /**
   * Bytes of elements of a unit, of which tasks of a reduction are made: 16 MiB, with which the methods of
   * arrays give the same bits. For tests, mostly.
   */
  readonly unitBytes?: number
  /**
   * The location of a folder, which workers share, for partial results that are too large for a queue. Copies
   * to a container need one: `x.af.parts` beside a target `x.af` when left out.
   */
  readonly scratch?: string
  readonly pool?: WorkerPool
  readonly signal?: Signal | undefined
}

/**
 * A job as data: what is to be done, to what, in which tasks. Holds no code and no secret; `id` is the
 * SHA-256 of everything else, so that equal jobs are the same one.
 */
export type JobPlan = ReducePlan | CopyPlan

/** Nodes that one merge takes: two levels of the tree of units. */
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
 * element, writes nothing, and takes no longer for more of them.
 * @throws InvalidArgumentError for what is no operation, for code among its options and credentials in its
 *   locations; UnsupportedError for quantiles that are not those of a sketch; what opening the source throws
 */
export async function planJob(operation: ReduceOperation, options?: PlanJobOptions): Promise<ReducePlan>
export async function planJob(operation: CopyOperation, options?: PlanJobOptions): Promise<CopyPlan>
export async function planJob(operation: JobOperation, options?: PlanJobOptions): Promise<JobPlan>
export async function planJob(operation: JobOperation, options: PlanJobOptions = {}): Promise<JobPlan> {
  checkOptions('planJob', options, PLAN_JOB_CHECKS)
  checkOperation('planJob', operation)
  const { taskBytes = TASK_BYTES, unitBytes = UNIT_BYTES, scratch, pool, signal } = options
  if (scratch !== undefined) checkNoSecret('planJob', scratch)
  const settled = relocatedOperation(operation, absolutePath)
  const folder = scratch ?? defaultScratch(settled)
  const pins = new Pins()
  const parts = isCopy(settled)
    ? await planCopies(settled, taskBytes, pins, { pool, signal })
    : await planReduce(settled, { unitBytes, taskBytes }, pins, { pool, signal })
  const facts = {
    format: JOB_FORMAT,
    version: JOB_VERSION,
    operation: settled,
    pins: pins.seen(),
    ...parts,
    ...(folder !== undefined && { scratch: absolutePath(folder) }),
  } as const
  return { ...facts, id: await hashOf(facts) } as JobPlan
}

/** Whether a plan is one of a copy. */
export const isCopyPlan = (plan: JobPlan): plan is CopyPlan => isCopy(plan.operation)

/**
 * A plan that was written as JSON.
 * @throws FormatError for what is no plan, and one that was changed; UnsupportedError for another version;
 *   InvalidArgumentError for what is no part of a plan, or of another type, and what {@link planJob} refuses
 */
export async function readPlan(json: unknown): Promise<JobPlan> {
  const plan = json as JobPlan
  if (Object(json) !== json || plan.format !== JOB_FORMAT) throw new HyperslabError('FormatError', 'this is no plan of a job', {})
  if (plan.version !== JOB_VERSION) {
    const text = `this plan is of version ${plan.version}, and only ${JOB_VERSION} is known here`
    throw new HyperslabError('UnsupportedError', text, { actual: plan.version, expected: JOB_VERSION })
  }
  checkPlain('readPlan', plan, 'the plan')
  const { id, ...facts } = plan
  const actual = await hashOf(facts)
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

/** Whoever can write to a queue can make a plan whose hash is right. */
function checkPlan(plan: JobPlan): void {
  const { operation, pins, scratch } = plan
  checkValue('a plan', 'operation', operation, 'plain object')
  const own = isCopyPlan(plan) ? COPY_PLAN_CHECKS : REDUCE_PLAN_CHECKS
  checkParts('a plan', { scratch: '', ...plan }, { ...PLAN_CHECKS, ...own })
  for (const [file, version] of Object.entries(pins)) checkValue('a plan: pins', file, version, 'string')
  checkOperation('a plan', operation)
  if (defaultScratch(operation) !== undefined) checkValue('a plan', 'scratch', scratch, 'string')
  if (scratch !== undefined) checkNoSecret('a plan', scratch)
  if (isCopyPlan(plan)) checkCopyPlan(plan)
  else checkReducePlan(plan)
}

/** A job as the tree of its tasks and merges, as a queue has it. */
export function treeOfJob(plan: JobPlan): TaskTree {
  if (isCopyPlan(plan)) {
    const tree = treeOfPhases(plan.id, new CopyTasks(plan).counts, MERGE_FAN_IN)
    return isContainerCopy(plan.operation) ? { ...tree, restarts: true } : tree
  }
  const counts = [plan.tasks.count]
  while (counts.at(-1)! > 1) counts.push(Math.ceil(counts.at(-1)! / MERGE_FAN_IN))
  return { id: plan.id, counts, fanIn: MERGE_FAN_IN }
}

/**
 * The number of nodes of each level that a queue has: of tasks, then of merges of up to 256 of the level
 * below, until there is one.
 * @throws FormatError for a copy whose regions are none
 */
export const nodeCounts = (plan: JobPlan): readonly number[] => treeOfJob(plan).counts

/** Bytes of the elements that a job reads. */
export const bytesOfPlan = (plan: JobPlan): number =>
  isCopyPlan(plan) ? Object.values(plan.arrays).reduce((sum, { bytes }) => sum + bytes, 0) : plan.array.bytes
