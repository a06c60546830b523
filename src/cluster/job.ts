import { HyperslabError, messageOf } from '../core/errors.ts'
import { inOrder } from '../core/in-order.ts'
import { numbersFrom } from '../core/numbers.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import type { WorkerPool } from '../pool/task.ts'
import { abandonUpload, ContainerWork } from './container-work.ts'
import { CopyWork } from './copy-work.ts'
import { isContainerCopy } from './job-operation.ts'
import { isCopyPlan, type JobPlan, readPlan, treeOfJob } from './job-plan.ts'
import type { JobWork, NodeOptions } from './job-work.ts'
import type { OpenRecipeOptions } from './open-recipe.ts'
import { type PartialResult, PartialResults } from './partial-results.ts'
import { ANY_PLACE, type Places } from './places.ts'
import { ReduceWork } from './reduce-work.ts'
import { childrenOf, phaseEnds, type TaskTree } from './task-tree.ts'

/** Options of `openJob`: what the worker has, not the job. */
export interface OpenJobOptions {
  /** Threads that decode and reduce. */
  readonly pool?: WorkerPool | undefined
  /** Ends the opening. */
  readonly signal?: Signal | undefined
}

const OPEN_JOB_CHECKS: Checks<OpenJobOptions> = { pool: 'WorkerPool', signal: 'AbortSignal' }
const NODE_CHECKS: Checks<NodeOptions> = { signal: 'AbortSignal' }

/** Merges that read partial results at the same time. */
const READ_AT_A_TIME = 16

/**
 * Opens the source of a job, to do tasks and merges of it: as often as they are asked for, also by several at
 * once.
 * @throws ConflictError where the source is not what was planned for; FormatError and UnsupportedError for
 *   what is no plan; what opening the source throws
 */
export async function openJob(plan: JobPlan, options: OpenJobOptions = {}): Promise<Job> {
  checkOptions('openJob', options, OPEN_JOB_CHECKS)
  return openJobIn(await readPlan(plan), ANY_PLACE, options)
}

/**
 * Opens the source of a job after its plan was checked.
 * @param places resolves all its locations
 */
export const openJobIn = async (plan: JobPlan, places: Places, options: OpenJobOptions): Promise<Job> =>
  new Job(plan, await openWork(plan, { ...options, places }), places)

function openWork(plan: JobPlan, options: OpenRecipeOptions): Promise<JobWork> {
  if (!isCopyPlan(plan)) return ReduceWork.open(plan, options)
  return isContainerCopy(plan.operation) ? ContainerWork.open(plan, options) : CopyWork.open(plan, options)
}

/**
 * Drops what tasks have handed over of a job that has failed or was cancelled, and that is of no use to
 * another try.
 */
export async function abandonJob(plan: JobPlan, places: Places = ANY_PLACE): Promise<void> {
  if (isCopyPlan(plan) && isContainerCopy(plan.operation)) await abandonUpload(plan, places)
}

/**
 * A job whose source is open: does the tasks of its `plan`, merges what they come to, and gives the result;
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
   * Does a node of the job: a task at level 0, a merge above.
   * @param children what its children came to, in their order; for a task none
   */
  async runNode(level: number, index: number, children: readonly PartialResult[], options?: NodeOptions): Promise<PartialResult> {
    return level === 0 ? this.runTask(index, options) : this.merge(level, index, children, options)
  }

  /**
   * Does a task: of a reduction, its units are read and reduced. Done twice, it comes to the same.
   * @throws InvalidArgumentError for a task that there is not; what reading throws
   */
  async runTask(index: number, options: NodeOptions = {}): Promise<PartialResult> {
    checkOptions('runTask', options, NODE_CHECKS)
    this.#checkNode('runTask', 0, index)
    const known = await this.#partials.known(0, index, options)
    if (known !== undefined) return known
    const part = await this.#work.task(index, options)
    // What is one task has no merge.
    return this.#isLast(0) ? this.#finished(0, index, part, options) : this.#partials.store(0, index, part, options)
  }

  /**
   * Merges what up to 256 neighbours of the level below came to; the last one also does what is left of the
   * job, and gives its result.
   * @throws InvalidArgumentError for a merge that there is not, and another number of children than it has;
   *   NotFoundError where one of theirs is gone; the last one what the method of the array throws for such
   *   elements: EmptyReductionError, OverflowError
   */
  async merge(
    level: number,
    index: number,
    children: readonly PartialResult[],
    options: NodeOptions = {},
  ): Promise<PartialResult> {
    checkOptions('merge', options, NODE_CHECKS)
    this.#checkNode('merge', level, index)
    const [from, to] = childrenOf(this.#tree, level, index)
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
   * The result of the job, which the last node came to.
   * @throws FormatError for what another node came to; NotFoundError where it is gone
   */
  async result(last: PartialResult, options: NodeOptions = {}): Promise<unknown> {
    checkOptions('result', options, NODE_CHECKS)
    return this.#partials.loadResult(last, options)
  }

  /**
   * Does all of it here, and keeps in memory what tasks come to.
   * @internal
   * @param limit tasks at the same time
   * @param onTask told of each task that is done, in their order
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
   * Removes what tasks and merges have left in the scratch folder.
   * @param kept what somebody may still ask for
   */
  async clean(options: NodeOptions = {}, kept?: PartialResult): Promise<void> {
    await this.#partials.clean(options, kept)
  }

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
