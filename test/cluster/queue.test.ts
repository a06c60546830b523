import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Engine } from '../../src/cluster/bullmq/engine.ts'
import type { Plans } from '../../src/cluster/bullmq/joined-run.ts'
import type { NodeRunner } from '../../src/cluster/bullmq/nodes.ts'
import type { JobStatus, WorkerSettings } from '../../src/cluster/bullmq/options.ts'
import { cancelRun, listRuns, retryRun, runTree, showRun } from '../../src/cluster/bullmq/runs.ts'
import { workOn } from '../../src/cluster/bullmq/worker.ts'
import { treeOfPhases } from '../../src/cluster/task-tree.ts'
import { HyperslabError, isHyperslabError } from '../../src/core/errors.ts'
import type { Signal } from '../../src/core/signal.ts'
import { haveQueue, type QueueKind, QueueServer } from '../support/queue-server.ts'

/** A plan of so many tasks, each worth its index; merges join what their children are worth, in order. */
interface Toy {
  readonly id: string
  readonly tasks: number
}

const FAN_IN = 4

type Behaviour = (level: number, index: number, signal: Signal) => Promise<unknown>

let plans = 0

function toy(tasks: number): Toy {
  return { id: `plan${++plans}`, tasks }
}

function treeOf({ id, tasks }: Toy) {
  const counts = [tasks]
  while (counts.at(-1)! > 1) counts.push(Math.ceil(counts.at(-1)! / FAN_IN))
  return { id, counts, fanIn: FAN_IN }
}

const runnerOf = (plan: Toy, behave: Behaviour = async () => undefined): NodeRunner => ({
  ...treeOf(plan),
  async runNode(level, index, children, signal) {
    await behave(level, index, signal)
    return level === 0 ? [index] : children.flat()
  },
})

const plansOf = (open: (plan: Toy) => Promise<NodeRunner>): Plans => ({
  open: (content) => open(content as Toy),
  describe: (_, level, index) => ({ text: `node ${index} of level ${level}`, file: 'x.af', array: 'tas' }),
})

const everything = ({ tasks }: Toy): number[] => Array.from({ length: tasks }, (_, i) => i)

/** Postgres takes a minute: .ci/run has it tested beside the other tests. */
const KINDS = process.env['HYPERSLAB_QUEUES']!.split(',') as QueueKind[]

