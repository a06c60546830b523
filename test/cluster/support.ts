import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { treeOfJob } from '../../src/cluster/job-plan.ts'
import { encodeState, type StateValue } from '../../src/cluster/state-codec.ts'
import { childRange, missingChildren } from '../../src/cluster/task-tree.ts'
import { type DataOf, type FixedDType, isBigInt, isFloat } from '../../src/core/dtype.ts'
import { sizeOf } from '../../src/core/shape.ts'
import {
  type ArrayRecipe,
  type CopyPlan,
  type JobPlan,
  nodeCounts,
  openJob,
  type PartialResult,
  planJob,
  type ReduceOperation,
  type ReducePlan,
} from '../../src/runtime/cluster.ts'
import { create } from '../../src/runtime/index.ts'
import { createZarr } from '../../src/runtime/zarr.ts'
import { folderInMemory } from '../support/folder.ts'
import { writeNetcdf } from '../support/netcdf-writer.ts'

/** So many chunks that units of one chunk make three levels of the tree. */
export const SHAPE = [47, 3, 11]
const CHUNKS = [1, 3, 2]

/** Values of all sizes, so that sums depend on the order of their terms; some missing, some NaN. */
export function valuesOf<D extends FixedDType>(dtype: D, fill: number, count = sizeOf(SHAPE)): DataOf<D> {
  let seed = 12345
  const random = (): number => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31
    return seed / 2 ** 31
  }
  const list = Array.from({ length: count }, () => {
    if (random() < 0.05) return fill
    if (isFloat(dtype)) return (random() - 0.3) * 10 ** Math.floor(random() * 8)
    return Math.floor(random() * (dtype === 'int8' || dtype === 'uint8' ? 100 : dtype === 'int16' ? 30000 : 2e9))
  })
  const Class = { float32: Float32Array, float64: Float64Array, int16: Int16Array, int32: Int32Array, uint8: Uint8Array }
  if (isBigInt(dtype)) return BigInt64Array.from(list, (value) => BigInt(value) * 2_000_003n) as never
  return Class[dtype as 'float32'].from(list) as never
}

const DTYPES = ['float32', 'float64', 'int16', 'int32', 'int64', 'uint8'] as const
export const FILL = 77

/** Results as bytes. */
export const bitsOf = (result: unknown): string => Buffer.from(encodeState(result as StateValue)).toString('latin1')

/** The sources in a folder for as long as the tests of a file run; both are there once they do. */
export function sourcesInMemory(name: string): { readonly folder: string; readonly recipes: ReadonlyMap<string, ArrayRecipe> } {
  const sources = { folder: '', recipes: new Map<string, ArrayRecipe>() }
  beforeAll(async () => {
    sources.folder = await folderInMemory(name)
    sources.recipes = await writeSources(sources.folder)
  })
  afterAll(() => rmSync(sources.folder, { recursive: true }))
  return sources
}

/**
 * The same arrays as a container, as Zarr and, where it has the types, as NetCDF: recipes by format and type.
 */
async function writeSources(folder: string): Promise<Map<string, ArrayRecipe>> {
  const recipes = new Map<string, ArrayRecipe>()
  const [af, zarr, nc] = ['x.af', 'x.zarr', 'x.nc'].map((name) => join(folder, name)) as [string, string, string]
  const dimensionNames = ['time', 'lat', 'lon']
  const file = await create(af, { codec: 'lz4' })
  const group = await createZarr(zarr)
  for (const dtype of DTYPES) {
    const fillValue = (dtype === 'int64' ? BigInt(FILL) * 2_000_003n : FILL) as never
    const values = valuesOf(dtype, FILL) as never
    await file.createArray(dtype, { dtype, shape: SHAPE, chunks: CHUNKS, dimensionNames, fillValue }).set(null, values)
    recipes.set(`container ${dtype}`, { location: af, array: dtype })
    if (dtype !== 'float32' && dtype !== 'int64') continue
    const array = await group.createArray(dtype, { dtype, shape: SHAPE, chunks: CHUNKS, dimensionNames, fillValue } as never)
    await array.set(null, values)
    recipes.set(`zarr ${dtype}`, { location: zarr, array: dtype })
  }
  await file.flush()
  await file.close()
  await group.close()
  const dimensions = dimensionNames.map((name, i) => [name, SHAPE[i]!] as const)
  const variables = ([['float32', 'float'], ['int16', 'short']] as const).map(([name, type]) => ({
    name,
    type,
    dimensions: dimensionNames,
    attributes: [{ name: '_FillValue', type, value: [FILL] }],
    values: [...valuesOf(name, FILL)],
  })) // biome-ignore format: one line
  writeFileSync(nc, writeNetcdf({ dimensions, variables }))
  for (const { name } of variables) recipes.set(`netcdf ${name}`, { location: nc, array: name })
  return recipes
}

/**
 * Months of one series in files of their own, each with its own packing and origin of times; the temperatures
 * of all.
 */
