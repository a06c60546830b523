import { HyperslabError } from '../core/errors.ts'
import { ContainerParts } from '../runtime/container-parts.ts'
import { type CopyPlan, type CopyResult, CopyTasks, resultOfCopy } from './copy-plan.ts'
import type { Collector, JobWork, NodeOptions } from './job-work.ts'
import type { OpenRecipeOptions } from './open-recipe.ts'
import { type PackedBytes, PackedParts } from './packed-parts.ts'
import type { Pins } from './pins.ts'
import type { Places } from './places.ts'
import { type OpenedCopy, openPlannedCopy } from './planned-copy.ts'
import { type ScratchFolder, scratchOf } from './scratch-folder.ts'

/** Packs regions of whole chunks. Publishes the container when all of them are packed. */
export class ContainerWork implements JobWork {
  readonly #plan: CopyPlan
  readonly #tasks: CopyTasks
  readonly #parts: ContainerParts
  readonly #handedOver: PackedParts
  readonly #pins: Pins
  readonly #scratch: ScratchFolder
  readonly #close: () => Promise<void>
  #published: Promise<boolean> | undefined

  private constructor(plan: CopyPlan, { parts, pins, close }: OpenedCopy<ContainerParts>, places: Places | undefined) {
    this.#plan = plan
    this.#tasks = new CopyTasks(plan)
    this.#parts = parts
    this.#pins = pins
    this.#scratch = scratchOf(plan, places)!
    this.#handedOver = new PackedParts({ store: parts.store, key: parts.path, mark: plan.id }, this.#scratch)
    this.#close = close
  }

  /** @throws ConflictError if the source is not the planned one; errors of opening it */
  static async open(plan: CopyPlan, options: OpenRecipeOptions): Promise<ContainerWork> {
    return new ContainerWork(plan, await openPlannedCopy(plan, options, ContainerParts.open), options.places)
  }

  async task(index: number, options: NodeOptions): Promise<readonly PackedBytes[]> {
    if (await this.#isPublished()) return []
    const { name, regions, number } = this.#tasks.task(index)
    const { part, bytes } = await this.#parts.pack(name, regions, number, options.signal)
    // Upload parts are numbered from 1.
    return [await this.#handedOver.add([part], bytes, index + 1, options)]
  }

  collect(): Collector {
    const packed: PackedBytes[] = []
    return { add: (part) => void packed.push(...(part as PackedBytes[])), finish: () => packed }
  }

  settle(merged: unknown, options: NodeOptions): Promise<readonly PackedBytes[]> {
    return this.#handedOver.combine(merged as PackedBytes[], options)
  }

  async finish(all: unknown, options: NodeOptions): Promise<CopyResult> {
    if (!(await this.#parts.isPublished(this.#plan.id))) await this.#publish(await this.settle(all, options), options)
    await this.#handedOver.clean(options)
    return resultOfCopy(this.#plan)
  }

  async close(): Promise<void> {
    await this.#scratch.close()
    await this.#close()
  }

  async #publish(packed: readonly PackedBytes[], options: NodeOptions): Promise<void> {
    const [count] = this.#tasks.counts
    const found = packed.reduce((sum, { parts }) => sum + parts.length, 0)
    if (found !== (count ?? 0)) {
      const text = `the container is to be put together of ${count} parts, and there are ${found}`
      throw new HyperslabError('FormatError', text, { file: this.#plan.operation.target, actual: found, expected: count })
    }
    await this.#pins.check()
    const { parts, stage } = await this.#handedOver.assembled(packed, options)
    try {
      await this.#parts.publish(this.#plan.id, parts, stage)
    } finally {
      await stage.discard()
    }
  }

  /** Whether the container is published already. Asks again after a failed request. */
  #isPublished(): Promise<boolean> {
    this.#published ??= this.#look().catch((error: unknown) => {
      this.#published = undefined
      throw error
    })
    return this.#published
  }

  async #look(): Promise<boolean> {
    if (await this.#parts.isPublished(this.#plan.id)) return true
    await this.#handedOver.check()
    return false
  }
}

/** Discards the output of tasks. Does not open the source, which may not exist any more. */
export async function abandonUpload(plan: CopyPlan, places: Places): Promise<void> {
  const { store, path } = await places.resolve(plan.operation.target)
  const folder = scratchOf(plan, places)!
  try {
    await new PackedParts({ store, key: path, mark: plan.id }, folder).abandon()
  } finally {
    await folder.close()
    await store.close?.()
  }
}