describe.each(KINDS)('a queue on %s', (kind) => {
  const here = haveQueue(kind)
  let server: QueueServer
  beforeAll(async () => {
    if (here) server = await QueueServer.start(kind)
  })
  afterAll(() => server?.stop())

  let prefixes = 0
  const options = (more: object = {}) => ({ url: server.url, prefix: `test_${++prefixes}`, ...more })

  async function engineOf(queue: { url: string; prefix: string }): Promise<Engine> {
    const engine = await Engine.open(queue)
    onTestFinished(() => engine.close())
    return engine
  }

  /** A worker in this process, ended with the test. */
  function start(queue: object, behave?: Behaviour, settings: Partial<WorkerSettings> = {}) {
    const ending = new AbortController()
    const work = workOn(
      plansOf(async (plan) => runnerOf(plan, behave)),
      {
        ...(queue as WorkerSettings),
        lockSeconds: 1,
        checkSeconds: 1,
        graceSeconds: 0,
        signal: ending.signal,
        ...settings,
      },
    )
    onTestFinished(async () => {
      ending.abort()
      await work
    })
    return { work, end: () => ending.abort() }
  }

  /** Expects that the queue contains only the results of runs. */
  async function expectNothingLeft({ tasks, stops }: Engine): Promise<void> {
    const counts = await tasks.getJobCounts('wait', 'active', 'delayed', 'prioritized', 'waiting-children')
    expect(counts).toEqual({ wait: 0, active: 0, delayed: 0, prioritized: 0, 'waiting-children': 0 })
    expect(await stops.getJobCountByTypes('wait', 'active', 'completed', 'failed')).toBe(0)
    for (const job of await tasks.getJobs(['completed', 'failed'])) expect(job.name).toBe('run')
  }

  test.skipIf(!here)('a run that ends while it is asked for has its result or its reason', async () => {
    const queue = options()
    const engine = await engineOf(queue)
    const { tasks } = engine
    const [whole, broken] = [toy(2), toy(5)]
    const done = runTree(engine, treeOf(whole), whole)
    const failed = runTree(engine, treeOf(broken), broken).catch((error: unknown) => error)
    let early = await tasks.getJobs(['wait'])
    for (; early.length < 2; early = await tasks.getJobs(['wait'])) await pause(5)
    // Delays the answer about a run until the run has ended.
    const getJob = tasks.getJob.bind(tasks)
    tasks.getJob = async (id: string) => {
      const job = await getJob(id)
      while (job !== undefined && !/completed|failed/.test(await tasks.getJobState(id))) await pause(5)
      return job
    }
    start(queue, async (_, index) => {
      if (index === 2) throw new HyperslabError('CodecError', 'this one is broken')
    })
    expect(await done).toEqual(everything(whole))
    const failure = { tag: 'CodecError', message: 'this one is broken' }
    expect(await failed).toMatchObject(failure)
    tasks.getJobs = async () => early
    const statuses = (await listRuns(engine)).sort((a, b) => a.state.localeCompare(b.state))
    expect(statuses.map(({ id, state }) => [id, state])).toEqual([
      [whole.id, 'done'],
      [broken.id, 'failed'],
    ])
    expect(statuses[1]).toMatchObject({ failure })
  })

  test.skipIf(!here).each([1, 4, 5, 70])(
    'a tree of %i tasks comes to the values of its children in order, and leaves nothing',
    async (tasks) => {
      const queue = options()
      const engine = await engineOf(queue)
      start(queue, undefined, { concurrency: 3 })
      start(queue)
      const plan = toy(tasks)
      const seen: JobStatus[] = []
      expect(await runTree(engine, treeOf(plan), plan, { onProgress: (status) => seen.push(status) })).toEqual(everything(plan))
      // One may have come when there was nothing left to do.
      expect(seen.at(-1)).toMatchObject({ state: 'done', done: tasks, total: tasks, workers: expect.toBeOneOf([1, 2]) })
      await expectNothingLeft(engine)
      // The answer is kept: nothing runs again.
      expect(await runTree(engine, treeOf(plan), plan)).toEqual(everything(plan))
      expect(await listRuns(engine)).toMatchObject([{ id: plan.id, state: 'done' }])
    },
  )

  test.skipIf(!here)('a phase begins when the one before is over', async () => {
    const queue = options()
    const engine = await engineOf(queue)
    const tree = treeOfPhases('phased', [9, 6], FAN_IN)
    expect(tree).toMatchObject({
      counts: [15, 5, 1],
      phases: [
        [9, 3],
        [6, 2],
      ],
    })
    const ran: number[] = []
    const runner: NodeRunner = {
      ...tree,
      async runNode(level, index, children) {
        if (level > 0) return children.flat()
        // The last one of the first phase takes longest.
        if (index === 8) await pause(300)
        ran.push(index)
        return [index]
      },
    }
    const plans = plansOf(async () => runner)
    const ending = new AbortController()
    const work = workOn(plans, { ...queue, concurrency: 8, lockSeconds: 1, checkSeconds: 1, signal: ending.signal })
    const seen: JobStatus[] = []
    const value = await runTree(engine, tree, { id: 'phased' }, { onProgress: (status) => seen.push(status) })
    expect(value).toEqual([...Array(15).keys()])
    expect(ran.slice(0, 9).sort((a, b) => a - b)).toEqual([...Array(9).keys()])
    expect(seen.at(-1)).toMatchObject({ state: 'done', done: 15, total: 15 })
    expect(seen.map(({ done }) => done)).toEqual(seen.map(({ done }) => done).sort((a, b) => a - b))
    ending.abort()
    expect(await work).toEqual({ tasks: 15, merges: 6, retries: 0 })
    await expectNothingLeft(engine)
  })

  test.skipIf(!here)('two that ask for the same at once get the same, and tasks run once', async () => {
    const queue = options()
    const [engine, other] = [await engineOf(queue), await engineOf(queue)]
    const ran: string[] = []
    start(queue, async (level, index) => void ran.push(`${level}-${index}`), { concurrency: 4 })
    const plan = toy(20)
    const results = await Promise.all([engine, other].map((each) => runTree(each, treeOf(plan), plan)))
    expect(results).toEqual([everything(plan), everything(plan)])
    expect(ran.length).toBe(20 + 5 + 2 + 1)
    expect(new Set(ran).size).toBe(ran.length)
  })

  test.skipIf(!here)('a task that fails once is tried again', async () => {
    const queue = options()
    const engine = await engineOf(queue)
    let failed = false
    const { work, end } = start(queue, async (level, index) => {
      if (level > 0 || index !== 3 || failed) return
      failed = true
      throw new HyperslabError('StoreError', 'no answer', { file: 'x.af' })
    })
    const plan = toy(6)
    expect(await runTree(engine, treeOf(plan), plan)).toEqual(everything(plan))
    end()
    expect(await work).toEqual({ tasks: 6, merges: 3, retries: 1 })
  })

  test.skipIf(!here)('a run fails with the error of its task, leaves nothing behind, and goes on when asked again', async () => {
    const queue = options()
    const engine = await engineOf(queue)
    let broken = true
    const ran: number[] = []
    start(queue, async (level, index) => {
      if (level > 0) return
      if (broken && index === 17)
        throw new HyperslabError('FormatError', 'chunk 3 is damaged', { file: 'x.af', array: 'tas', axis: 1 })
      ran.push(index)
    })
    const plan = toy(20)
    const error = await runTree(engine, treeOf(plan), plan).catch((error: unknown) => error)
    expect(error).toMatchObject({
      tag: 'FormatError',
      message: "x.af: array 'tas': chunk 3 is damaged",
      details: { file: 'x.af', array: 'tas', axis: 1 },
    })
    await expectNothingLeft(engine)
    expect(await showRun(engine, plan.id)).toMatchObject({ state: 'failed', plan, failure: { tag: 'FormatError' } })
    const before = ran.length
    broken = false
    expect(await runTree(engine, treeOf(plan), plan)).toEqual(everything(plan))
    await expectNothingLeft(engine)
    // Groups that were merged are not worked on again.
    expect(ran.length - before).toBeLessThan(20)
  })

  test.skipIf(!here)('a run that is cancelled ends, its tasks under way as well, and can be taken up again', async () => {
    const queue = options()
    const engine = await engineOf(queue)
    let stuck: (() => void) | undefined
    const reached = new Promise<void>((resolve) => {
      stuck = resolve
    })
    let patient = true
    start(queue, async (level, index, signal) => {
      if (level > 0 || index !== 5 || !patient) return
      stuck!()
      await pause(60_000, undefined, { signal: signal as AbortSignal })
    })
    const plan = toy(9)
    const run = runTree(engine, treeOf(plan), plan).catch((error: unknown) => error)
    await reached
    expect(await cancelRun(engine, plan.id)).toBe(true)
    const error = await run
    expect(isHyperslabError(error, 'CancelledError')).toBe(true)
    await expectNothingLeft(engine)
    expect(await cancelRun(engine, plan.id)).toBe(false)
    patient = false
    expect(await retryRun(engine, plan.id)).toBe(true)
    expect(await runTree(engine, treeOf(plan), plan)).toEqual(everything(plan))
    expect(await retryRun(engine, plan.id)).toBe(false)
    await expectNothingLeft(engine)
  })

  test.skipIf(!here)('who gives up waiting leaves the run going', async () => {
    const queue = options()
    const engine = await engineOf(queue)
    const plan = toy(8)
    await expect(runTree(engine, treeOf(plan), plan, { signal: AbortSignal.timeout(50) })).rejects.toThrow('timeout')
    expect(await listRuns(engine)).toMatchObject([{ id: plan.id, state: 'waiting', done: 0, total: 8, workers: 0 }])
    await workOn(
      plansOf(async (plan) => runnerOf(plan)),
      { ...queue, untilIdle: true },
    )
    expect(await runTree(engine, treeOf(plan), plan)).toEqual(everything(plan))
  })

  test.skipIf(!here)('a worker that is ended gives back what it cannot finish', async () => {
    const queue = options()
    const engine = await engineOf(queue)
    let begun: (() => void) | undefined
    const reached = new Promise<void>((resolve) => {
      begun = resolve
    })
    const slow = start(queue, async (level, index, signal) => {
      if (level > 0 || index !== 2) return
      begun!()
      await pause(60_000, undefined, { signal: signal as AbortSignal })
    })
    const plan = toy(8)
    const run = runTree(engine, treeOf(plan), plan)
    await reached
    slow.end()
    expect((await slow.work).retries).toBe(0)
    // The task does not wait for a retry: a failed attempt would be delayed.
    expect(await engine.tasks.getJobCounts('active', 'delayed')).toEqual({ active: 0, delayed: 0 })
    start(queue)
    expect(await run).toEqual(everything(plan))
    await expectNothingLeft(engine)
  })

  test.skipIf(!here)('a plan that a worker refuses fails its run, and a run that was removed is nothing to workers', async () => {
    const queue = options()
    const engine = await engineOf(queue)
    const plan = toy(3)
    const run = runTree(engine, treeOf(plan), plan).catch((error: unknown) => error)
    const refuse = async (): Promise<never> => {
      throw new HyperslabError('InvalidArgumentError', 'it may not read there', { file: 's3://other/x.af' })
    }
    const settings = { ...queue, lockSeconds: 1, checkSeconds: 1, untilIdle: true }
    expect(await workOn(plansOf(refuse), settings)).toEqual({ tasks: 0, merges: 0, retries: 0 })
    expect(await run).toMatchObject({ tag: 'InvalidArgumentError', message: 's3://other/x.af: it may not read there' })
    await expectNothingLeft(engine)
    await expect(showRun(engine, 'gone')).rejects.toMatchObject({ tag: 'NotFoundError', details: { actual: 'gone' } })
    await expect(cancelRun(engine, 'gone')).rejects.toMatchObject({ tag: 'NotFoundError' })
  })
})

