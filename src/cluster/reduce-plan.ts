import { FAN_IN } from '../aggregate/merge-tree.ts'
import { divideBy } from '../array/reductions/reductions.ts'
import { bytesOf } from '../array/source.ts'
import { HyperslabError } from '../core/errors.ts'
import type { Checks } from '../core/options.ts'
import { sizeOf } from '../core/shape.ts'
import type { ReduceOperation } from './job-operation.ts'
import { type OpenRecipeOptions, RecipeOpener } from './open-recipe.ts'
import type { Pins } from './pins.ts'
import { type AnyPlan, checkParts, type PlannedSource, SOURCE_CHECKS, sourceFacts } from './plan-parts.ts'

/** Plan of a reduction: its `operation`, the `array`, and the `units` that it is divided into. */
export interface ReducePlan extends AnyPlan {
  readonly operation: ReduceOperation
  readonly array: PlannedSource
  readonly units: { readonly bytes: number; readonly count: number }
  /** Tasks are the nodes of this level in the tree of units. Each has 16 to the power of `level` units. */
  readonly tasks: { readonly level: number; readonly count: number }
}

type Facts = Pick<ReducePlan, 'array' | 'units' | 'tasks'>

/** Divides a reduction into units, and these into tasks. */
export async function planReduce(
  operation: ReduceOperation,
  { unitBytes, taskBytes }: { readonly unitBytes: number; readonly taskBytes: number },
  pins: Pins,
  options: OpenRecipeOptions,
): Promise<Facts> {
  const { method, source, args } = operation
  await using opener = new RecipeOpener(pins, options)
  const array = await opener.open(source)
  const { units } = divideBy(method, array.source, operation.options, args, unitBytes)
  const largest = bytesOf(array.dtype) * sizeOf(units.chunkShape.map((length, axis) => Math.min(length, units.shape[axis]!)))
  let level = 0
  while (largest * FAN_IN ** (level + 1) <= taskBytes && FAN_IN ** level < units.count) level++
  return {
    array: await sourceFacts(array),
    units: { bytes: unitBytes, count: units.count },
    tasks: { level, count: taskCount(units.count, level) },
  }
}

/** An empty array has one task, which yields the identity. */
const taskCount = (units: number, level: number): number => Math.max(1, Math.ceil(units / FAN_IN ** level))

const UNITS_CHECKS: Checks<ReducePlan['units']> = { bytes: 'number from 1', count: 'integer from 0' }
const TASKS_CHECKS: Checks<ReducePlan['tasks']> = { level: 'integer from 0', count: 'integer from 1' }

export const REDUCE_PLAN_CHECKS: Checks<Facts> = { array: 'plain object', units: 'plain object', tasks: 'plain object' }

/** @throws InvalidArgumentError and FormatError for an invalid plan */
export function checkReducePlan({ array, units, tasks }: ReducePlan): void {
  checkParts('a plan: array', array, SOURCE_CHECKS)
  checkParts('a plan: units', units, UNITS_CHECKS)
  checkParts('a plan: tasks', tasks, TASKS_CHECKS)
  const expected = taskCount(units.count, tasks.level)
  if (tasks.count === expected) return
  const text = `the plan has ${tasks.count} tasks of level ${tasks.level} for ${units.count} units, which make ${expected}`
  throw new HyperslabError('FormatError', text, { actual: tasks.count, expected })
}

/** Returns the range of units of a task. */
export function unitsOfTask({ units, tasks }: ReducePlan, index: number): readonly [from: number, to: number] {
  const size = FAN_IN ** tasks.level
  return [index * size, Math.min((index + 1) * size, units.count)]
}
