import { HyperslabError } from '../core/errors.ts'
import type { RechunkPlan } from '../grid/rechunk-plan.ts'
import type { CopyTarget, CopyTask } from './target.ts'

/** An array of a copy, with the regions that it is copied by, and the number of levels written before it. */
export interface DividedArray {
  readonly name: string
  readonly regions: RechunkPlan
  readonly depth: number
}

/**
 * Plans all arrays. Enlarges the regions until the target allows their number.
 * @throws TooLargeError if even one region for each array would be too many
 */
export function planRegions(parts: CopyTarget, taskBytes: number): ReadonlyMap<string, RechunkPlan> {
  const most = parts.mostRegions
  for (let maxBytes = taskBytes; ; maxBytes *= 2) {
    const plans = new Map(parts.arrays.map(({ name }) => [name, parts.plan(name, maxBytes)]))
    const count = [...plans.values()].reduce((sum, { write }) => sum + write.count, 0)
    if (most === undefined || count <= most) return plans
    if (count > plans.size) continue
    const text = `a container of ${count} arrays cannot be written in parts, of which the store takes ${most} for one object`
    throw new HyperslabError('TooLargeError', text, { actual: count, expected: most })
  }
}

/**
 * Tasks of a copy in their order: first all tasks that read the source, then the second passes of these, then
 * the levels of a pyramid, each from the level before.
 */
export class CopyTasks {
  readonly #phases: readonly (readonly (Omit<CopyTask, 'number' | 'index'> & { readonly count: number })[])[]

  constructor(copies: readonly DividedArray[]) {
    const reading = copies
      .filter(({ depth }) => depth === 0)
      .map((each) => {
        const { first, write } = each.regions
        return first === undefined
          ? { ...each, pass: 'write' as const, count: write.count }
          : { ...each, pass: 'first' as const, count: first.read.count }
      })
    const writing = copies
      .filter(({ regions, depth }) => depth === 0 && regions.first !== undefined)
      .map((each) => ({ ...each, pass: 'write' as const, count: each.regions.write.count }))
    const most = copies.reduce((deepest, { depth }) => Math.max(deepest, depth), 0)
    const levels = Array.from({ length: most }, (_, i) =>
      copies
        .filter(({ depth }) => depth === i + 1)
        .map((each) => ({ ...each, pass: 'write' as const, count: each.regions.write.count })),
    )
    this.#phases = [reading, writing, ...levels]
  }

  /** Number of tasks in each phase. Empty phases are omitted. */
  get counts(): number[] {
    return this.#phases.map((phase) => phase.reduce((sum, { count }) => sum + count, 0)).filter((count) => count > 0)
  }

  get count(): number {
    return this.counts.reduce((sum, count) => sum + count, 0)
  }

  task(index: number): CopyTask {
    let number = index
    for (const { count, ...task } of this.#phases.flat()) {
      if (number < count) return { ...task, number, index }
      number -= count
    }
    throw new HyperslabError('InvalidArgumentError', `there is no task ${index}`, { actual: index })
  }
}
