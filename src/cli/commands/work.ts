import { availableParallelism } from 'node:os'
import { type Command, InvalidArgumentError } from 'commander'
import { createPool } from '../../runtime/index.ts'
import { interruptible, oneLine } from '../show/failure.ts'
import { count, printError, printResult } from '../show/text.ts'
import { integerBetween } from './options.ts'
import { loadCluster, parseQueue, prefixOption, type QueueUrlOptions, queueOption } from './queue.ts'

interface Options extends QueueUrlOptions {
  readonly concurrency?: number
  readonly untilIdle?: boolean
  readonly allow?: readonly string[]
  readonly lock: number
  readonly check: number
  readonly grace: number
  readonly maxLost: number
}

export function addWork(program: Command): void {
  program
    .command('work')
    .description('run tasks of the jobs in a queue; start it on any number of machines')
    .addOption(queueOption())
    .addOption(prefixOption())
    .option('--concurrency <number>', 'tasks at once (default: one for each core)', integerBetween(1, 1024))
    .option('--until-idle', 'end when no task is left')
    .option(
      '--allow <places...>',
      'refuse jobs that touch anything else than these: folders or files, e.g. s3://bucket/',
      parseAllowed,
    )
    .option(
      '--lock <seconds>',
      'after how long a silence of this worker others take over its tasks',
      integerBetween(1, 86_400),
      30,
    )
    .option('--check <seconds>', 'interval of checks for tasks of silent workers', integerBetween(1, 86_400), 10)
    .option(
      '--grace <seconds>',
      'how long tasks may take to finish when it is ended; others are given back',
      integerBetween(0, 86_400),
      10,
    )
    .option('--max-lost <number>', 'number of workers that one task may end before its job fails', integerBetween(1, 1000), 5)
    .addHelpText(
      'after',
      `
Example: on each machine
  $ HYPERSLAB_QUEUE=redis://host hyperslab work --allow s3://bucket/

SIGTERM and Ctrl-C end it: tasks finish or go back to the queue. Credentials for what jobs read are those of its environment.`,
    )
    .action(runTasks)
}

async function runTasks({
  concurrency = availableParallelism(),
  untilIdle = false,
  allow,
  lock,
  check,
  grace,
  maxLost,
  ...queue
}: Options): Promise<void> {
  const { work } = await loadCluster()
  await using pool = createPool()
  const report = await interruptible((signal) =>
    work({
      ...parseQueue(queue),
      ...(allow && { allow }),
      pool,
      concurrency,
      untilIdle,
      signal,
      lockSeconds: lock,
      checkSeconds: check,
      graceSeconds: grace,
      maxLost,
      onWarning: (text) => printError(`warning: ${oneLine(text)}`),
    }),
  )
  await printResult(report, [
    `${count(report.tasks, 'task')} and ${count(report.merges, 'merge')} done, ${report.retries} tried again`,
  ])
}

/** Whether a place is a path that is relative to the working folder. */
const isPlainPath = (place: string): boolean => !/^([a-z][\w+.-]+:\/\/|(file|https?|s3):|[a-z]:[\\/]|[\\/])/i.test(place)

function parseAllowed(place: string, before: readonly string[] = []): string[] {
  if (place === '') throw new InvalidArgumentError('It is empty.')
  return [...before, isPlainPath(place) ? `${process.cwd()}/${place.replace(/^(\.\/)+/, '')}` : place]
}
