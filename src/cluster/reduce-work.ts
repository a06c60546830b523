import { MergeTree } from '../aggregate/merge-tree.ts'
import { divideBy } from '../array/reductions/reductions.ts'
import { type DividedReduction, reduceUnits } from '../array/reductions/units.ts'
import { within } from '../core/errors.ts'
import type { JobWork, NodeOptions } from './job-work.ts'
import { Pins } from './pins.ts'
import { checkSource } from './plan-parts.ts'
import { type OpenedRecipe, type OpenRecipeOptions, openRecipe } from './recipe.ts'
import { type ReducePlan, unitsOfTask } from './reduce-plan.ts'

/** Reduces units, and merges what they come to. */
export class ReduceWork implements JobWork {
  readonly #plan: ReducePlan
  readonly #opened: OpenedRecipe
  readonly #divided: DividedReduction

  private constructor(plan: ReducePlan, opened: OpenedRecipe, divided: DividedReduction) {
    this.#plan = plan
    this.#opened = opened
    this.#divided = divided
  }

  /** @throws ConflictError where the source is not what was planned for; what opening it throws */
  static async open(plan: ReducePlan, options: OpenRecipeOptions): Promise<ReduceWork> {
    const { operation, pins: versions, array, units } = plan
    const pins = new Pins(versions)
    const opened = await openRecipe(operation.source, pins, options)
    try {
      pins.seen()
      await checkSource(opened.array, array)
      const divided = divideBy(operation.method, opened.array.source, operation.options, operation.args, units.bytes)
      return new ReduceWork(plan, opened, divided)
    } catch (error) {
      await opened.close()
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
    return this.#opened.close()
  }

  #within<T>(work: () => Promise<T>): Promise<T> {
    return within(this.#opened.array.source.label ?? {}, work)
  }
}
