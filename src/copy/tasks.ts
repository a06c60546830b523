import { HyperslabError } from '../core/errors.ts'
import type { RechunkPlan } from '../grid/rechunk-plan.ts'
import type { CopyPass, CopyTask, SharedTarget, TargetArray } from './target.ts'

/** Default bytes of an array that are held in memory at a time. */
const HELD_BYTES = 64 * 1024 * 1024

/**
 * Returns the bytes of elements of an array that are held at a time.
 * @param most memory for the copy; undefined if the array decides
 */
export const heldBytes = (
  { maxBytes, heldTimes = 1 }: Pick<TargetArray, 'maxBytes' | 'heldTimes'>,
  most: number | undefined,
): number => (most === undefined ? (maxBytes ?? HELD_BYTES) : most / heldTimes)

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
export function planRegions(parts: SharedTarget, taskBytes: number): ReadonlyMap<string, RechunkPlan> {
  const most = parts.mostRegions
  for (let maxBytes = taskBytes; ; maxBytes *= 2) {
    const plans = new Map(parts.arrays.map((each) => [each.name, parts.plan(each.name, heldBytes(each, maxBytes))]))
    const count = [...plans.values()].reduce((sum, { write }) => sum + write.count, 0)
    if (most === undefined || count <= most) return plans
    if (count > plans.size) continue
    const text = `a container of ${count} arrays cannot be written in parts, of which the store takes ${most} for one object`
    throw new HyperslabError('TooLargeError', text, { actual: count, expected: most })
  }
}

type Pass = Omit<CopyPass, 'start'>

/** Tasks of a copy in their order. */
export class CopyTasks {
  /** Passes in their order. */
  readonly passes: readonly CopyPass[]
  /** Number of tasks in each phase. Tasks of a phase are independent. Empty phases are omitted. */
  readonly counts: readonly number[]
  readonly count: number

  private constructor(phases: readonly (readonly Pass[])[]) {
    let start = 0
    const passes: CopyPass[] = []
    this.counts = phases
      .map((phase) => {
        const before = start
        for (const each of phase) {
          passes.push({ ...each, start })
          start += each.grid.count
        }
        return start - before
      })
      .filter((count) => count > 0)
    this.passes = passes
    this.count = start
  }

  /**
   * Orders tasks for many processes: first all tasks that read the source, then the second passes of these,
   * then the levels of a pyramid, each from the level before.
   */
  static inPhases(copies: readonly DividedArray[]): CopyTasks {
    const most = copies.reduce((deepest, { depth }) => Math.max(deepest, depth), 0)
    const levels = Array.from({ length: most + 1 }, (_, level) => copies.filter(({ depth }) => depth === level).map(listPasses))
    return new CopyTasks(
      levels.flatMap((passes) => [passes.map(([reading]) => reading!), passes.flatMap(([, ...writing]) => writing)]),
    )
  }

  /** Orders tasks for one process: array by array, so that one intermediate array exists at a time. */
  static inTurn(copies: readonly Omit<DividedArray, 'depth'>[]): CopyTasks {
    return new CopyTasks(copies.flatMap((each) => listPasses(each).map((pass) => [pass])))
  }

  task(index: number): CopyTask {
    const found = this.passes.find(({ start, grid }) => index < start + grid.count)
    if (found === undefined || index < 0)
      throw new HyperslabError('InvalidArgumentError', `there is no task ${index}`, { actual: index })
    return createTask(found, index - found.start)
  }
}

/** Returns a task of a pass. */
export const createTask = ({ name, regions, pass, start }: CopyPass, number: number): CopyTask => ({
  name,
  regions,
  pass,
  number,
  index: start + number,
})

function listPasses({ name, regions }: Pick<DividedArray, 'name' | 'regions'>): Pass[] {
  const { first, write } = regions
  const writing: Pass = { name, regions, pass: 'write', grid: write }
  return first === undefined ? [writing] : [{ name, regions, pass: 'first', grid: first.read }, writing]
}
