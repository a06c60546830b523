import { FAN_IN } from '../aggregate/merge-tree.ts'
import { unitsUnderWay } from '../array/reductions/reduce.ts'
import type { ArrayRecipe, AxisRecipe, ReducePlan } from '../runtime/cluster.ts'
import { interruptible, UsageError } from './failure.ts'
import type { SelectedPart } from './labelled.ts'
import { notFoundAt, type PlaceOptions } from './options.ts'
import { count, printLines, showBytes } from './output.ts'
import type { PlacedArray } from './place.ts'
import { loadCluster, queueOf } from './queue.ts'
import { priceLines, type QueuedOptions, refuseOwn, runByQueue } from './queued-job.ts'
import type { MethodCall, Op, Perform } from './reductions.ts'

/** A reduction to run through a queue. */
export interface Queued {
  readonly location: string
  readonly placed: PlacedArray
  readonly part: SelectedPart
  readonly options: QueuedOptions & PlaceOptions & { readonly raw?: boolean }
}

/**
 * Returns a function that runs reductions of an array through a queue.
 * @throws UsageError for options and selections that workers cannot receive
 */
export function performByQueue(queued: Queued): Perform {
  const { options } = queued
  queueOf(options)
  const planned = planning(queued)
  return (call) => interruptible(async (signal) => runByQueue(await planned(call, signal), options, signal))
}

/**
 * Prints the tasks that the workers of a queue would do.
 * @throws UsageError for options and selections that workers cannot receive
 */
export async function printDryRun(queued: Queued, call: MethodCall, op?: Op): Promise<void> {
  const plan = await interruptible((signal) => planning(queued)(call, signal))
  const again = op === 'histogram' && call.method === 'extrema'
  const after = again ? ['this finds the range of the bins; a second job, of as many tasks, counts what is in them'] : []
  await printLines([...dryRunLines(plan, queued.options), ...after])
}

function planning({ location, placed, part, options }: Queued): (call: MethodCall, signal: AbortSignal) => Promise<ReducePlan> {
  const { taskBytes, scratch } = options
  const source = recipeOf(location, placed, part, options)
  return async ({ method, args, options: how }, signal) => {
    const { planJob } = await loadCluster()
    const settings = { signal, ...(taskBytes !== undefined && { taskBytes }), ...(scratch !== undefined && { scratch }) }
    return planJob({ method, source, ...(args.length > 0 && { args }), options: how }, settings)
  }
}

/** @throws UsageError for options that only work on this machine */
function recipeOf(
  location: string,
  { name, array }: PlacedArray,
  { dims, taken }: SelectedPart,
  { raw = false, layer, names, group, ...options }: PlaceOptions & { readonly raw?: boolean },
): ArrayRecipe {
  refuseOwn({ layer, names })
  const at = notFoundAt(location, options)
  const select = dims.map((dim): AxisRecipe => {
    const each = taken.get(dim)
    if (each === undefined) return null
    if ('position' in each) return each.position
    const [one, more] = each.parts
    if (more !== undefined) throw new UsageError(`what --sel takes of ${dim} is in several parts: workers of a queue take one`)
    const { positions } = one!
    if (positions instanceof Float64Array) return [...positions]
    const { start, step, length } = positions
    const stop = start + length * step
    return { start, stop: stop < 0 ? null : stop, step }
  })
  const views = select.some((axis) => axis !== null) ? [{ select }] : []
  const slash = name.lastIndexOf('/')
  if (raw || name === '')
    return { location, ...at, ...(name !== '' && { array: group === undefined ? name : `${group}/${name}` }), views }
  const folder = [group, slash < 0 ? undefined : name.slice(0, slash)].filter(Boolean).join('/')
  if (array.rank !== dims.length) throw new UsageError(`${name} has other axes than its dimensions`)
  return { dataset: location, ...at, variable: name.slice(slash + 1), ...(folder !== '' && { group: folder }), views }
}

/** Describes a job. A chunk takes at most one request, and only its decoded size is known. */
function dryRunLines({ id, array, tasks, units }: ReducePlan, options: QueuedOptions): string[] {
  const unitBytes = Math.ceil(array.bytes / Math.max(1, units.count))
  const unitsHeld = Math.min(FAN_IN ** tasks.level, unitsUnderWay(unitBytes))
  const perTask = Math.ceil(array.bytes / Math.max(1, tasks.count))
  return [
    `job ${id.slice(0, 12)}: ${array.dtype} [${array.shape.join(', ')}]`,
    `${count(tasks.count, 'task')} of about ${showBytes(perTask)}, ${showBytes(array.bytes)} of elements in all`,
    `at most ${count(array.chunks, 'request')} for chunks`,
    `about ${showBytes(unitBytes * unitsHeld)} of memory a task`,
    ...priceLines(array.chunks, array.bytes, options),
  ]
}
