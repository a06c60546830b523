import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { haveQueue, QueueServer } from '../support/queue-server.ts'
import { JOB, keysOf, RUNS, type Run } from './runs.mjs'
import { hyperslab, hyperslabAlone, NETCDF, startServer, temporaryFolder } from './support.ts'

const keys = keysOf(createProgram('0'))

test('every command and each of its actions has a good and a bad run', () => {
  expect(keys).toContain('jobs show')
  expect([...new Set(RUNS.map(({ command }) => command))].sort()).toEqual([...keys].sort())
  for (const key of keys) {
    const runs = RUNS.filter(({ command }) => command === key)
    expect([key, runs.some(({ fails }) => fails === undefined), runs.some(({ fails }) => fails !== undefined)]).toEqual([
      key,
      true,
      true,
    ])
  }
})

test('every command but completion prints its result as JSON if asked', () => {
  const without = createProgram('0').commands.filter(({ options }) => !options.some(({ long }) => long === '--json'))
  expect(without.map((command) => command.name())).toEqual(['completion'])
})

/** Runs that are repeated with `--json`: nothing that they write is in the way. */
const isRepeatable = ({ command, args }: Run): boolean =>
  !['import', 'export', 'cp', 'references'].includes(command) && !args.some((arg) => /^(--output|-o)$/.test(arg))

test.skipIf(!haveQueue('redis'))(
  'every command and each of its actions does what it says, and refuses what it cannot do in one line',
  async () => {
    const folder = await temporaryFolder()
    copyFileSync(NETCDF, join(folder, 'tas.nc'))
    const server = await QueueServer.start('redis')
    onTestFinished(() => server.stop())
    const inQueue = (args: readonly string[]): string[] => args.map((arg) => (arg === 'QUEUE' ? server.url : arg))
    const job = await runJob(folder, inQueue)
    for (const run of RUNS) await check(folder, run, (args) => inQueue(args).map((arg) => (arg === 'JOB' ? job : arg)))
  },
)

/** Runs the job, and returns its id. */
async function runJob(folder: string, inQueue: (args: readonly string[]) => string[]): Promise<string> {
  let isDone = false
  const run = hyperslabAlone(folder, inQueue(JOB)).finally(() => {
    isDone = true
  })
  while (!isDone)
    await hyperslab(folder, inQueue(['work', '--queue', 'QUEUE', '--prefix', 'runs', '--until-idle', '--concurrency', '1']))
  const { exitCode, stdout, stderr } = await run
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringMatching(/278\.7/) })
  return (JSON.parse(stderr.trim().split('\n').at(-1)!) as { id: string }).id
}

async function check(folder: string, run: Run, named: (args: readonly string[]) => string[]): Promise<void> {
  const words = [...run.command.split(' '), ...named(run.args)]
  const title = words.join(' ')
  if (run.kind === 'served') {
    const { lines, end } = await startServer(folder, words)
    expect(lines.join('\n'), title).toMatch(run.prints!)
    expect(await end(), title).toEqual({ exitCode: 0, stderr: '' })
    const asJson = await startServer(folder, [...words, '--json'])
    expect(JSON.stringify(JSON.parse(asJson.lines.join(''))), title).toContain('http://127.0.0.1:')
    await asJson.end()
    return
  }
  const { exitCode, stdout, stderr } = await hyperslab(folder, words)
  if (run.fails !== undefined) {
    expect({ title, exitCode, stdout }).toEqual({ title, exitCode: run.exitCode, stdout: '' })
    expect(stderr).toMatch(run.fails)
    expect(stderr).toMatch(/^hyperslab: [^\n`]+\n$/)
    expect(stderr).not.toContain('unexpected')
    return
  }
  expect({ title, exitCode, stderr }).toEqual({ title, exitCode: 0, stderr: '' })
  if (run.prints !== undefined) expect(stdout).toMatch(run.prints)
  if (run.kind === 'text' || !isRepeatable(run)) return
  const asJson = await hyperslab(folder, [...words, '--json'])
  expect({ title, exitCode: asJson.exitCode, stderr: asJson.stderr }).toEqual({ title, exitCode: 0, stderr: '' })
  expect(JSON.parse(asJson.stdout), title).toBeDefined()
}
