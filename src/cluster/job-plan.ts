import { FAN_IN } from '../aggregate/merge-tree.ts'
import type { DiskArray } from '../array/disk-array.ts'
import { divideBy } from '../array/reductions/reductions.ts'
import { UNIT_BYTES } from '../array/reductions/units.ts'
import { bytesOf } from '../array/source.ts'
import { HyperslabError } from '../core/errors.ts'
import { type Check, type Checks, checkOptions, checkValue } from '../core/options.ts'
import { sha256 } from '../core/sha256.ts'
import { sizeOf } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import { gridDocument } from '../grid/grid-document.ts'
import type { WorkerPool } from '../pool/task.ts'
import { absolutePath } from '../runtime/absolute-path.ts'
import { checkOperation, checkPlain, type JobOperation, type JsonValue } from './job-operation.ts'
import { type PinnedVersions, Pins } from './pins.ts'
import { checkNoSecret, openRecipe, relocated } from './recipe.ts'

/** Options of `planJob`. */
export interface PlanJobOptions {
  /**
   * About how many bytes of elements a task reads; 256 MiB when left out. Tasks are of 1, 16, 256 … units, of
   * which the largest that is not above that is taken.
   */
  readonly taskBytes?: number
  /**
   * Bytes of elements of a unit, of which tasks are made: 16 MiB, with which the methods of arrays give the
   * same bits. For tests, mostly.
   */
  readonly unitBytes?: number
  /** The location of a folder, which workers share, for partial results that are too large for a queue. */
  readonly scratch?: string
  readonly pool?: WorkerPool
  readonly signal?: Signal | undefined
}

/**
 * A job as data: what is to be done, to what, in which tasks. Holds no code and no secret; `id` is the
 * SHA-256 of everything else, so that equal jobs are the same one.
 */
export interface JobPlan {
  readonly format: typeof JOB_FORMAT
  /** Version of the plan and of how tasks are done. */
  readonly version: number
  readonly id: string
  readonly operation: JobOperation
  /** Versions of the objects that the array was opened from. */
  readonly pins: PinnedVersions
  /** The array, as it was found. */
  readonly array: {
    readonly dtype: string
    readonly shape: readonly number[]
    /** Number of its chunks. */
    readonly chunks: number
    /** SHA-256 of where its axes are cut. */
    readonly grid: string
    /** Bytes of its elements. */
    readonly bytes: number
  }
  readonly units: { readonly bytes: number; readonly count: number }
  /** Each task is a node of this level of the tree of units: 16 to the power of `level` units. */
  readonly tasks: { readonly level: number; readonly count: number }
  readonly scratch?: string
}

export const JOB_FORMAT = 'hyperslab.job'
export const JOB_VERSION = 1

/** Nodes that one merge takes: two levels of the tree. */
export const MERGE_FAN_IN = FAN_IN * FAN_IN

export const PLAN_JOB_CHECKS: Checks<PlanJobOptions> = {
  taskBytes: 'number from 1',
  unitBytes: 'number from 1',
  scratch: 'string',
  pool: 'WorkerPool',
  signal: 'AbortSignal',
}

const TASK_BYTES = 256 * 2 ** 20

/**
 * Plans a job: opens the source for its shape, chunks and version, and divides it into tasks. Reads no
 * element, and takes no longer for more of them.
 * @throws InvalidArgumentError for what is no operation, for code among its options and credentials in its
 *   locations; UnsupportedError for quantiles that are not those of a sketch; what opening the source throws
 */
export async function planJob(operation: JobOperation, options: PlanJobOptions = {}): Promise<JobPlan> {
  checkOptions('planJob', options, PLAN_JOB_CHECKS)
  checkOperation('planJob', operation)
  const { taskBytes = TASK_BYTES, unitBytes = UNIT_BYTES, scratch, pool, signal } = options
  if (scratch !== undefined) checkNoSecret('planJob', scratch)
  const settled = { ...operation, source: relocated(operation.source, absolutePath) }
  const pins = new Pins()
  const { array, close } = await openRecipe(settled.source, pins, { pool, signal })
  try {
    const facts = {
      format: JOB_FORMAT,
      version: JOB_VERSION,
      operation: settled,
      pins: pins.seen(),
      array: await arrayFacts(array),
      ...division(array, settled, unitBytes, taskBytes),
      ...(scratch !== undefined && { scratch: absolutePath(scratch) }),
    } as const
    return { ...facts, id: await hashOf(facts) }
  } finally {
    await close()
  }
}

