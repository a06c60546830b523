import { FAN_IN } from '../aggregate/merge-tree.ts'
import { unitsUnderWay } from '../array/reductions/reduce.ts'
import { sizeOf } from '../core/shape.ts'
import { parseRechunk } from '../grid/rechunk-plan.ts'
import { formatOfName } from '../tree/formats.ts'
import type { CopyPlan } from './copy-plan.ts'
import type { JobPlan } from './job-plan.ts'
import type { ReducePlan } from './reduce-plan.ts'

/** Costs of a job, known before it runs. Sizes are those of decoded elements. */
export interface JobEstimate {
  /** Largest number of requests for chunks, and for written objects. */
  readonly requests: number
  /** Bytes of elements that are read and written. */
  readonly bytes: number
  /** Approximate bytes of memory of a task. */
  readonly memory: number
  /** Tasks of each copied array by its path; empty for reductions. */
  readonly arrays: Readonly<Record<string, CopiedArrayEstimate>>
}

/** Tasks that copy an array. */
export interface CopiedArrayEstimate {
  /** Number of tasks that write the target. */
  readonly tasks: number
  /** Number of tasks that write an intermediate array before. */
  readonly firstTasks?: number
}

/**
 * Estimates the costs of a job from its plan.
 * @example
 * const plan = await planJob({ method: 'mean', source: { location: 'climate.af', array: 'tas' } })
 * console.log(estimateJob(plan).bytes) // 1536
 */
export const estimateJob = (plan: JobPlan): JobEstimate => ('arrays' in plan ? estimateCopy(plan) : estimateReduction(plan))

function estimateReduction({ array, tasks, units }: ReducePlan): JobEstimate {
  const unitBytes = Math.ceil(array.bytes / Math.max(1, units.count))
  const unitsHeld = Math.min(FAN_IN ** tasks.level, unitsUnderWay(unitBytes))
  return { requests: array.chunks, bytes: array.bytes, memory: unitBytes * unitsHeld, arrays: {} }
}

function estimateCopy({ arrays, operation }: CopyPlan): JobEstimate {
  // Packed data are held as well, and copied once if they cannot be compressed.
  const held = formatOfName(operation.target)?.isNamed ? 3 : 1
  let [memory, requests, bytes] = [0, 0, 0]
  const tasks = Object.entries(arrays).map(([name, each]): [string, CopiedArrayEstimate] => {
    const { write, first } = parseRechunk(each.regions)
    const elementBytes = each.bytes / Math.max(1, sizeOf(each.shape))
    for (const grid of first === undefined ? [write] : [write, first.read]) {
      const longest = grid.axes.map(({ chunkLength, length }) => Math.min(chunkLength, length))
      memory = Math.max(memory, held * elementBytes * sizeOf(longest))
    }
    requests += each.traffic.requests
    bytes += each.traffic.bytes
    return [name, { tasks: write.count, ...(first && { firstTasks: first.read.count }) }]
  })
  return { requests, bytes, memory, arrays: Object.fromEntries(tasks) }
}
