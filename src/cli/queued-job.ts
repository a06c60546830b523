import { type Command, Option } from 'commander'
import type { JobPlan } from '../runtime/cluster.ts'
import { UsageError } from './failure.ts'
import { jobProgress, PROGRESS, type ProgressKind } from './job-progress.ts'
import { bytesBetween, numberFrom } from './options.ts'
import { printError } from './output.ts'
import { loadCluster, prefixOption, type QueueUrlOptions, queueOf, queueOption } from './queue.ts'

/** Options of commands that can use a queue. */
export interface QueuedOptions extends QueueUrlOptions {
  readonly taskBytes?: number
  readonly scratch?: string
  readonly dryRun?: boolean
  readonly progress: ProgressKind
  readonly requestPrice?: number
  readonly gbPrice?: number
}

export const addQueuedOptions = (command: Command): Command =>
  command
    .addOption(queueOption())
    .addOption(prefixOption())
    .option(
      '--task-bytes <bytes>',
      'with --queue: approximate bytes that a task reads (default: 256MiB)',
      bytesBetween(1, 2 ** 40),
    )
    .option(
      '--scratch <folder>',
      'with --queue: where workers put partial results that are too large for the queue, e.g. s3://bucket/scratch (default: OUTPUT.parts for a container)',
    )
    .option('--dry-run', 'only print the tasks that the queue would get')
    .option('--request-price <price>', 'with --dry-run: price of 1000 requests, in any currency', numberFrom(0))
    .option('--gb-price <price>', 'with --dry-run: price of a gigabyte read or written', numberFrom(0))
    .addOption(new Option('--progress <kind>', 'with --queue: progress to show on stderr').choices(PROGRESS).default('bar'))

/**
 * Whether a command uses a queue, or describes such a job.
 * @throws UsageError for options that require a queue
 */
export function isQueued({ queue, dryRun = false, taskBytes, scratch, requestPrice, gbPrice }: QueuedOptions): boolean {
  if (queue !== undefined || dryRun) return true
  const own = { 'task-bytes': taskBytes, scratch, 'request-price': requestPrice, 'gb-price': gbPrice }
  for (const [option, value] of Object.entries(own))
    if (value !== undefined) throw new UsageError(`--${option} is for --queue and --dry-run`)
  return false
}

/** @throws UsageError for options that only work on this machine */
export function refuseOwn(options: Readonly<Record<string, unknown>>): void {
  for (const [option, value] of Object.entries(options))
    if (value !== undefined) throw new UsageError(`--${option} is for this machine alone: workers of a queue do not have it`)
}

/** Returns the line with the largest cost of requests and bytes, if a price is given. */
export function priceLines(requests: number, bytes: number, { requestPrice, gbPrice }: QueuedOptions): string[] {
  if (requestPrice === undefined && gbPrice === undefined) return []
  const price = (requests / 1000) * (requestPrice ?? 0) + (bytes / 1e9) * (gbPrice ?? 0)
  return [`at most ${price.toFixed(2)} for requests and bytes, as if nothing were compressed`]
}

/** Runs a job through a queue, and shows its progress. */
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