test('what is no queue is refused before anything is asked', async () => {
  const refused = { tag: 'InvalidArgumentError' }
  await expect(Engine.open({ url: 'amqp://me:secret@host' })).rejects.toMatchObject(refused)
  await expect(Engine.open({ url: 'amqp://me:secret@host' })).rejects.not.toThrow('secret')
  await expect(Engine.open({ url: 'redis://host', prefix: 'a:b' })).rejects.toMatchObject(refused)
  await expect(
    workOn(
      plansOf(async (plan) => runnerOf(plan)),
      { url: 'redis://host', concurency: 2 } as never,
    ),
  ).rejects.toThrow("did you mean 'concurrency'?")
})

test.each(['redis://me:secret@127.0.0.1:9/0', 'postgres://me:secret@127.0.0.1:9/x'])(
  'a server that does not answer is told without the password: %s',
  async (url) => {
    const error = await Engine.open({ url }).catch((error: unknown) => error)
    expect(error).toMatchObject({ tag: 'StoreError', message: expect.stringContaining('127.0.0.1:9') })
    expect((error as Error).message).toContain('ECONNREFUSED')
    expect((error as Error).message).not.toContain('secret')
  },
)

test.skipIf(!haveQueue('redis'))('a Redis that may forget tasks is refused', async () => {
  const server = await QueueServer.start('redis', ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'])
  onTestFinished(() => server.stop())
  await expect(Engine.open({ url: server.url })).rejects.toMatchObject({
    tag: 'UnsupportedError',
    details: { file: `${server.url.replace(/\/?$/, '')}`, actual: 'allkeys-lru', expected: 'noeviction' },
  })
})
