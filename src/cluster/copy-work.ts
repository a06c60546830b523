import { ZarrParts } from '../runtime/zarr-parts.ts'
import { type CopyPlan, type CopyResult, CopyTasks, resultOfCopy } from './copy-plan.ts'
import type { Collector, JobWork, NodeOptions } from './job-work.ts'
import type { OpenRecipeOptions } from './open-recipe.ts'
import type { Pins } from './pins.ts'
import { type OpenedCopy, openPlannedCopy } from './planned-copy.ts'

/** Copies regions of whole objects. Writes the metadata when all of them are copied. */
export class CopyWork implements JobWork {
  readonly #plan: CopyPlan
  readonly #tasks: CopyTasks
  readonly #parts: ZarrParts
  readonly #pins: Pins
  readonly #close: () => Promise<void>
  #claimed: Promise<boolean> | undefined

  private constructor(plan: CopyPlan, { parts, pins, close }: OpenedCopy<ZarrParts>) {
    this.#plan = plan
    this.#tasks = new CopyTasks(plan)
    this.#parts = parts
    this.#pins = pins
    this.#close = close
  }

  /** @throws ConflictError if the source is not the planned one; errors of opening it */
  static async open(plan: CopyPlan, options: OpenRecipeOptions): Promise<CopyWork> {
    return new CopyWork(plan, await openPlannedCopy(plan, options, ZarrParts.open))
  }

  async task(index: number, { signal }: NodeOptions): Promise<undefined> {
    if (await this.#claim()) return
    const { name, regions, pass, number } = this.#tasks.task(index)
    if (pass === 'write') return this.#parts.copyWrite(name, regions, number, signal) as Promise<undefined>
    await this.#parts.copyFirst(name, regions, number, signal)
    // If the copy was published while this worker was paused, nothing else removes its intermediate objects.
    if (await this.#parts.claim(this.#plan.id)) await this.#parts.removeScratch()
  }

  collect(): Collector {
    return { add: () => undefined, finish: () => undefined }
  }

  async settle(): Promise<undefined> {}

  async finish(): Promise<CopyResult> {
    if (!(await this.#claim())) {
      await this.#pins.check()
      await this.#parts.publish(this.#plan.id)
    }
    return resultOfCopy(this.#plan)
  }

  close(): Promise<void> {
    return this.#close()
  }

  /** Whether the copy is published already. Asks again after a failed request. */
  #claim(): Promise<boolean> {
    this.#claimed ??= this.#parts.claim(this.#plan.id).catch((error: unknown) => {
      this.#claimed = undefined
      throw error
    })
    return this.#claimed
  }
}
