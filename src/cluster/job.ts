import { MergeTree } from '../aggregate/merge-tree.ts'
import { divideBy } from '../array/reductions/reductions.ts'
import { type DividedReduction, reduceUnits } from '../array/reductions/units.ts'
import { decodeBase64, encodeBase64 } from '../core/base64.ts'
import { HyperslabError, isHyperslabError, within } from '../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import type { WorkerPool } from '../pool/task.ts'
import { resolveLocation } from '../runtime/location.ts'
import { readWhole, type Store } from '../store/store.ts'
import { arrayFacts, type JobPlan, MERGE_FAN_IN, nodeCounts, readPlan, unitsOfTask } from './job-plan.ts'
import { Pins } from './pins.ts'
import { type OpenedRecipe, openRecipe } from './recipe.ts'
import { decodeState, encodeState, type StateValue } from './state-codec.ts'

/** Options of `openJob`: what the worker has, not the job. */
export interface OpenJobOptions {
  /** Threads that decode and reduce. */
  readonly pool?: WorkerPool | undefined
  /** Ends the opening. */
  readonly signal?: Signal | undefined
}

/** Options of doing a part of a job. */
export interface NodeOptions {
  readonly signal?: Signal | undefined
}

/**
 * What a task or a merge has come to, as JSON: at hand, in base64; or in the scratch folder of the job, where
 * it is too large to be handed around.
 */
export type PartialResult = { readonly state: string } | { readonly key: string; readonly bytes: number }

export const OPEN_JOB_CHECKS: Checks<OpenJobOptions> = { pool: 'WorkerPool', signal: 'AbortSignal' }
const NODE_CHECKS: Checks<NodeOptions> = { signal: 'AbortSignal' }

/** Larger ones go to the scratch folder, where there is one. */
const INLINE_BYTES = 4096

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
  const { operation, pins: versions, array: planned, units } = await readPlan(plan)
  const pins = new Pins(versions)
  const opened = await openRecipe(operation.source, pins, options)
  try {
    pins.seen()
    const found = await arrayFacts(opened.array)
    if (found.grid !== planned.grid || found.dtype !== planned.dtype) {
      const text = 'the source has another type, shape or chunks than when the job was planned; plan it again'
      throw new HyperslabError('ConflictError', text, { ...opened.array.source.label, actual: found, expected: planned })
    }
    const divided = divideBy(operation.method, opened.array.source, operation.options, operation.args, units.bytes)
    return new Job(plan, opened, divided)
  } catch (error) {
    await opened.close()
    throw error
  }
}

/** A job whose source is open: does its tasks, merges what they come to, and gives the result. */
export class Job implements AsyncDisposable {
  readonly plan: JobPlan
  readonly #opened: OpenedRecipe
  readonly #divided: DividedReduction
  readonly #counts: readonly number[]
  #scratch: Promise<{ readonly store: Store; readonly path: string }> | undefined

  constructor(plan: JobPlan, opened: OpenedRecipe, divided: DividedReduction) {
    this.plan = plan
    this.#opened = opened
    this.#divided = divided
    this.#counts = nodeCounts(plan)
  }

  /**
   * Does a node of the job: a task at level 0, a merge above.
   * @param children what its children came to, in their order; for a task none
   */
  async runNode(level: number, index: number, children: readonly PartialResult[], options?: NodeOptions): Promise<PartialResult> {
    return level === 0 ? this.runTask(index, options) : this.merge(level, index, children, options)
  }

