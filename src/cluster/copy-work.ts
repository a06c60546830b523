import { PackedParts } from '../copy/packed-parts.ts'
import { CopySteps } from '../copy/run.ts'
import type { SharedTarget } from '../copy/target.ts'
import { HyperslabError } from '../core/errors.ts'
import { type CopyPlan, type CopyResult, openTarget, resultOfCopy, tasksOfCopy } from './copy-plan.ts'
import { openCopySource } from './copy-source.ts'
import type { Collector, JobWork, NodeOptions } from './job-work.ts'
import type { OpenRecipeOptions } from './open-recipe.ts'
import { openScratch } from './partial-results.ts'
import { Pins } from './pins.ts'
import { ANY_PLACE, type Places } from './places.ts'
import { checkSource } from './plan-parts.ts'

/** Copies regions, and publishes the copy when all are written. */
export class CopyWork implements JobWork {
  readonly #plan: CopyPlan
  readonly #steps: CopySteps
  readonly #target: SharedTarget
  readonly #close: () => Promise<void>

  private constructor(plan: CopyPlan, target: SharedTarget, steps: CopySteps, close: () => Promise<void>) {
    this.#plan = plan
    this.#steps = steps
    this.#target = target
    this.#close = close
  }

  /**
   * Opens the source and the target.
   * @throws ConflictError if source or target are not as planned; errors of opening them
   */
  static async open(plan: CopyPlan, options: OpenRecipeOptions): Promise<CopyWork> {
    const { operation, id } = plan
    const { places = ANY_PLACE } = options
    const pins = new Pins(plan.pins, places)
    const { source, close } = await openCopySource(operation, pins, options)
    let target: SharedTarget | undefined
    const closeBoth = async (): Promise<void> => {
      await target?.[Symbol.asyncDispose]()
      await close()
    }
    try {
      pins.seen()
      target = await openTarget(operation, await places.resolve(operation.target), source, id, openScratch(plan, places))
      await checkTarget(plan, target)
      return new CopyWork(plan, target, new CopySteps(target, tasksOfCopy(plan), () => pins.check()), closeBoth)
    } catch (error) {
      await closeBoth()
      throw error
    }
  }

  async task(index: number, options: NodeOptions): Promise<readonly unknown[]> {
    return this.#steps.write(this.#steps.tasks.task(index), options)
  }

  collect(): Collector {
    const receipts: unknown[] = []
    return { add: (part) => void receipts.push(...(part as unknown[])), finish: () => receipts }
  }

  settle(merged: unknown, options: NodeOptions): Promise<readonly unknown[]> {
    return this.#target.combine(merged as unknown[], options)
  }

  async finish(all: unknown, options: NodeOptions): Promise<CopyResult> {
    await this.#steps.finish(all as unknown[], options)
    return resultOfCopy(this.#plan)
  }

  close(): Promise<void> {
    return this.#close()
  }
}

/** @throws ConflictError if the arrays or metadata are not as planned */
async function checkTarget({ arrays, metadata, operation }: CopyPlan, target: SharedTarget): Promise<void> {
  for (const { name, array } of target.arrays) if (Object.hasOwn(arrays, name)) await checkSource(array, arrays[name]!)
  const found = await target.metadataHash()
  const names = target.arrays.map(({ name }) => name)
  if (found === metadata && names.every((name) => Object.hasOwn(arrays, name)) && names.length === Object.keys(arrays).length)
    return
  throw new HyperslabError('ConflictError', 'the target would get other metadata than were planned; plan the job again', {
    file: operation.target,
    actual: found,
    expected: metadata,
  })
}

/** Removes packed blocks that tasks have handed over. The source may be gone, and is not opened. */
export async function abandonCopy(plan: CopyPlan, places: Places): Promise<void> {
  const { store, path } = await places.resolve(plan.operation.target)
  const folder = openScratch(plan, places)!
  try {
    await new PackedParts({ store, key: path, mark: plan.id }, folder).abandon()
  } finally {
    await folder.close()
    await store.close?.()
  }
}
