import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { copyTensor, tensorOf, viewTensor } from '../../src/core/tensor.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { viewOf } from '../../src/grid/range.ts'
import { DiskArray } from '../../src/runtime/index.ts'
import { datasetsIn, type Step } from '../support/dataset-peer.ts'
import { GRIDS, writeGrids } from '../support/grids.ts'
import { expectPeer, valuesOf } from '../support/labelled.ts'

const root = new URL('../..', import.meta.url).pathname
const page = readFileSync(join(root, 'docs/grids.md'), 'utf8')
const { peer, folder } = datasetsIn('grids', async (folder) => {
  await writeGrids(folder)
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'hyperslab'))
})

describe.skipIf(peer === undefined)('as xarray reads them', () => {
  const variables = Object.entries(GRIDS).flatMap(([name, { variables = [] }]) => variables.map((variable) => [variable.name, name] as const)) // biome-ignore format: one line
  test.each(variables)('%s of %s', async (variable, name) => {
    await using ds = await openDataset(join(folder, name))
    expect([...ds.decodeErrors]).toEqual([])
    const theirs = await peer!.run(join(folder, name), variable, [])
    if ('refused' in theirs) throw new Error(theirs.refused)
    await expectPeer(ds.get(variable), theirs, 1e-6)
  })

  test('the nearest cells of a swath are those that a search of all cells finds', async () => {
    await using ds = await openDataset(join(folder, 'swath.nc'))
    const [lats, lons] = [await valuesOf(ds.get('lat')), await valuesOf(ds.get('lon'))] as [number[], number[]]
    const found = ds.get('tas').selPoints(lats.map((lat, i) => ({ lat: lat + 0.02, lon: lons[i]! - 360.03 })), { method: 'nearest' }) // biome-ignore format: one line
    expect(await valuesOf(found)).toEqual(lats.map((_, i) => 270 + i))
  })

  test.each<[string, string, readonly Step[], object]>([
    ['noleap.nc', 'tas', [['groupBy', { key: 'time.year', kind: 'mean' }]], {}],
    ['360_day.nc', 'tas', [['sel', { labels: { time: '1999-02' } }]], { time: '1999-02' }],
    ['packed.nc', 'tas', [['reduce', { kind: 'mean' }]], {}],
    ['two-missing.nc', 'pr', [['reduce', { kind: 'sum' }]], {}],
  ])('%s: %s %j', async (name, variable, steps, labels) => {
    await using ds = await openDataset(join(folder, name))
    const array = ds.get(variable)
    const [[step, options]] = steps as [[string, { key: string; kind: 'mean' }]]
    const own = step === 'groupBy' ? array.groupBy(options.key).mean() : step === 'sel' ? array.sel(labels as never) : array[options.kind]() // biome-ignore format: one line
    const theirs = await peer!.run(join(folder, name), variable, steps)
    if ('refused' in theirs) throw new Error(theirs.refused)
    await expectPeer(own, theirs, 1e-6)
  })
})

test('dimensions are swapped with coordinates along them alone, which keep what else there was', async () => {
  await using ds = await openDataset(join(folder, 'other-names.nc'))
  await expect(ds.swapDims({ x: 'lat' })).rejects.toThrow(/labels of x are to be "lat", which lies along \[y\]/)
  await expect(ds.swapDims({ x: 'none' })).rejects.toThrow(/which is not there/)
  const swapped = await ds.swapDims({ x: 'lon' })
  expect(swapped.dims).toEqual({ y: 2, lon: 3 })
  const back = await (await swapped.assign({ x: { dims: ['lon'], data: [1, 2, 3] } }).swapDims({ lon: 'x' })).get('tas')
  expect(await valuesOf(back.sel({ x: 3 }))).toEqual([282, 285])
  expect(await valuesOf(back.coords['lon']!)).toEqual([10, 12.5, 15])
})

test('variables become coordinates by name', async () => {
  await using ds = await openDataset(join(folder, 'packed.nc'))
  const set = ds.assign({ place: { dims: ['x'], data: [1, 2, 3, 4] } }).setCoords('place')
  expect(Object.keys(set.variables)).toEqual(['tas'])
  expect(await valuesOf(set.get('tas').coords['place']!)).toEqual([1, 2, 3, 4])
  expect(() => ds.setCoords('places')).toThrow(expect.objectContaining({ tag: 'UnknownArrayError' }))
})

test('bounds of a climatology are times, and coordinates, as those of cells are', async () => {
  const raw = (name: string, dims: string[], values: number[], attrs: Record<string, string>) => {
    const shape = dims.map((dim) => (dim === 'nv' ? 2 : values.length / (dims.length === 2 ? 2 : 1)))
    const array = new DiskArray({ dtype: 'float64', shape, readBlock: (box, out) => copyTensor(viewTensor(tensorOf('float64', shape, Float64Array.from(values)), box.map(viewOf)), out) }) // biome-ignore format: one line
    return { name, dims, array: array as DiskArray, attrs: new Map(Object.entries(attrs)) }
  }
  const time = raw('time', ['time'], [15, 45], { units: 'days since 1990-01-01', climatology: 'periods' })
  const ds = await Dataset.from({ variables: [time, raw('periods', ['time', 'nv'], [0, 3683, 31, 3711], {})] })
  expect(Object.keys(ds.coords)).toEqual(['time', 'periods'])
  expect((await ds.get('periods').dates())[1]).toEqual(new Date('2000-02-01'))
})

describe('the page about them', () => {
  const examples = [...page.matchAll(/## (.*)\n[^#]*?```js\n([\s\S]*?)```/g)].map(([, title, code]) => [title!, code!] as const)

  test('has an example of each', () => {
    const opened = new Set([...page.matchAll(/openDataset\('(.*?)'/g)].map(([, name]) => name!))
    expect([...opened].sort()).toEqual(Object.keys(GRIDS).sort())
    expect(examples).toHaveLength(Object.keys(GRIDS).length)
  })

  test.each(examples)('%s: what is printed is what the comments say', (_, code) => {
    // Node 20 knows no `await using`.
    const { outputText } = ts.transpileModule(code, { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext } }) // biome-ignore format: one line
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', outputText], { cwd: folder, encoding: 'utf8' }) // biome-ignore format: one line
    const promised = code.split('\n').flatMap((line) => /console\.log\(.*\) \/\/ (.*)$/.exec(line)?.[1] ?? [])
    expect(stderr).toBe('')
    expect(promised.length).toBeGreaterThan(0)
    expect(stdout.trimEnd().split('\n')).toEqual(promised)
  })
})