  /**
   * Reads and reduces the units of a task. Done twice, it comes to the same.
   * @throws InvalidArgumentError for a task that there is not; what reading throws
   */
  async runTask(index: number, options: NodeOptions = {}): Promise<PartialResult> {
    checkOptions('runTask', options, NODE_CHECKS)
    this.#checkNode('runTask', 0, index)
    return (await this.#known(0, index, options)) ?? this.#store(0, index, await this.reduceTask(index, options), options)
  }

  /**
   * Merges what up to 256 neighbours of the level below came to.
   * @throws InvalidArgumentError for a merge that there is not, and another number of children than it has;
   *   NotFoundError where one of theirs is gone
   */
  async merge(
    level: number,
    index: number,
    children: readonly PartialResult[],
    options: NodeOptions = {},
  ): Promise<PartialResult> {
    checkOptions('merge', options, NODE_CHECKS)
    this.#checkNode('merge', level, index)
    const expected = Math.min(MERGE_FAN_IN, this.#counts[level - 1]! - index * MERGE_FAN_IN)
    if (children.length !== expected) {
      const text = `merge ${index} of level ${level} has ${expected} children, not ${children.length}`
      throw new HyperslabError('InvalidArgumentError', text, { actual: children.length, expected })
    }
    const known = await this.#known(level, index, options)
    if (known !== undefined) return known
    const tree = new MergeTree(this.#divided)
    for (let from = 0; from < children.length; from += READ_AT_A_TIME) {
      const some = children.slice(from, from + READ_AT_A_TIME)
      for (const part of await Promise.all(some.map((child) => this.#load(child, options)))) tree.add(part)
    }
    return this.#store(level, index, tree.finish(), options)
  }

  /**
   * What the method of the array gives, of what the last merge came to.
   * @throws what the method throws for such elements: EmptyReductionError, OverflowError
   */
  async result(last: PartialResult, options: NodeOptions = {}): Promise<unknown> {
    const all = await this.#load(last, options)
    return this.finish(all)
  }

  /** @internal Reduces the units of a task, for whoever keeps what that comes to in memory. */
  async reduceTask(index: number, { signal }: NodeOptions = {}): Promise<unknown> {
    const [from, to] = unitsOfTask(this.plan, index)
    const { ignoreStats } = (this.plan.operation.options ?? {}) as { ignoreStats?: boolean }
    return this.#within(() => reduceUnits(this.#divided, from, to, { signal, ...(ignoreStats !== undefined && { ignoreStats }) }))
  }

  /** @internal A tree for what tasks come to, one after another. */
  mergeTree(): MergeTree<unknown> {
    return new MergeTree(this.#divided)
  }

  /** @internal */
  finish(all: unknown): Promise<unknown> {
    return this.#within(async () => this.#divided.finish(all))
  }

  /**
   * Removes what tasks and merges have left in the scratch folder.
   * @param kept what somebody may still ask for
   */
  async clean(options: NodeOptions = {}, kept?: PartialResult): Promise<void> {
    if (this.plan.scratch === undefined) return
    const { store, path } = await this.#place()
    const folder = `${path}/${this.plan.id}/`
    const keep = kept !== undefined && 'key' in kept ? kept.key : undefined
    const keys = ((await store.list?.(folder, options)) ?? []).filter((key) => key !== keep)
    for (const key of keys) await store.delete?.(key, options)
    if (keep === undefined) await store.removeFolder?.(folder)
  }

  async close(): Promise<void> {
    await this.#opened.close()
    await (await this.#scratch)?.store.close?.()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #within<T>(work: () => Promise<T>): Promise<T> {
    return within(this.#opened.array.source.label ?? {}, work)
  }

  #checkNode(call: string, level: number, index: number): void {
    checkValue(call, 'level', level, `integer from 0 to ${this.#counts.length - 1}`)
    checkValue(call, 'index', index, `integer from 0 to ${this.#counts[level]! - 1}`)
  }

  /** What somebody has done already. */
  async #known(level: number, index: number, { signal }: NodeOptions): Promise<PartialResult | undefined> {
    if (this.plan.scratch === undefined) return undefined
    const { store } = await this.#place()
    const key = await this.#keyOf(level, index)
    const info = await store.stat(key, { signal })
    return info && { key, bytes: info.size }
  }

  async #store(level: number, index: number, part: unknown, { signal }: NodeOptions): Promise<PartialResult> {
    const bytes = encodeState(part as StateValue)
    if (bytes.length <= INLINE_BYTES || this.plan.scratch === undefined) return { state: encodeBase64(bytes) }
    signal?.throwIfAborted()
    const { store } = await this.#place()
    const key = await this.#keyOf(level, index)
    if (store.stage === undefined)
      throw new HyperslabError('ReadOnlyError', 'partial results cannot be written to the scratch folder', {
        file: store.describe(key),
      })
    await store.makeFolder?.(key)
    const stage = await store.stage(key)
    try {
      await stage.publish(key, bytes, { ifAbsent: true, durable: false })
    } catch (error) {
      // Whoever was faster has written the same.
      if (!isHyperslabError(error, 'ConflictError')) throw error
    } finally {
      await stage.discard()
    }
    return { key, bytes: bytes.length }
  }

  async #load(part: PartialResult, { signal }: NodeOptions): Promise<unknown> {
    if ('state' in part) return decodeState(decodeBase64(part.state) ?? new Uint8Array())
    const { store } = await this.#place()
    const found = await readWhole(store, part.key, { signal })
    if (found !== undefined) return decodeState(found.bytes)
    throw new HyperslabError('NotFoundError', 'a partial result is gone', { file: store.describe(part.key) })
  }

  #place(): Promise<{ readonly store: Store; readonly path: string }> {
    this.#scratch ??= resolveLocation(this.plan.scratch!)
    return this.#scratch
  }

  async #keyOf(level: number, index: number): Promise<string> {
    return `${(await this.#place()).path.replace(/\/$/, '')}/${this.plan.id}/${level}-${index}`
  }
}
