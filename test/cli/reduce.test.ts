import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { DiskArray } from '../../src/array/disk-array.ts'
import { createCall, isTable, OPS, performHere } from '../../src/cli/commands/reduce.ts'
import { DataArray } from '../../src/dataset/data-array.ts'
import { Variable } from '../../src/dataset/variable.ts'
import { local, planJob } from '../../src/runtime/cluster.ts'
import { create, open } from '../../src/runtime/index.ts'
import { bitsOf } from '../cluster/support.ts'
import { hyperslab, temporaryFolder } from './support.ts'

const VALUES = [3, 1, 4, 1, 5, 9, 2, 6, -999, 5, 3, 5]
const SHAPE = [3, 4]

/** `x(row 3, column 4)`, in chunks of two, one element of it missing. */
async function container(): Promise<string> {
  const folder = await temporaryFolder()
  await using file = await create(join(folder, 'x.af'))
  const dimensionNames = ['row', 'column']
  const x = file.createArray('x', { dtype: 'float32', shape: SHAPE, chunks: [2, 2], dimensionNames, fillValue: -999 })
  await x.set(null, VALUES)
  await file.createArray('row', { dtype: 'int32', shape: [3], dimensionNames: ['row'] }).set(null, [0, 1, 2])
  await file.createArray('column', { dtype: 'int32', shape: [4], dimensionNames: ['column'] }).set(null, [0, 1, 2, 3])
  await file.flush()
  return folder
}

const present = VALUES.filter((value) => value !== -999)
const columns = [0, 1, 2, 3].map((column) => VALUES.filter((value, i) => i % 4 === column && value !== -999))

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
const variance = (values: number[]): number => mean(values.map((value) => (value - mean(values)) ** 2))
const quantile = (q: number) => (values: number[]) => {
  const sorted = values.toSorted((a, b) => a - b)
  const at = q * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!]
  return low + (high - low) * (at - Math.floor(at))
}

const ORACLES: Record<string, (values: number[]) => number | boolean> = {
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  mean,
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  prod: (values) => values.reduce((product, value) => product * value, 1),
  variance,
  std: (values) => Math.sqrt(variance(values)),
  count: (values) => values.length,
  countnonzero: (values) => values.filter(Boolean).length,
  median: quantile(0.5),
  'quantile --q 0.3': quantile(0.3),
  any: (values) => values.some(Boolean),
  all: (values) => values.every(Boolean),
}

const near = (value: number | boolean) => (typeof value === 'number' ? expect.closeTo(value, 6) : value)

test.each(Object.entries(ORACLES))('computes %s of everything, and along a dimension', async (op, oracle) => {
  const folder = await container()
  const reduced = async (...more: string[]) => {
    const { stdout, stderr, exitCode } = await hyperslab(folder, [
      'reduce',
      'x.af',
      'x',
      '--op',
      ...op.split(' '),
      '--json',
      ...more,
    ])
    expect([stderr, exitCode]).toEqual(['', 0])
    return JSON.parse(stdout)
  }
  // A few of both ways are enough: each takes a process.
  if (/prod|median|any/.test(op)) expect(await reduced()).toMatchObject({ shape: [], data: [near(oracle(present))] })
  expect(await reduced('--axis', 'row')).toMatchObject({ shape: [4], data: columns.map((each) => near(oracle(each))) })
})

const lines = async (folder: string, ...args: string[]): Promise<string> => {
  const { stdout, stderr, exitCode } = await hyperslab(folder, ['reduce', 'x.af', 'x', '--op', ...args])
  expect([stderr, exitCode]).toEqual(['', 0])
  return stdout
}

test('says where extremes are: in all of it, and along a dimension', async () => {
  const folder = await container()
  expect(await lines(folder, 'argmax')).toBe('[1 1]\n')
  expect(await lines(folder, 'argmin')).toBe('[0 1]\n')
  expect(await lines(folder, 'argmax', '--axis', 'column')).toBe('[2 1 1]\n')
  expect(JSON.parse(await lines(folder, 'argmin', '--axis', '0', '--json')).data).toEqual([0, 0, 1, 0])
  expect(await lines(folder, 'argmax', '--sel', 'row=2', 'column=0:0', '--axis', 'column')).toBe('_\n')
})

test('gives several quantiles, the shares first', async () => {
  const { shape, data } = JSON.parse(await lines(await container(), 'quantile', '--q', '0,0.5,1', '--axis', 'row', '--json'))
  expect(shape).toEqual([3, 4])
  expect(data).toEqual([0, 0.5, 1].flatMap((q) => columns.map(quantile(q))))
})