/** What a plan says of its array. */
export async function arrayFacts({ dtype, shape, chunks }: DiskArray): Promise<JobPlan['array']> {
  const grid = await hashOf(gridDocument(chunks))
  return { dtype, shape, chunks: chunks.count, grid, bytes: bytesOf(dtype) * sizeOf(shape) }
}

function division(
  array: DiskArray,
  { method, args, options }: JobOperation,
  unitBytes: number,
  taskBytes: number,
): Pick<JobPlan, 'units' | 'tasks'> {
  const { units } = divideBy(method, array.source, options, args, unitBytes)
  let level = 0
  while (unitBytes * FAN_IN ** (level + 1) <= taskBytes && FAN_IN ** level < units.count) level++
  return { units: { bytes: unitBytes, count: units.count }, tasks: { level, count: taskCount(units.count, level) } }
}

/** What has no units is one task, which comes to what nothing comes to. */
const taskCount = (units: number, level: number): number => Math.max(1, Math.ceil(units / FAN_IN ** level))

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

const PLAN_CHECKS: Checks<JobPlan> = {
  format: 'string',
  version: 'integer',
  id: 'string',
  operation: 'plain object',
  pins: 'plain object',
  array: 'plain object',
  units: 'plain object',
  tasks: 'plain object',
  scratch: 'string',
}
const ARRAY_CHECKS: Checks<JobPlan['array']> = {
  dtype: 'string',
  shape: 'list of integers',
  chunks: 'integer from 0',
  grid: 'string',
  bytes: 'integer from 0',
}
const UNITS_CHECKS: Checks<JobPlan['units']> = { bytes: 'number from 1', count: 'integer from 0' }
const TASKS_CHECKS: Checks<JobPlan['tasks']> = { level: 'integer from 0', count: 'integer from 1' }

/** Whoever can write to a queue can make a plan whose hash is right. */
function checkPlan(plan: JobPlan): void {
  const { operation, pins, array, units, tasks, scratch } = plan
  checkParts('a plan', { scratch: '', ...plan }, PLAN_CHECKS)
  checkParts('a plan: array', array, ARRAY_CHECKS)
  checkParts('a plan: units', units, UNITS_CHECKS)
  checkParts('a plan: tasks', tasks, TASKS_CHECKS)
  for (const [file, version] of Object.entries(pins)) checkValue('a plan: pins', file, version, 'string')
  checkOperation('a plan', operation)
  if (scratch !== undefined) checkNoSecret('a plan', scratch)
  const expected = taskCount(units.count, tasks.level)
  if (tasks.count === expected) return
  const text = `the plan has ${tasks.count} tasks of level ${tasks.level} for ${units.count} units, which make ${expected}`
  throw new HyperslabError('FormatError', text, { actual: tasks.count, expected })
}

/** Checks what has no part that may be left out. */
function checkParts(where: string, value: object, checks: Readonly<Record<string, Check>>): void {
  checkOptions(where, value, checks)
  for (const [name, check] of Object.entries(checks)) checkValue(where, name, (value as Record<string, unknown>)[name], check)
}

/** The units of a task: from one up to another. */
export function unitsOfTask({ units, tasks }: JobPlan, index: number): readonly [from: number, to: number] {
  const size = FAN_IN ** tasks.level
  return [index * size, Math.min((index + 1) * size, units.count)]
}

/**
 * The number of nodes of each level that a queue has: of tasks, then of merges of up to 256 of the level
 * below, until there is one.
 */
export function nodeCounts({ tasks }: JobPlan): readonly number[] {
  const counts = [tasks.count]
  while (counts.at(-1)! > 1) counts.push(Math.ceil(counts.at(-1)! / MERGE_FAN_IN))
  return counts
}

/** SHA-256 of the canonical text of a value, in hexadecimal digits. */
export const hashOf = (value: JsonValue | object): Promise<string> => sha256(canonical(value as JsonValue))

/** JSON with names in their order, and without what is undefined. */
function canonical(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return `[${value.map((each) => canonical(each as JsonValue)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const named = Object.entries(value).filter(([, each]) => each !== undefined)
  return `{${named
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, each]) => `${JSON.stringify(name)}:${canonical(each as JsonValue)}`)
    .join(',')}}`
}
