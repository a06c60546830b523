import { type Command, Option } from 'commander'
import type { JobPlan } from '../runtime/cluster.ts'
import { UsageError } from './failure.ts'
import { jobProgress, PROGRESS, type ProgressKind } from './job-progress.ts'
import { integerBetween } from './options.ts'
import { printError } from './output.ts'
import { loadCluster, prefixOption, type QueueUrlOptions, queueOf, queueOption } from './queue.ts'

/** For commands whose work may be done by a queue. */
export interface QueuedOptions extends QueueUrlOptions {
  readonly taskBytes?: number
  readonly dryRun?: boolean
  readonly progress: ProgressKind
}

export const addQueuedOptions = (command: Command): Command =>
  command
    .addOption(queueOption())
    .addOption(prefixOption())
    .option('--task-bytes <bytes>', 'with --queue: about how much a task reads (default: 256 MiB)', integerBetween(1, 2 ** 40))
    .option('--dry-run', 'print the tasks that a queue would have, and do nothing')
    .addOption(
      new Option('--progress <kind>', 'with --queue: what to show meanwhile, on stderr').choices(PROGRESS).default('bar'),
    )

export const isQueued = ({ queue, dryRun = false }: QueuedOptions): boolean => queue !== undefined || dryRun

/** @throws UsageError for options that only this machine can follow */
export function refuseOwn(options: Readonly<Record<string, unknown>>): void {
  for (const [option, value] of Object.entries(options))
    if (value !== undefined) throw new UsageError(`--${option} is for this machine alone: workers of a queue do not have it`)
}

/** Has a job done by the workers of a queue, and shows how far they are. */
export async function runByQueue(plan: JobPlan, options: QueuedOptions, signal: AbortSignal): Promise<unknown> {
  const { bullmq } = await loadCluster()
  const { onStatus, onProgress, end } = jobProgress(options.progress)
  const running = bullmq({ ...queueOf(options), onStatus }).run(plan, { signal, onProgress })
  return running.finally(end).catch((error: unknown) => {
    if (signal.aborted)
      printError(`job ${plan.id.slice(0, 12)} goes on; the same command joins it again, hyperslab jobs cancel ends it`)
    throw error
  })
}
