import { HyperslabError, messageOf } from '../core/errors.ts'
import { inOrder } from '../core/in-order.ts'
import { numbersFrom } from '../core/numbers.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import type { WorkerPool } from '../pool/task.ts'
import { abandonCopy, CopyWork } from './copy-work.ts'
import { formatOfCopy } from './job-operation.ts'
import { isCopyPlan, type JobPlan, readPlan, treeOfJob } from './job-plan.ts'
import type { JobWork, NodeOptions } from './job-work.ts'
import type { OpenRecipeOptions } from './open-recipe.ts'
import { type PartialResult, PartialResults } from './partial-results.ts'
import { ANY_PLACE, type Places } from './places.ts'
import { ReduceWork } from './reduce-work.ts'
import { childRange, phaseEnds, type TaskTree } from './task-tree.ts'

/** Options of `openJob`: resources of the worker, which the plan does not contain. */
export interface OpenJobOptions {
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool | undefined
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

const OPEN_JOB_CHECKS: Checks<OpenJobOptions> = { pool: 'WorkerPool', signal: 'AbortSignal' }
const NODE_CHECKS: Checks<NodeOptions> = { signal: 'AbortSignal' }

/** Number of partial results that a merge reads at once. */
const READ_AT_A_TIME = 16

/**
 * Opens the source of a job for its tasks and merges. They may run repeatedly and concurrently.
 * @throws ConflictError if the source is not the planned one; FormatError and UnsupportedError for an invalid
 *   plan; errors of opening the source
 */
export async function openJob(plan: JobPlan, options: OpenJobOptions = {}): Promise<Job> {
  checkOptions('openJob', options, OPEN_JOB_CHECKS)
  return openJobIn(await readPlan(plan), ANY_PLACE, options)
}

/**
 * Opens the source of a job after its plan was checked.
 * @param places resolves all locations of the plan
 */
export const openJobIn = async (plan: JobPlan, places: Places, options: OpenJobOptions): Promise<Job> =>
  new Job(plan, await openWork(plan, { ...options, places }), places)

const openWork = (plan: JobPlan, options: OpenRecipeOptions): Promise<JobWork> =>
  isCopyPlan(plan) ? CopyWork.open(plan, options) : ReduceWork.open(plan, options)

/** Discards the output of the tasks of a failed or cancelled job, if another attempt cannot use it. */
export async function abandonJob(plan: JobPlan, places: Places = ANY_PLACE): Promise<void> {
  if (isCopyPlan(plan) && formatOfCopy(plan.operation).writing.isFile) await abandonCopy(plan, places)
}

/**
 * A job with an open source: runs the tasks of its `plan`, merges their results, and returns the result.
 * `close` closes the source.
 */
export class Job implements AsyncDisposable {
  readonly plan: JobPlan
  readonly #work: JobWork
  readonly #tree: TaskTree
  readonly #partials: PartialResults

  constructor(plan: JobPlan, work: JobWork, places: Places) {
    this.plan = plan
    this.#work = work
    this.#tree = treeOfJob(plan)
    this.#partials = new PartialResults(plan, places)
  }

  /**
   * Runs a node of the job: a task at level 0, a merge above.
   * @param children results of its children, in their order; empty for a task
   */
  async runNode(level: number, index: number, children: readonly PartialResult[], options?: NodeOptions): Promise<PartialResult> {
    return level === 0 ? this.runTask(index, options) : this.merge(level, index, children, options)
  }

  /**
   * Runs a task. For a reduction, reads and reduces its units. A repetition yields the same result.
   * @throws InvalidArgumentError for an index that does not exist; errors of reading
   */
  async runTask(index: number, options: NodeOptions = {}): Promise<PartialResult> {
    checkOptions('runTask', options, NODE_CHECKS)
    this.#checkNode('runTask', 0, index)
    const known = await this.#partials.known(0, index, options)
    if (known !== undefined) return known
    const part = await this.#work.task(index, options)
    // A job with one task has no merge.
    return this.#isLast(0) ? this.#finished(0, index, part, options) : this.#partials.store(0, index, part, options)
  }

