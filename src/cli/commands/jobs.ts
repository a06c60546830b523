import { Argument, type Command } from 'commander'
import type { JobQueue, JobStatus } from '../../runtime/cluster.ts'
import { HyperslabError } from '../../runtime/index.ts'
import { oneLine, UsageError } from '../show/failure.ts'
import { jsonText, print, printResult, table } from '../show/text.ts'
import { loadCluster, parseQueue, prefixOption, type QueueUrlOptions, queueOption } from './queue.ts'

const ACTIONS = ['list', 'show', 'cancel', 'retry', 'metrics'] as const
type Action = (typeof ACTIONS)[number]

interface Options extends QueueUrlOptions {
  readonly json?: boolean
}

/** Number of digits of an id in tables. */
const SHORT = 12

export function addJobs(program: Command): void {
  program
    .command('jobs')
    .description('list the jobs of a queue, show or cancel one, or resume one that failed')
    .addArgument(new Argument('[action]', 'what to do; metrics are for Prometheus').choices(ACTIONS).default('list'))
    .argument('[id]', 'id of the job, or a unique prefix of it')
    .addOption(queueOption())
    .addOption(prefixOption())
    .addHelpText('after', '\nExample:\n  $ hyperslab jobs cancel 3fa9 --queue redis://host')
    .action(async (action: Action, id: string | undefined, { json = false, ...queue }: Options) => {
      const takesId = action !== 'list' && action !== 'metrics'
      if (takesId !== (id !== undefined)) throw new UsageError(`jobs ${action} takes ${takesId ? 'the id of a job' : 'no id'}`)
      if (action === 'metrics' && json)
        throw new UsageError('metrics are text for Prometheus: --json is for list, show, cancel and retry')
      const { openJobQueue } = await loadCluster()
      await using jobs = await openJobQueue(parseQueue(queue))
      if (action === 'metrics') return await print([`${await jobs.metrics()}\n`])
      const found = await jobs.list()
      if (action === 'list') return await printResult(found.map(plain), listLines(found))
      const { id: whole } = findJob(found, id!)
      if (action === 'show') return await show(jobs, whole)
      const isDone = await jobs[action](whole)
      await printResult({ id: whole, action, done: isDone }, [outcome(action, whole, isDone)])
    })
}

const outcome = (action: 'cancel' | 'retry', id: string, isDone: boolean): string =>
  action === 'cancel'
    ? `${short(id)} ${isDone ? 'is being cancelled' : 'is over already'}`
    : `${short(id)} ${isDone ? 'goes on' : 'has not failed'}`

const short = (id: string): string => id.slice(0, SHORT)

/**
 * Finds a job by the beginning of its id.
 * @throws NotFoundError; UsageError for digits that several ids share
 */
function findJob(jobs: readonly JobStatus[], id: string): JobStatus {
  const alike = jobs.filter((job) => job.id.startsWith(id))
  if (alike.length > 1) throw new UsageError(`'${id}' is the beginning of ${alike.length} jobs: give more of its digits`)
  if (alike[0] === undefined) throw new HyperslabError('NotFoundError', `the queue has no job ${id}`, { actual: id })
  return alike[0]
}

async function show(jobs: JobQueue, id: string): Promise<void> {
  const { plan, ...status } = await jobs.show(id)
  await printResult({ ...plain(status), plan }, [...listLines([status]), ...jsonText(plan).trimEnd().split('\n')])
}

const plain = ({ failure, ...status }: JobStatus): object => ({ ...status, ...(failure && { failure: failure.message }) })

function listLines(jobs: readonly JobStatus[]): string[] {
  if (jobs.length === 0) return ['no jobs']
  const columns = [
    { title: 'job' },
    { title: 'state' },
    { title: 'tasks', align: 'right' as const },
    { title: 'added' },
    { title: 'failure' },
  ]
  const rows = jobs.map(({ id, state, done, total, added, failure }) => [
    short(id),
    state,
    `${done}/${total}`,
    added.toISOString().slice(0, 19),
    failure === undefined ? '' : oneLine(failure.message),
  ])
  return table(columns, rows, '')
}
