import { openTargetOf } from '../copy/copy.ts'
import type { Scratch } from '../copy/scratch.ts'
import type { ZarrExport } from '../copy/stored-arrays.ts'
import type { CopyTarget, CopyTask } from '../copy/target.ts'
import { HyperslabError } from '../core/errors.ts'
import { type Checks, checkValue } from '../core/options.ts'
import { sameShape } from '../core/shape.ts'
import {
  parseRechunk,
  type RechunkDocument,
  type RechunkPlan,
  type RechunkTraffic,
  rechunkDocument,
} from '../grid/rechunk-plan.ts'
import type { Location } from '../tree/location.ts'
import { openCopySource } from './copy-source.ts'
import { type CopyOperation, formatOfCopy } from './job-operation.ts'
import type { OpenRecipeOptions } from './open-recipe.ts'
import type { Pins } from './pins.ts'
import { type AnyPlan, checkParts, type PlannedSource, SOURCE_CHECKS, sourceFacts } from './plan-parts.ts'

/** An array of a copy: the source and its `regions`. Each region is a task. */
export interface PlannedCopy extends PlannedSource {
  readonly regions: RechunkDocument
  /** Number of finer levels of a pyramid that are written before; 0 for other arrays. */
  readonly depth: number
  /** Upper limit of its requests and bytes. */
  readonly traffic: RechunkTraffic
}

/** Plan of a copy, with its `operation`. */
export interface CopyPlan extends AnyPlan {
  readonly operation: CopyOperation
  /** Arrays by their paths in the target. */
  readonly arrays: Readonly<Record<string, PlannedCopy>>
  /** SHA-256 of the metadata of the target. */
  readonly metadata: string
  /** Variables of a dataset that cannot be decoded, with the reasons, one per line. */
  readonly leftOut: readonly string[]
}

/** Result of a copy: its `target`, and the paths of its `arrays`. */
export interface CopyResult {
  readonly target: string
  readonly arrays: readonly string[]
}

export const resultOfCopy = ({ operation, arrays }: CopyPlan): CopyResult => ({
  target: operation.target,
  arrays: Object.keys(arrays),
})

type Facts = Pick<CopyPlan, 'arrays' | 'metadata' | 'leftOut'>

/** Divides a copy into regions of whole objects of the target. */
export async function planCopies(
  operation: CopyOperation,
  taskBytes: number,
  pins: Pins,
  options: OpenRecipeOptions,
): Promise<Facts> {
  const { source, leftOut, close } = await openCopySource(operation, pins, options)
  try {
    await using parts = await openTarget(operation, operation.target, source)
    const plans = divided(parts, taskBytes)
    const arrays: (readonly [string, PlannedCopy])[] = []
    for (const { name, array } of parts.arrays) {
      const plan = plans.get(name)!
      const facts = await sourceFacts(array)
      const planned = { ...facts, regions: rechunkDocument(plan), traffic: parts.traffic(name, plan), depth: parts.depth(name) }
      arrays.push([name, planned])
    }
    return { arrays: Object.fromEntries(arrays), metadata: await parts.metadataHash(), leftOut }
  } finally {
    await close()
  }
}

/** Opens the target of a copy, in the format that its name implies. */
export const openTarget = (
  operation: CopyOperation,
  location: Location,
  source: ZarrExport,
  id?: string,
  scratch?: Scratch,
): Promise<CopyTarget> => openTargetOf(formatOfCopy(operation), location, source, operation.options ?? {}, id, scratch)

/**
 * Plans all arrays. Enlarges the regions until the target allows their number.
 * @throws TooLargeError if even one region for each array would be too many
 */
function divided(parts: CopyTarget, taskBytes: number): ReadonlyMap<string, RechunkPlan> {
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

export const COPY_PLAN_CHECKS: Checks<Facts> = { arrays: 'plain object', metadata: 'string', leftOut: 'list of strings' }

const TRAFFIC_CHECKS: Checks<RechunkTraffic> = { requests: 'integer from 0', bytes: 'integer from 0' }

/** @throws InvalidArgumentError and FormatError for an invalid plan */
export function checkCopyPlan({ arrays }: CopyPlan): void {
  for (const [name, { regions, traffic, depth, ...source }] of Object.entries(arrays)) {
    const where = `a plan: arrays: '${name}'`
    checkParts(where, source, SOURCE_CHECKS)
    checkValue(where, 'depth', depth, 'integer from 0 to 31')
    checkParts(`${where}: traffic`, traffic, TRAFFIC_CHECKS)
    checkValue(where, 'regions', regions, 'plain object')
    try {
      const { write, first } = parseRechunk(regions)
      const grids = [write, ...(first === undefined ? [] : [first.read, first.chunks])]
      if (grids.every(({ shape }) => sameShape(shape, source.shape))) continue
    } catch (cause) {
      throw new HyperslabError('FormatError', `${where} has no regions that it could be copied by`, { cause })
    }
    throw new HyperslabError('FormatError', `${where} has regions of another shape`, { expected: source.shape })
  }
}

/**
 * Tasks of a copy in their order: first all tasks that read the source, then the second passes of these, then
 * the levels of a pyramid, each from the level before.
 */
export class CopyTasks {
  readonly #phases: readonly (readonly (Omit<CopyTask, 'number' | 'index'> & { readonly count: number })[])[]

  constructor({ arrays }: CopyPlan) {
    const copies = Object.entries(arrays).map(([name, { regions, depth }]) => ({ name, regions: parseRechunk(regions), depth }))
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
