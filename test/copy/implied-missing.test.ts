import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exportZarr } from '../../src/copy/export-zarr.ts'
import { arrayAsStored } from '../../src/copy/stored-arrays.ts'
import { NETCDF4_FILL } from '../../src/core/default-fill.ts'
import { allocate } from '../../src/core/dtype.ts'
import { local, planJob } from '../../src/runtime/cluster.ts'
import { Dataset, openDataset, type VariableInput } from '../../src/runtime/dataset.ts'
import { importNetcdf, openNetcdf } from '../../src/runtime/netcdf.ts'
import { importZarr } from '../../src/runtime/zarr.ts'
import { folderInMemory } from '../support/folder.ts'
import { zarrPython } from '../support/python.ts'

/** Types, which are names of variables. Others end in `_named` (with `missing_value`) or `_scaled`. */
const WIDE = ['int16', 'int32', 'int64', 'uint16', 'uint32', 'uint64', 'float32', 'float64'] as const

/** Copies a place to another one. */
type Copier = (from: string, to: string) => Promise<unknown>

const write: Copier = async (from, to) => (await openDataset(from)).write(to)
const writeKind5: Copier = async (from, to) => (await openDataset(from)).write(to, { kind: 5 })

/** Copies arrays as stored, without decoding, by the tasks of a queue. */
const byTasks: Copier = async (from, to) => {
  const names = Object.keys((await openDataset(from)).variables)
  const arrays = Object.fromEntries(names.map((name) => [name, { location: from, array: name }]))
  await local().run(await planJob({ method: 'copy', source: { arrays }, target: to }, { taskBytes: 16 }))
}

const datasetByTasks: Copier = async (from, to) =>
  local().run(await planJob({ method: 'copy', source: { dataset: from }, target: to }, { taskBytes: 16 }))

const asStored: Copier = async (from, to) => {
  await using file = await openNetcdf(from)
  const arrays = file.variables.map((variable) => arrayAsStored(variable.name, variable))
  await exportZarr({ attributes: new Map(), arrays }, to, {})
}

const CHAINS: Readonly<Record<string, readonly (readonly [ending: string, copy: Copier])[]>> = {
  nc: [['nc', write]],
  nc5: [['nc', writeKind5]],
  zarr: [['zarr', write]],
  af: [['af', write]],
  'nc by import': [['af', importNetcdf]],
  'nc by tasks to zarr': [['zarr', byTasks]],
  'nc by tasks to af': [['af', byTasks]],
  'nc as a dataset by tasks to zarr': [['zarr', datasetByTasks]],
  'nc as a dataset by tasks to af': [['af', datasetByTasks]],
  'nc as stored to zarr': [['zarr', asStored]],
  'zarr, nc': [['zarr', write], ['nc', write]], // biome-ignore format: one line
  'zarr, nc5': [['zarr', write], ['nc', writeKind5]], // biome-ignore format: one line
  'zarr, af by import': [['zarr', write], ['af', importZarr]], // biome-ignore format: one line
  'af, nc': [['af', write], ['nc', write]], // biome-ignore format: one line
  'af, nc5': [['af', write], ['nc', writeKind5]], // biome-ignore format: one line
  'af, zarr, nc': [['af', write], ['zarr', write], ['nc', write]], // biome-ignore format: one line
  'tasks to zarr, tasks to af, nc': [['zarr', byTasks], ['af', byTasks], ['nc', write]], // biome-ignore format: one line
}

let folder: string
let source: string
beforeAll(async () => {
  folder = await folderInMemory('implied')
  source = join(folder, 'source.nc')
  const variables: Record<string, VariableInput> = {}
  for (const type of [...WIDE, 'int8', 'uint8'] as const) {
    const fill = NETCDF4_FILL[type]
    const of = (value: number): number | bigint => (typeof fill === 'bigint' ? BigInt(value) : value)
    const data = allocate(type, 3)
    for (const [i, value] of [of(5), of(3), fill].entries()) data[i] = value
    const dims = ['x']
    variables[type] = { dims, data }
    variables[`${type}_named`] = { dims, data, attrs: { missing_value: of(3) } }
    variables[`${type}_scaled`] = { dims, data, attrs: { scale_factor: 0.5 } }
  }
  const { warnings } = await new Dataset(variables).write(source, { kind: 5 })
  // No attribute names the missing value.
  expect(warnings.filter((text) => text.includes('read as missing')).length).toBeGreaterThan(8)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Returns the elements of all variables as text; missing ones as '_'. */
async function show(place: string): Promise<Record<string, string>> {
  const dataset = await openDataset(place)
  const shown: Record<string, string> = {}
  for (const name of Object.keys(dataset.variables).sort()) {
    const variable = dataset.get(name)
    const missing = (await variable.isnull().values()) as ArrayLike<unknown>
    const values = (await variable.values()) as ArrayLike<unknown>
    shown[name] = Array.from(values, (value, i) => (missing[i] ? '_' : String(value))).join(' ')
  }
  return shown
}

test('elements that equal the default fill value of their type are missing in NetCDF, except bytes', async () => {
  const shown = await show(source)
  for (const type of WIDE) {
    expect(shown[type], type).toBe('5 3 _')
    expect(shown[`${type}_named`], type).toBe('5 _ _')
    expect(shown[`${type}_scaled`], type).toBe('2.5 1.5 _')
  }
  expect([shown['int8'], shown['uint8']]).toEqual(['5 3 -127', '5 3 255'])
})

describe('copies keep missing elements that the source names in no attribute', () => {
  for (const [name, steps] of Object.entries(CHAINS))
    test(name, async () => {
      let place = source
      for (const [i, [ending, copy]] of steps.entries()) {
        const next = join(folder, `${name.replace(/\W+/g, '-')}-${i}.${ending}`)
        await copy(place, next)
        place = next
      }
      expect(await show(place)).toEqual(await show(source))
    })
})

const env = zarrPython()

const MASKS = `
import json, sys, xarray as xr
d = xr.open_zarr(sys.argv[1], consolidated=False)
print(json.dumps({n: d[n].isnull().values.tolist() for n in d.variables}))
`

test.skipIf(env === undefined)('xarray masks the same unsigned and long integers of copies in Zarr', async () => {
  for (const copy of [write, byTasks, asStored]) {
    const place = join(folder, `xarray-${copy.name}.zarr`)
    await copy(source, place)
    const masks = JSON.parse(
      execFileSync('python3', ['-c', MASKS, place], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    )
    for (const type of ['int64', 'uint16', 'uint32', 'uint64']) {
      expect(masks[type], `${copy.name} ${type}`).toEqual([false, false, true])
      expect(masks[`${type}_named`], `${copy.name} ${type}`).toEqual([false, true, true])
    }
    for (const type of ['int16', 'int32', 'float32', 'float64', 'uint8']) expect(masks[type], type).toEqual([false, false, false])
  }
})
