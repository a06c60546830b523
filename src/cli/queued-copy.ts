import { sizeOf } from '../core/shape.ts'
import { parseRechunk } from '../grid/rechunk-plan.ts'
import type { CopyPlan, CopySettings, CopySource } from '../runtime/cluster.ts'
import { isContainerName } from '../tree/formats.ts'
import { interruptible, oneLine, UsageError } from './failure.ts'
import type { WritingOptions } from './options.ts'
import { count, printError, printLines, showBytes } from './output.ts'
import { loadCluster, queueOf } from './queue.ts'
import { priceLines, type QueuedOptions, refuseOwn, runByQueue } from './queued-job.ts'

/** Options that only apply to containers. */
interface ContainerOptions {
  readonly blockBytes?: number
  readonly chunkBytes?: number
  readonly names?: readonly string[]
}

/** Copies arrays to Zarr or into a container through a queue. A dry run only prints the tasks. */
export async function copyByQueue(
  source: CopySource,
  target: string,
  options: WritingOptions & QueuedOptions & ContainerOptions & { readonly levels?: number },
): Promise<void> {
  const { chunks, shards, codec, level, levels, memory, overwrite, immutable, taskBytes, scratch, dryRun = false } = options
  const { blockBytes, chunkBytes, names } = options
  refuseOwn({ memory, overwrite, names, 'chunk-bytes': chunkBytes })
  const toContainer = isContainerName(target)
  const others = toContainer ? { shards, levels } : { scratch, immutable }
  for (const [option, value] of Object.entries(others))
    if (value !== undefined)
      throw new UsageError(
        `--${option} is for ${toContainer ? 'Zarr' : 'containers and reductions'}, and ${target} is another format`,
      )
  if (!dryRun) queueOf(options)
  const given: CopySettings = { ...(chunks && { chunks }), ...(shards && { shards }), ...(codec && { codec }) }
  const settings: CopySettings = {
    ...given,
    ...(blockBytes && { blockBytes }),
    ...(immutable && { immutable }),
    ...(level !== undefined && { level }),
    ...(levels !== undefined && { levels }),
  }
  await interruptible(async (signal) => {
    const { planJob } = await loadCluster()
    const operation = { method: 'copy', source, target, options: settings } as const
    const plan = await planJob(operation, {
      signal,
      ...(taskBytes !== undefined && { taskBytes }),
      ...(scratch !== undefined && { scratch }),
    })
    for (const each of plan.leftOut) printError(`warning: ${oneLine(each)}`)
    if (dryRun) return printLines(dryRunLines(plan, options))
    await runByQueue(plan, options, signal)
    await printLines([`${target}: ${count(Object.keys(plan.arrays).length, 'array')}`])
  })
}

function dryRunLines({ id, arrays, operation }: CopyPlan, options: QueuedOptions): string[] {
  const copies = Object.entries(arrays)
  // The packed data are held as well, and copied once if they cannot be compressed.
  const held = isContainerName(operation.target) ? 3 : 1
  let memory = 0
  const lines = copies.map(([name, { dtype, shape, bytes, regions }]) => {
    const { write, first } = parseRechunk(regions)
    for (const grid of first === undefined ? [write] : [write, first.read]) {
      const longest = grid.axes.map(({ chunkLength, length }) => Math.min(chunkLength, length))
      memory = Math.max(memory, held * (bytes / Math.max(1, sizeOf(shape))) * sizeOf(longest))
    }
    const passes = first === undefined ? '' : `, after ${count(first.read.count, 'task')} into an intermediate array`
    return `${name === '' ? '' : `${name}: `}${dtype} [${shape.join(', ')}], ${count(write.count, 'task')}${passes}`
  })
  const bytes = copies.reduce((sum, [, each]) => sum + each.bytes, 0)
  const requests = copies.reduce((sum, [, { traffic }]) => sum + traffic.requests, 0)
  const moved = copies.reduce((sum, [, { traffic }]) => sum + traffic.bytes, 0)
  return [
    `job ${id.slice(0, 12)}: ${count(copies.length, 'array')} to ${operation.target}, ${showBytes(bytes)} of elements in all`,
    ...lines,
    `at most ${count(requests, 'request')} for chunks and objects, of ${showBytes(moved)} of elements`,
    `about ${showBytes(memory)} of memory a task`,
    ...priceLines(requests, moved, options),
  ]
}
