import { copyInOrder, regionsAtOnce } from '../array/lazy/rechunk-to.ts'
import type { Progress } from '../array/transfers.ts'
import { HyperslabError, isHyperslabError, messageOf } from '../core/errors.ts'
import { numbersFrom } from '../core/numbers.ts'
import { sizeOf } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import { boxShape } from '../grid/range.ts'
import type { StoreOptions } from '../store/store.ts'
import { watchSources } from './source-versions.ts'
import type { CopyPass, CopyTarget, CopyTask, OwnTarget, TargetArray } from './target.ts'
import { CopyTasks, createTask, heldBytes } from './tasks.ts'

/**
 * The steps of a copy. An executor decides which process takes each of them: this one, or the workers of a
 * queue.
 */
export class CopySteps<Receipt = unknown> {
  readonly target: CopyTarget<Receipt>
  readonly tasks: CopyTasks
  readonly #checkSource: (options: StoreOptions) => Promise<void>
  #claimed: Promise<boolean> | undefined

  /** @param checkSource throws if the source has changed since it was opened */
  constructor(target: CopyTarget<Receipt>, tasks: CopyTasks, checkSource: (options: StoreOptions) => Promise<void>) {
    this.target = target
    this.tasks = tasks
    this.#checkSource = checkSource
  }

  /** Takes the place, once. Returns whether the copy is complete. */
  claim(): Promise<boolean> {
    this.#claimed ??= this.target.claim().catch((error: unknown) => {
      // The next task tries again.
      this.#claimed = undefined
      throw error
    })
    return this.#claimed
  }

  /** Runs a task, unless the copy is complete. */
  async write(task: CopyTask, options: Parameters<CopyTarget['write']>[1]): Promise<readonly Receipt[]> {
    return (await this.claim()) ? [] : this.target.write(task, options)
  }

  /** Publishes the copy after all tasks, unless another process has done so. */
  async finish(receipts: readonly Receipt[], options: StoreOptions): Promise<void> {
    if (!(await this.target.claim())) {
      await this.#checkSource(options)
      await this.target.publish(receipts, this.tasks.count, options)
    }
    await this.target.clean(options)
  }
}

/** Options of copying in this process. */
export interface HereOptions {
  /** Memory for elements in bytes. Default: each array decides. */
  readonly maxBytes?: number | undefined
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
  /** Receives the progress after each step, in chunks of the target. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/**
 * Copies in this process, array by array in bounded memory. The next region is read while one is written.
 * After an error, the target removes what was written, or keeps it for a later call.
 * @returns false if the copy was complete already
 */
export async function copyHere<R>(target: OwnTarget<R>, options: HereOptions): Promise<boolean> {
  const { maxBytes, signal } = options
  if (await target.claim()) return false
  try {
    const unchanged = await watchSources(target.arrays, signal)
    // Half of the memory is read into while the other half is written.
    const planned = target.arrays.map((each) => ({
      name: each.name,
      regions: target.plan(each.name, heldBytes(each, maxBytes) / 2),
    }))
    const steps = new CopySteps(target, CopyTasks.inTurn(planned), () => unchanged(signal))
    const receipts = await writeTasks(target, steps, options)
    signal?.throwIfAborted()
    await steps.finish(receipts, { signal })
    return true
  } catch (error) {
    return await abandonAfter(error, target)
  }
}

/** Removes what was written, and throws the error. Its message also says what could not be removed. */
export async function abandonAfter(error: unknown, target: Pick<OwnTarget, 'abandon'>): Promise<never> {
  try {
    await target.abandon()
  } catch (left) {
    const tag = isHyperslabError(error) ? error.tag : 'StoreError'
    const text = `${messageOf(error)}; what was written could not be removed: ${messageOf(left)}`
    throw new HyperslabError(tag, text, { cause: new AggregateError([error, left]) })
  }
  throw error
}

async function writeTasks<R>(
  target: OwnTarget<R>,
  steps: CopySteps<R>,
  { maxBytes, signal, onProgress }: HereOptions,
): Promise<R[]> {
  const receipts: R[] = []
  const { passes } = steps.tasks
  const done = (await target.resume?.(passes)) ?? 0
  const arrays = new Map(target.arrays.map((each) => [each.name, each]))
  const tally = createCopyTally(target.arrays, onProgress)
  for (const pass of passes) {
    const { name, grid, start } = pass
    const array = arrays.get(name)!
    const from = Math.min(grid.count, Math.max(0, done - start))
    for (let number = 0; number < from; number++) tally(pass, array, number)
    const atOnce = regionsAtOnce(grid, array.array.dtype, heldBytes(array, maxBytes))
    await copyInOrder(numbersFrom(from, grid.count), atOnce, async (number, region) => {
      const task = createTask(pass, number)
      receipts.push(...(await steps.write(task, { ...region, signal })))
      await target.done?.(task)
      tally(pass, array, number)
    })
  }
  return receipts
}

/** Counts the chunks of regions, and reports them. */
function createCopyTally(
  arrays: readonly TargetArray[],
  onProgress: HereOptions['onProgress'],
): (pass: CopyPass, array: TargetArray, number: number) => void {
  const total = arrays.reduce((sum, { count }) => sum + count, 0)
  let [before, elements] = [0, 0]
  let current: TargetArray | undefined
  return ({ grid, regions }, array, number) => {
    if (current !== array) {
      before += current?.count ?? 0
      elements = 0
      current = array
    }
    elements += sizeOf(boxShape(grid.box(grid.index(number))))
    const all = (regions.first === undefined ? 1 : 2) * sizeOf(grid.shape)
    onProgress?.({ done: before + Math.floor((elements / all) * array.count), total })
  }
}
