import { type Command, Option } from 'commander'
import type { ArrayRecipe, AxisRecipe, CopyPlan, CopySettings, CopySource, JobPlan, ReducePlan } from '../../runtime/cluster.ts'
import { formatToWrite, type MethodCall, type Perform, type SelectedPart, type TreeArray } from '../../runtime/tree.ts'
import { interruptible, oneLine, UsageError } from '../show/failure.ts'
import { jobProgress, PROGRESS, type ProgressKind } from '../show/progress.ts'
import { count, printError, printResult, showBytes } from '../show/text.ts'
import { bytesBetween, notFoundAt, numberFrom, type PlaceOptions, type WritingOptions } from './options.ts'

/** Options of commands that use a queue. */
export interface QueueUrlOptions {
  /** URL of the queue; true for that of the environment. */
  readonly queue?: string | true
  readonly prefix?: string
}

/** Loads the modules of queues, which other commands do not need. */
export const loadCluster = () => import('../../runtime/cluster.ts')

const VARIABLE = 'HYPERSLAB_QUEUE'

export const queueOption = () =>
  new Option(
    '--queue [url]',
    `the server of the queue: redis://host, rediss://host or postgres://host/database (default: ${VARIABLE} of the environment)`,
  )

export const prefixOption = () =>
  new Option(
    '--prefix <name>',
    'what keys of the queue begin with in Redis, and the name of its schema in PostgreSQL (default: hyperslab)',
  )

/**
 * Returns the queue of the options or the environment.
 * @throws UsageError without a URL
 */
export function parseQueue({ queue, prefix }: QueueUrlOptions): { readonly url: string; readonly prefix?: string } {
  const url = typeof queue === 'string' ? queue : process.env[VARIABLE]
  if (url === undefined || url === '')
    throw new UsageError(`which queue? Give --queue redis://host, or set ${VARIABLE} in the environment`)
  return { url, ...(prefix !== undefined && { prefix }) }
}

/** Options of commands that can use a queue. */
export interface QueuedOptions extends QueueUrlOptions {
  readonly taskBytes?: number
  readonly scratch?: string
  readonly dryRun?: boolean
  readonly progress: ProgressKind
  readonly requestPrice?: number
  readonly gbPrice?: number
}

/** Options of jobs in a queue, of which the help of a command only names the page. */
const jobOptions = (): readonly Option[] => [
  prefixOption(),
  new Option('--task-bytes <bytes>', 'with --queue: approximate bytes that a task reads (default: 256MiB)').argParser(
    bytesBetween(1, 2 ** 40),
  ),
  new Option(
    '--scratch <folder>',
    'with --queue: where workers put partial results that are too large for the queue, e.g. s3://bucket/scratch (default: OUTPUT.parts for a container)',
  ),
  new Option('--dry-run', 'only print the tasks that the queue would get'),
  new Option('--request-price <price>', 'with --dry-run: price of 1000 requests, in any currency').argParser(numberFrom(0)),
  new Option('--gb-price <price>', 'with --dry-run: price of a gigabyte read or written').argParser(numberFrom(0)),
  new Option('--progress <kind>', 'with --queue: progress to show on stderr').choices(PROGRESS).default('bar'),
]

export function addQueuedOptions(command: Command): Command {
  command.addOption(
    new Option(
      '--queue [url]',
      `have workers of a queue do it: redis://, rediss:// or postgres:// (default: ${VARIABLE} of the environment); ${JOB_HELP}`,
    ),
  )
  for (const option of jobOptions()) command.addOption(option.hideHelp())
  return command
}

const JOB_HELP = 'its other options are in docs/many-machines.md, and in man hyperslab'

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
function priceLines(requests: number, bytes: number, { requestPrice, gbPrice }: QueuedOptions): string[] {
  if (requestPrice === undefined && gbPrice === undefined) return []
  const price = (requests / 1000) * (requestPrice ?? 0) + (bytes / 1e9) * (gbPrice ?? 0)
  return [`at most ${price.toFixed(2)} for requests and bytes, as if nothing were compressed`]
}

/** Runs a job through a queue, and shows its progress. */
async function runByQueue(plan: JobPlan, options: QueuedOptions, signal: AbortSignal): Promise<unknown> {
  const { bullmq } = await loadCluster()
  const { onStatus, onProgress, end } = jobProgress(options.progress)
  const running = bullmq({ ...parseQueue(options), onStatus }).run(plan, { signal, onProgress })
  return running.finally(end).catch((error: unknown) => {
    if (signal.aborted)
      printError(`job ${plan.id.slice(0, 12)} goes on; the same command joins it again, hyperslab jobs cancel ends it`)
    throw error
  })
}

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
  const toContainer = formatToWrite(target)?.writing.isFile === true
  const others = toContainer ? { shards, levels } : { scratch, immutable }
  for (const [option, value] of Object.entries(others))
    if (value !== undefined)
      throw new UsageError(
        `--${option} is for ${toContainer ? 'Zarr' : 'containers and reductions'}, and ${target} is another format`,
      )
  if (!dryRun) parseQueue(options)
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
    if (dryRun) return printResult(await copyEstimate(plan), await copyLines(plan, options))
    await runByQueue(plan, options, signal)
    const arrays = Object.keys(plan.arrays)
    await printResult({ output: target, job: plan.id, arrays }, [`${target}: ${count(arrays.length, 'array')}`])
  })
}

