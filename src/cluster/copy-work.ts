import { HyperslabError } from '../core/errors.ts'
import { ZarrParts } from '../runtime/zarr-parts.ts'
import { type CopyPlan, CopyTasks } from './copy-plan.ts'
import { openCopySource } from './copy-source.ts'
import type { Collector, JobWork, NodeOptions } from './job-work.ts'
import { Pins } from './pins.ts'
import { checkSource } from './plan-parts.ts'
import type { OpenRecipeOptions } from './recipe.ts'

/** Copies regions of whole objects, and writes the metadata when all are there. */
export class CopyWork implements JobWork {
  readonly #plan: CopyPlan
  readonly #tasks: CopyTasks
  readonly #parts: ZarrParts
  readonly #pins: Pins
  readonly #closeSource: () => Promise<void>
  #claimed: Promise<boolean> | undefined

  private constructor(plan: CopyPlan, parts: ZarrParts, pins: Pins, closeSource: () => Promise<void>) {
    this.#plan = plan
    this.#tasks = new CopyTasks(plan)
    this.#parts = parts
    this.#pins = pins
    this.#closeSource = closeSource
  }

  /** @throws ConflictError where the source is not what was planned for; what opening it throws */
  static async open(plan: CopyPlan, options: OpenRecipeOptions): Promise<CopyWork> {
    const { operation, pins: versions, arrays, metadata } = plan
    const pins = new Pins(versions)
    const { source, close } = await openCopySource(operation.source, pins, options)
    let parts: ZarrParts | undefined
    try {
      pins.seen()
      parts = await ZarrParts.open(operation.target, source, operation.options ?? {})
      for (const { name, array } of parts.arrays) if (Object.hasOwn(arrays, name)) await checkSource(array, arrays[name]!)
      const found = await parts.metadataHash()
      const names = parts.arrays.map(({ name }) => name)
      if (found !== metadata || names.some((name) => !Object.hasOwn(arrays, name)) || names.length !== Object.keys(arrays).length)
        throw new HyperslabError('ConflictError', 'the target would get other metadata than were planned; plan the job again', {
          file: operation.target,
          actual: found,
          expected: metadata,
        })
      return new CopyWork(plan, parts, pins, close)
    } catch (error) {
      await parts?.[Symbol.asyncDispose]()
      await close()
      throw error
    }
  }

  async task(index: number, { signal }: NodeOptions): Promise<undefined> {
    if (await this.#claim()) return
    const { name, regions, pass, number } = this.#tasks.task(index)
    if (pass === 'write') return this.#parts.copyWrite(name, regions, number, signal) as Promise<undefined>
    await this.#parts.copyFirst(name, regions, number, signal)
    // Whoever stood still meanwhile leaves nothing behind.
    if (await this.#parts.claim(this.#plan.id)) await this.#parts.removeScratch()
  }

  collect(): Collector {
    return { add: () => undefined, finish: () => undefined }
  }

  async complete(): Promise<void> {
    if (await this.#claim()) return
    await this.#pins.check()
    await this.#parts.publish(this.#plan.id)
  }

  async result(): Promise<{ readonly target: string; readonly arrays: readonly string[] }> {
    return { target: this.#plan.operation.target, arrays: Object.keys(this.#plan.arrays) }
  }

  async close(): Promise<void> {
    await this.#closeSource()
    await this.#parts[Symbol.asyncDispose]()
  }

  /** Whether all is there already. A place that could not be asked is asked another time. */
  #claim(): Promise<boolean> {
    this.#claimed ??= this.#parts.claim(this.#plan.id).catch((error: unknown) => {
      this.#claimed = undefined
      throw error
    })
    return this.#claimed
  }
}