export function writeMonths(folder: string, count: number): { readonly files: string[]; readonly values: number[] } {
  const [days, lats] = [4, 6]
  const text = (name: string, value: string) => ({ name, type: 'char' as const, value })
  const number = (name: string, value: number) => ({ name, type: 'double' as const, value: [value] })
  const values: number[] = []
  const files = Array.from({ length: count }, (_, month) => {
    const packed = Array.from({ length: days * lats }, (_, i) => (i % 5 === 0 ? -9 : 10 * month + i))
    const [scale, offset] = [2 ** -month, 100 * month]
    values.push(...packed.map((value) => (value === -9 ? Number.NaN : value * scale + offset)))
    const file = join(folder, `month-${month}.nc`)
    const variables = [
      {
        name: 'tas',
        type: 'short' as const,
        dimensions: ['time', 'lat'],
        attributes: [
          { name: '_FillValue', type: 'short' as const, value: [-9] },
          number('scale_factor', scale),
          number('add_offset', offset),
          text('units', 'K'),
        ],
        values: packed,
      },
      {
        name: 'time',
        type: 'double' as const,
        dimensions: ['time'],
        attributes: [text('units', `days since 2000-01-0${month + 1}`)],
        values: Array.from({ length: days }, (_, day) => (days - 1) * month + day),
      },
      {
        name: 'lat',
        type: 'double' as const,
        dimensions: ['lat'],
        attributes: [text('units', 'degrees_north')],
        values: Array.from({ length: lats }, (_, i) => 10 * i),
      },
    ]
    const dimensions = [['time', days], ['lat', lats]] as const // biome-ignore format: one line
    writeFileSync(file, writeNetcdf({ dimensions, variables, attributes: [text('title', 'months')] }))
    return file
  })
  return { files, values }
}

/** Arguments and options for methods that take no axes, or take none by parts. */
export const WITHOUT_AXES: Partial<Record<string, Partial<ReduceOperation>>> = {
  unique: { options: {} },
  histogram: { options: { bins: 7, range: [-1e9, 2e9] } },
  quantile: { args: [[0, 0.3, 1]], options: { maxBytes: 0 } },
  groupBy: { args: ['time', Array.from({ length: SHAPE[0]! }, (_, t) => (t * 5) % 4), 'mean'], options: {} },
}

let plans = 0
/** A reduction of so many tasks that merges of them are merged once more; each time another plan. */
export async function planOf(method: ReduceOperation['method'], source: ArrayRecipe, scratch?: string): Promise<ReducePlan> {
  const axis = method.startsWith('arg') ? 1 : [0, 1]
  // The size of units differs by a fraction that has no effect, so that each plan has its own id.
  const unitBytes = 1 + ++plans / 1e6
  const operation = { method, source, options: { axis }, ...WITHOUT_AXES[method] }
  const plan = await planJob(operation, { unitBytes, taskBytes: 1, ...(scratch && { scratch }) })
  // Exact medians take columns of chunks.
  if (method !== 'median') expect(nodeCounts(plan)).toEqual([282, 2, 1])
  return plan
}

/** The share of one of several tests that divide the items among them. */
export const shareOf = <T>(items: readonly T[], index: number, count: number): readonly T[] =>
  items.filter((_, i) => i % count === index)

/** The name of a source for a method, another one for each of its neighbours. */
export function sourceFor(recipes: ReadonlyMap<string, ArrayRecipe>, method: string, i: number): string {
  // Beyond int64 there is no product.
  const names = [...recipes.keys()].filter((name) => !name.startsWith('netcdf') && !(method === 'prod' && name.endsWith('int64')))
  return names[i % names.length]!
}

/** Does a job as a queue would: every node by itself, what goes between them as JSON, tasks in any order. */
export async function runByNodes(plan: JobPlan, order: (count: number) => number[] = backwards): Promise<unknown> {
  const job = await openJob(JSON.parse(JSON.stringify(plan)))
  try {
    let below: PartialResult[] = []
    for (const [level, count] of nodeCounts(plan).entries()) {
      const results: PartialResult[] = new Array(count)
      for (const index of order(count)) {
        const children = level === 0 ? [] : below.slice(index * 256, (index + 1) * 256)
        results[index] = JSON.parse(JSON.stringify(await job.runNode(level, index, children)))
      }
      below = results
    }
    return await job.result(below[0]!)
  } finally {
    await job.close()
  }
}

const backwards = (count: number): number[] => Array.from({ length: count }, (_, i) => count - 1 - i)

/** Returns metadata without the id of the write that made them. */
export const withoutWriteId = (text: string): string => text.replace(/,\s*"hyperslab_write":\s*("[^"]*"|\{[^}]*\})/, '')

/** The objects of a place by their keys, without the id of the write. */
export function objectsOf(place: string): Map<string, string> {
  const names = readdirSync(place, { recursive: true, encoding: 'utf8' }).sort()
  const files = names.filter((name) => statSync(join(place, name)).isFile())
  return new Map(files.map((name) => [name, withoutWriteId(readFileSync(join(place, name)).toString('latin1'))]))
}

export const inTurn = (nodes: number[]): number[] => nodes

/** Does the nodes of a job phase by phase, those of each in some order, each by a process of its own. */
export async function runNodes(
  plan: CopyPlan,
  order: (nodes: number[]) => number[],
  each = (_: number): void => undefined,
): Promise<void> {
  const tree = treeOfJob(plan)
  const results = new Map<string, PartialResult>()
  const run = async (level: number, index: number): Promise<void> => {
    const isDone = (child: number): boolean => results.has(`${level - 1}-${child}`)
    for (
      let next = missingChildren(tree, level, index, isDone);
      next.length > 0;
      next = missingChildren(tree, level, index, isDone)
    )
      for (const child of order(next)) await run(level - 1, child)
    const [from, to] = childRange(tree, level, index)
    const children = Array.from({ length: to - from }, (_, i) => results.get(`${level - 1}-${from + i}`)!)
    if (level === 0) each(index)
    await using job = await openJob(JSON.parse(JSON.stringify(plan)))
    results.set(`${level}-${index}`, JSON.parse(JSON.stringify(await job.runNode(level, index, children))))
  }
  await run(tree.counts.length - 1, 0)
}
