import { MergeTree } from '../aggregate/merge-tree.ts'
import type { DiskArray } from '../array/disk-array.ts'
import { divideBy } from '../array/reductions/reductions.ts'
import { type DividedReduction, reduceUnits } from '../array/reductions/units.ts'
import { within } from '../core/errors.ts'
import type { JobWork, NodeOptions } from './job-work.ts'
import { type OpenRecipeOptions, RecipeOpener } from './open-recipe.ts'
import { Pins } from './pins.ts'
import { checkSource } from './plan-parts.ts'
import { type ReducePlan, unitsOfTask } from './reduce-plan.ts'

/** Reduces units, and merges their results. */
export class ReduceWork implements JobWork {
  readonly #plan: ReducePlan
  readonly #array: DiskArray
  readonly #divided: DividedReduction
  readonly #opener: RecipeOpener

  private constructor(plan: ReducePlan, array: DiskArray, divided: DividedReduction, opener: RecipeOpener) {
    this.#plan = plan
    this.#array = array
    this.#divided = divided
    this.#opener = opener
  }

  /** @throws ConflictError if the source is not the planned one; errors of opening it */
  static async open(plan: ReducePlan, options: OpenRecipeOptions): Promise<ReduceWork> {
    const { operation, pins: versions, units } = plan
    const pins = new Pins(versions, options.places)
    const opener = new RecipeOpener(pins, options)
    try {
      const array = await opener.open(operation.source)
      pins.seen()
      await checkSource(array, plan.array)
      const divided = divideBy(operation.method, array.source, operation.options, operation.args, units.bytes)
      return new ReduceWork(plan, array, divided, opener)
    } catch (error) {
      await opener[Symbol.asyncDispose]()
      throw error
    }
  }

  task(index: number, { signal }: NodeOptions): Promise<unknown> {
    const [from, to] = unitsOfTask(this.#plan, index)
    const { ignoreStats } = (this.#plan.operation.options ?? {}) as { ignoreStats?: boolean }
    return this.#within(() => reduceUnits(this.#divided, from, to, { signal, ...(ignoreStats !== undefined && { ignoreStats }) }))
  }

  collect(): MergeTree<unknown> {
    return new MergeTree(this.#divided)
  }

  async settle(merged: unknown): Promise<unknown> {
    return merged
  }

  finish(all: unknown): Promise<unknown> {
    return this.#within(async () => this.#divided.finish(all))
  }

  close(): Promise<void> {
    return this.#opener[Symbol.asyncDispose]()
  }

  #within<T>(work: () => Promise<T>): Promise<T> {
    return within(this.#array.source.label ?? {}, work)
  }
}
