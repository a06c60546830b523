import { openFormatTarget } from '../copy/copy.ts'
import type { Scratch } from '../copy/scratch.ts'
import type { ZarrExport } from '../copy/stored-arrays.ts'
import type { SharedTarget } from '../copy/target.ts'
import { CopyTasks, planRegions } from '../copy/tasks.ts'
import { HyperslabError } from '../core/errors.ts'
import { type Checks, checkValue } from '../core/options.ts'
import { sameShape } from '../core/shape.ts'
import { parseRechunk, type RechunkDocument, type RechunkTraffic, rechunkDocument } from '../grid/rechunk-plan.ts'
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
    const plans = planRegions(parts, taskBytes)
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
): Promise<SharedTarget> => openFormatTarget(formatOfCopy(operation), location, source, operation.options ?? {}, id, scratch)

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

/** Returns the tasks of a plan. */
export const tasksOfCopy = ({ arrays }: Pick<CopyPlan, 'arrays'>): CopyTasks =>
  CopyTasks.inPhases(
    Object.entries(arrays).map(([name, { regions, depth }]) => ({ name, regions: parseRechunk(regions), depth })),
  )