/** Returns what a copy would take, for programs. */
async function copyEstimate(plan: CopyPlan): Promise<object> {
  const { estimateJob } = await loadCluster()
  const { arrays, ...estimate } = estimateJob(plan)
  const planned = Object.entries(plan.arrays).map(
    ([name, { dtype, shape }]) => [name, { dtype, shape, ...arrays[name] }] as const,
  )
  return { job: plan.id, output: plan.operation.target, arrays: Object.fromEntries(planned), ...estimate }
}

async function copyLines(plan: CopyPlan, options: QueuedOptions): Promise<string[]> {
  const { estimateJob } = await loadCluster()
  const copies = Object.entries(plan.arrays)
  const { arrays, memory, requests, bytes } = estimateJob(plan)
  const lines = copies.map(([name, { dtype, shape }]) => {
    const { tasks, firstTasks } = arrays[name]!
    const passes = firstTasks === undefined ? '' : `, after ${count(firstTasks, 'task')} into an intermediate array`
    return `${name === '' ? '' : `${name}: `}${dtype} [${shape.join(', ')}], ${count(tasks, 'task')}${passes}`
  })
  const elements = copies.reduce((sum, [, each]) => sum + each.bytes, 0)
  return [
    `job ${plan.id.slice(0, 12)}: ${count(copies.length, 'array')} to ${plan.operation.target}, ${showBytes(elements)} of elements in all`,
    ...lines,
    `at most ${count(requests, 'request')} for chunks and objects, of ${showBytes(bytes)} of elements`,
    `about ${showBytes(memory)} of memory a task`,
    ...priceLines(requests, bytes, options),
  ]
}

/** A reduction to run through a queue. */
export interface Queued {
  readonly location: string
  readonly placed: TreeArray
  readonly part: SelectedPart
  readonly options: QueuedOptions & PlaceOptions & { readonly raw?: boolean }
}

/**
 * Returns a function that runs reductions of an array through a queue.
 * @throws UsageError for options and selections that workers cannot receive
 */
export function performByQueue(queued: Queued): Perform {
  const { options } = queued
  parseQueue(options)
  const planned = planning(queued)
  return (call) => interruptible(async (signal) => runByQueue(await planned(call, signal), options, signal))
}

/**
 * Prints the tasks that the workers of a queue would do.
 * @throws UsageError for options and selections that workers cannot receive
 */
export async function printDryRun(queued: Queued, call: MethodCall, kind?: string): Promise<void> {
  const plan = await interruptible((signal) => planning(queued)(call, signal))
  const again = kind === 'histogram' && call.method === 'extrema'
  const after = again ? ['this finds the range of the bins; a second job, of as many tasks, counts what is in them'] : []
  const { estimateJob } = await loadCluster()
  const { id, array, tasks } = plan
  const estimate = { job: id, dtype: array.dtype, shape: array.shape, tasks: tasks.count, ...estimateJob(plan) }
  await printResult(estimate, [...(await reductionLines(plan, queued.options)), ...after])
}

function planning({ location, placed, part, options }: Queued): (call: MethodCall, signal: AbortSignal) => Promise<ReducePlan> {
  const { taskBytes, scratch } = options
  const source = createRecipe(location, placed, part, options)
  return async ({ method, args, options: how }, signal) => {
    const { planJob } = await loadCluster()
    const settings = { signal, ...(taskBytes !== undefined && { taskBytes }), ...(scratch !== undefined && { scratch }) }
    return planJob({ method, source, ...(args.length > 0 && { args }), options: how }, settings)
  }
}

/** @throws UsageError for options that only work on this machine */
function createRecipe(
  location: string,
  { name, path, array }: TreeArray,
  { dims, taken }: SelectedPart,
  { raw = false, layer, names, external, ...options }: PlaceOptions & { readonly raw?: boolean },
): ArrayRecipe {
  refuseOwn({ layer, names, external })
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
  // An array that is opened by itself has a name, and no path.
  const own = path || name
  const slash = own.lastIndexOf('/')
  if (raw) return { location, ...at, ...(path !== '' && { array: path }), views }
  const folder = own.slice(0, Math.max(0, slash))
  if (array.rank !== dims.length) throw new UsageError(`${name} has other axes than its dimensions`)
  return { dataset: location, ...at, variable: own.slice(slash + 1), ...(folder !== '' && { group: folder }), views }
}

/** Describes a job. A chunk takes at most one request, and only its decoded size is known. */
async function reductionLines(plan: ReducePlan, options: QueuedOptions): Promise<string[]> {
  const { estimateJob } = await loadCluster()
  const { id, array, tasks } = plan
  const { memory, requests, bytes } = estimateJob(plan)
  const perTask = Math.ceil(array.bytes / Math.max(1, tasks.count))
  return [
    `job ${id.slice(0, 12)}: ${array.dtype} [${array.shape.join(', ')}]`,
    `${count(tasks.count, 'task')} of about ${showBytes(perTask)}, ${showBytes(array.bytes)} of elements in all`,
    `at most ${count(requests, 'request')} for chunks`,
    `about ${showBytes(memory)} of memory a task`,
    ...priceLines(requests, bytes, options),
  ]
}