test('counts by value: in bins, and each value', async () => {
  const folder = await container()
  const counted = JSON.parse(await lines(folder, 'unique', '--json'))
  const values = [...new Set(present)].sort((a, b) => a - b)
  expect(counted).toEqual({ values, counts: values.map((value) => present.filter((each) => each === value).length) })
  expect(await lines(folder, 'unique', '--sel', 'row=0')).toBe('values  counts\n     1       2\n     3       1\n     4       1\n')
  expect(JSON.parse(await lines(folder, 'histogram', '--bins', '2', '--range', '0,10', '--json'))).toEqual({
    edges: [0, 5, 10],
    counts: [present.filter((value) => value < 5).length, present.filter((value) => value >= 5).length],
  })
  const { edges, counts } = JSON.parse(await lines(folder, 'histogram', '--json'))
  expect([edges.length, edges[0], edges.at(-1), counts.reduce((a: number, b: number) => a + b)]).toEqual([
    11,
    1,
    9,
    present.length,
  ])
})

test.each([
  [['--op', 'quantile'], '--op quantile needs --q, e.g. --q 0.1,0.9'],
  [['--op', 'mean', '--q', '0.5'], '--q is for --op quantile, not mean'],
  [['--op', 'mean', '--bins', '5'], '--bins is for --op histogram, not mean'],
  [['--op', 'unique', '--axis', 'row'], '--axis is not for --op unique, which takes all elements together'],
  [['--op', 'unique', '-f', 'bytes'], 'a table has no bytes; use --format text or json'],
  [['--op', 'mean', '--json', '-f', 'bytes'], '--json is not --format bytes'],
  [['--op', 'quantile', '--q', '0.5,'], "option '--q <shares>' argument '0.5,' is invalid. It must be numbers between commas."],
  [['--op', 'histogram', '--range', '5,1'], "option '--range <ends>' argument '5,1' is invalid. It must be like 250,310."],
])('refuses %j', async (args, message) => {
  const run = await hyperslab(await container(), ['reduce', 'x.af', 'x', ...args])
  expect(run).toMatchObject({ exitCode: 2, stdout: '', stderr: `hyperslab: ${message}\n` })
})

test('refuses a share that is none, and says of what', async () => {
  const { stderr, exitCode } = await hyperslab(await container(), ['reduce', 'x.af', 'x', '--op', 'quantile', '--q', '1.5'])
  expect([exitCode, stderr]).toEqual([1, "hyperslab: x.af: array 'x': a quantile is a share from 0 to 1, or a list of some\n"])
})

test('does not write bytes to a terminal', async () => {
  const folder = await container()
  const command = new URL('../../dist/cli.js', import.meta.url).pathname
  const shell = `${process.execPath} ${command} get x.af x --format bytes`
  const child = spawn('script', ['-qec', shell, '/dev/null'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  let shown = ''
  child.stdout.on('data', (piece) => (shown += piece))
  const exitCode = await new Promise((resolve) => child.on('close', resolve))
  expect([exitCode, shown.trim()]).toEqual([
    2,
    'hyperslab: bytes are for files and programs, and may upset a terminal: add > values.bin',
  ])
})

test('each operation is a job that comes to what it comes to here', async () => {
  const folder = await container()
  const location = join(folder, 'x.af')
  await using file = await open(location)
  const array = file.array('x') as DiskArray
  const variable = new DataArray(new Variable({ name: 'x', array, dims: ['row', 'column'], attrs: {} }), new Map())
  const given = { q: [0.3, 1], bins: 3, range: [0, 6] } as const
  for (const op of OPS)
    for (const how of [{}, ...(isTable(op) ? [] : [{ axis: ['row'] }])]) {
      const call = createCall(variable, op, { ...how, ...given })
      const plan = await planJob({ ...call, source: { location, array: 'x' } }, { unitBytes: 1, taskBytes: 1 })
      expect(bitsOf(await local().run(plan)), op).toBe(bitsOf(await performHere(array)(call)))
    }
})

test('a dry run prints tasks, and no result', async () => {
  const folder = await container()
  const dryRun = (...op: string[]) => hyperslab(folder, ['reduce', 'x.af', 'x', '--op', ...op, '--dry-run'])
  const lines = ['float32 [3, 4]', '1 task of about 48 B, 48 B of elements in all', 'at most 4 requests for chunks']
  const std = await dryRun('std', '--axis', 'row')
  expect([std.exitCode, std.stderr]).toEqual([0, ''])
  for (const line of lines) expect(std.stdout).toContain(line)
  expect(std.stdout.split('\n').length).toBe(5)
  const histogram = await dryRun('histogram')
  expect(histogram.stdout).toContain('this finds the range of the bins; a second job, of as many tasks, counts what is in them')
})