  /**
   * Merges the results of up to 256 consecutive nodes of the level below. The last merge also finishes the
   * job and returns its result.
   * @throws InvalidArgumentError for a merge that does not exist, and for a wrong number of children;
   *   NotFoundError if a child's result no longer exists; for the last merge, the errors of the array's
   *   method: EmptyReductionError, OverflowError
   */
  async merge(
    level: number,
    index: number,
    children: readonly PartialResult[],
    options: NodeOptions = {},
  ): Promise<PartialResult> {
    checkOptions('merge', options, NODE_CHECKS)
    this.#checkNode('merge', level, index)
    const [from, to] = childRange(this.#tree, level, index)
    const expected = to - from
    if (children.length !== expected) {
      const text = `merge ${index} of level ${level} has ${expected} children, not ${children.length}`
      throw new HyperslabError('InvalidArgumentError', text, { actual: children.length, expected })
    }
    const known = await this.#partials.known(level, index, options)
    if (known !== undefined) return known
    const collector = this.#work.collect()
    for (let from = 0; from < children.length; from += READ_AT_A_TIME) {
      const some = children.slice(from, from + READ_AT_A_TIME)
      for (const part of await Promise.all(some.map((child) => this.#partials.load(child, options)))) collector.add(part)
    }
    const merged = collector.finish()
    if (this.#isLast(level)) return this.#finished(level, index, merged, options)
    return this.#partials.store(level, index, await this.#work.settle(merged, options), options)
  }

  /**
   * Returns the result of the job from the result of its last node.
   * @throws FormatError for the result of another node; NotFoundError if it no longer exists
   */
  async result(last: PartialResult, options: NodeOptions = {}): Promise<unknown> {
    checkOptions('result', options, NODE_CHECKS)
    return this.#partials.loadResult(last, options)
  }

  /**
   * Runs the whole job in this process, with partial results in memory.
   * @internal
   * @param limit number of concurrent tasks
   * @param onTask called for each finished task, in their order
   */
  async runHere(limit: number, onTask: () => void, options: NodeOptions): Promise<unknown> {
    try {
      return await this.#runHere(limit, onTask, options)
    } catch (error) {
      await abandonJob(this.plan).catch((left: unknown) => {
        const text = `${messageOf(error)}; what was written could not be removed: ${messageOf(left)}`
        throw new HyperslabError('StoreError', text, { cause: new AggregateError([error, left]) })
      })
      throw error
    }
  }

  async #runHere(limit: number, onTask: () => void, options: NodeOptions): Promise<unknown> {
    const collector = this.#work.collect()
    const { counts, phases } = this.#tree
    let start = 0
    for (const end of phases === undefined ? [counts[0]!] : phaseEnds(phases, 0)) {
      const work = (index: number): Promise<unknown> => this.#work.task(index, options)
      await inOrder(numbersFrom(start, end), { count: limit }, work, (part) => {
        collector.add(part)
        onTask()
      })
      start = end
    }
    return this.#work.finish(collector.finish(), options)
  }

  /**
   * Removes the files of tasks and merges from the scratch folder.
   * @param kept result to keep for later callers
   */
  async clean(options: NodeOptions = {}, kept?: PartialResult): Promise<void> {
    await this.#partials.clean(options, kept)
  }

  /** Closes the files that the job has opened. */
  async close(): Promise<void> {
    await this.#work.close()
    await this.#partials[Symbol.asyncDispose]()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #checkNode(call: string, level: number, index: number): void {
    checkValue(call, 'level', level, `integer from 0 to ${this.#tree.counts.length - 1}`)
    checkValue(call, 'index', index, `integer from 0 to ${this.#tree.counts[level]! - 1}`)
  }

  #isLast(level: number): boolean {
    return level === this.#tree.counts.length - 1
  }

  async #finished(level: number, index: number, all: unknown, options: NodeOptions): Promise<PartialResult> {
    return this.#partials.storeResult(level, index, await this.#work.finish(all, options), options)
  }
}
