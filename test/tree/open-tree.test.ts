import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { flatGroup } from '../../src/array/flat-group.ts'
import { openPlace } from '../../src/cli/commands/place.ts'
import { RecipeOpener } from '../../src/cluster/open-recipe.ts'
import { Pins } from '../../src/cluster/pins.ts'
import { copyTree } from '../../src/copy/copy-tree.ts'
import { HyperslabError } from '../../src/core/errors.ts'
import { copyTensor, tensorOf } from '../../src/core/tensor.ts'
import { importPlace } from '../../src/dataset/import/import-place.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { slice } from '../../src/grid/slice.ts'
import { local, planJob } from '../../src/runtime/cluster.ts'
import { create, open, openTree } from '../../src/runtime/index.ts'
import { asZarrStore, createZarr, openZarr } from '../../src/runtime/zarr.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { readWhole } from '../../src/store/whole.ts'
import { FORMATS, type Format } from '../../src/tree/formats.ts'
import { writeNetcdf } from '../support/netcdf-writer.ts'
import { plainGet } from '../support/oracle.ts'
import { plainZip } from '../support/plain-zip.ts'
import { RudeServer } from '../support/rude-server.ts'

/** An array of two dimensions that every format stores as `v`, with the attribute `units`. */
interface Values {
  readonly shape: readonly [number, number]
  readonly data: Int16Array
}

const VALUES: Values = { shape: [3, 4], data: Int16Array.from({ length: 12 }, (_, i) => i * 7 - 20) }

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

async function writeContainer({ shape, data }: Values, store: MemoryStore): Promise<void> {
  await using file = await create({ store, path: 'x.af' })
  const array = file.createArray('v', { dtype: 'int16', shape: [...shape], chunks: [2, 3], dimensionNames: ['y', 'x'] })
  array.attrs.set('units', 'm')
  await array.set(null, data)
  await file.flush()
}

async function writeZarr({ shape, data }: Values, store: MemoryStore): Promise<Map<string, Uint8Array>> {
  await using group = await createZarr({ store, path: 'x.zarr' })
  const attributes = { units: 'm' }
  const array = await group.createArray('v', {
    dtype: 'int16',
    shape: [...shape],
    chunks: [2, 3],
    dimensionNames: ['y', 'x'],
    attributes,
  })
  await array.set(null, data)
  await group.consolidate()
  const keys = await store.list('x.zarr/')
  const found = new Map<string, Uint8Array>()
  for (const key of keys) found.set(key.slice('x.zarr/'.length), (await readWhole(store, key))!.bytes)
  return found
}

const netcdfOf = ({ shape: [y, x], data }: Values): Uint8Array =>
  writeNetcdf({
    dimensions: [['y', y], ['x', x]],
    variables: [{ name: 'v', type: 'short', dimensions: ['y', 'x'], attributes: [{ name: 'units', type: 'char', value: 'm' }], values: [...data] }],
  }) // biome-ignore format: one line

const referencesOf = (objects: ReadonlyMap<string, Uint8Array>): Uint8Array =>
  encode(
    JSON.stringify({
      version: 1,
      refs: Object.fromEntries([...objects].map(([key, bytes]) => [key, `base64:${Buffer.from(bytes).toString('base64')}`])),
    }),
  )

/** A format that only this test knows: `TOY1`, then JSON. */
const toyOf = ({ shape, data }: Values): Uint8Array => encode(`TOY1${JSON.stringify({ shape, data: [...data] })}`)

/** The whole of a new format: a room that opens it, and a row. */
const TOY: Format = {
  name: 'toy',
  noun: 'a toy file',
  plural: 'toy files',
  endings: /\.toy$/,
  starts: ['TOY1'],
  options: [],
  open: async ({ store, path }) => {
    const { bytes } = (await readWhole(store, path))!
    const { shape, data } = JSON.parse(new TextDecoder().decode(bytes.subarray(4))) as { shape: number[]; data: number[] }
    const all = tensorOf('int16', shape, Int16Array.from(data))
    const attrs = new Map([['units', 'm']])
    const array = new DiskArray({
      dtype: 'int16',
      shape,
      dimensionNames: ['y', 'x'],
      attrs,
      readBlock: (box, out) => copyTensor(boxOf(all, box), out),
    })
    const root = flatGroup({
      label: store.describe(path),
      title: 'toy',
      attrs: new Map(),
      names: () => ['v'],
      array: (name) => {
        if (name === 'v') return { array: array as never, attrs, storage: async () => ({ chunkShape: array.chunks.chunkShape }) }
        throw new HyperslabError('UnknownArrayError', 'there is no such array; there is v', { array: name, expected: ['v'] })
      },
    })
    return { root, warnings: [], close: async () => store.close?.() }
  },
}

/** The elements of a box, by the obvious loop. */
function boxOf(
  all: { readonly data: Int16Array; readonly shape: readonly number[] },
  box: readonly { start: number; stop: number; step: number }[],
) {
  const [rows, columns] = box.map(({ start, stop, step }) => {
    const list: number[] = []
    for (let i = start; step > 0 ? i < stop : i > stop; i += step) list.push(i)
    return list
  }) as [number[], number[]]
  const data = Int16Array.from(rows.flatMap((y) => columns.map((x) => all.data[y * all.shape[1]! + x]!)))
  return tensorOf('int16', [rows.length, columns.length], data)
}

afterEach(() => {
  const at = FORMATS.indexOf(TOY)
  if (at >= 0) FORMATS.splice(at, 1)
})

/** Writes the values in every format into a store, and returns the names, by format. */
async function writeAll(values: Values, store: MemoryStore): Promise<Record<string, string>> {
  await writeContainer(values, store)
  const objects = await writeZarr(values, store)
  await store.put('x.nc', netcdfOf(values))
  await store.put('x.zip', plainZip([...objects]))
  await store.put('x.json', referencesOf(objects))
  await store.put('x.toy', toyOf(values))
  return { container: 'x.af', netcdf: 'x.nc', zarr: 'x.zarr', zip: 'x.zip', references: 'x.json', toy: 'x.toy' }
}

describe('openTree', () => {
  const indices = fc.oneof(
    fc.constant(null),
    fc.tuple(fc.nat(8), fc.nat(8)).map(([a, b]) => slice(Math.min(a, b), Math.max(a, b))),
  )

  test('reads the same elements from every format, as the oracle has them', async () => {
    FORMATS.push(TOY)
    const values = fc
      .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }))
      .chain(([y, x]) =>
        fc
          .array(fc.integer({ min: -9999, max: 9999 }), { minLength: y * x, maxLength: y * x })
          .map((data) => ({ shape: [y, x] as const, data: Int16Array.from(data) })),
      )
    await fc.assert(
      fc.asyncProperty(values, indices, indices, async (given, rows, columns) => {
        const store = new MemoryStore()
        const expected = plainGet({ dtype: 'int16', ...given }, [rows, columns])
        for (const [format, path] of Object.entries(await writeAll(given, store))) {
          await using tree = await openTree({ store, path })
          expect(tree.format).toBe(format)
          if (tree.root.kind !== 'group') throw new Error(format)
          expect([await tree.root.arrays(), await tree.root.groups(), (await tree.root.unreadable()).size], format).toEqual([
            ['v'],
            [],
            0,
          ])
          const node = await tree.root.array('v')
          expect([node.path, node.attrs?.get('units')], format).toEqual(['v', 'm'])
          const { data, shape } = await node.array.get([rows, columns])
          expect([shape, Array.from(data as Int16Array)], format).toEqual([expected.shape, Array.from(expected.data)])
        }
      }),
      { numRuns: 20 },
    )
  })

  test('gives every format a version that changes with its content', async () => {
    FORMATS.push(TOY)
    const store = new MemoryStore()
    const paths = Object.values(await writeAll(VALUES, store))
    const versions = async (): Promise<string[]> => {
      const found: string[] = []
      for (const path of paths) {
        await using tree = await openTree({ store, path })
        found.push(await tree.version(['v']))
      }
      return found
    }
    const before = await versions()
    expect(await versions()).toEqual(before)
    await using file = await open({ store, path: 'x.af' })
    await file.array('v').set([0, 0], 1)
    await file.flush()
    await using group = await openZarr({ store, path: 'x.zarr' }, { mode: 'r+', kind: 'group' })
    await group.updateAttributes({ title: 'changed' })
    for (const path of ['x.nc', 'x.zip', 'x.json', 'x.toy']) await store.put(path, (await readWhole(store, path))!.bytes)
    const after = await versions()
    expect(before.map((version, i) => version === after[i])).toEqual(before.map(() => false))
  })

  test('refuses options of other formats, and names the format that takes them', async () => {
    const store = new MemoryStore()
    await writeAll(VALUES, store)
    await expect(openTree({ store, path: 'x.zarr' }, { layer: 0 })).rejects.toThrow(
      /`layer` is for containers, and this is a Zarr store/,
    )
    await expect(openTree({ store, path: 'x.nc' }, { layer: 0 })).rejects.toThrow(
      /`layer` is for containers, and this is a NetCDF file/,
    )
    await expect(openTree({ store, path: 'x.af' }, { names: ['v'] })).rejects.toThrow(
      /`names` is for Zarr stores, and this is a container/,
    )
  })

  test('opens the state that a layer of a container left, and lists its layers', async () => {
    const store = new MemoryStore()
    await writeContainer(VALUES, store)
    await using file = await open({ store, path: 'x.af' })
    await file.array('v').set([0, 0], 99)
    await file.flush()
    await using newest = await openTree({ store, path: 'x.af' })
    await using base = await openTree({ store, path: 'x.af' }, { layer: 0 })
    const first = async (tree: typeof base) => tree.root.kind === 'group' && (await tree.root.array('v')).array.get([0, 0])
    expect([await first(newest), await first(base)]).toEqual([99, VALUES.data[0]])
    expect([newest.layers.length, base.layers.length]).toEqual([2, 1])
  })

  test('opens an array that is stored by itself as the root', async () => {
    const store = new MemoryStore()
    await writeZarr(VALUES, store)
    await using tree = await openTree({ store, path: 'x.zarr/v' })
    expect(tree.root.kind === 'array' && (await tree.root.array.get([2, 3]))).toBe(VALUES.data[11])
  })
})

describe('a format that has a row in the table', () => {
  test('is read by datasets, jobs and commands, without another line', async () => {
    FORMATS.push(TOY)
    const folder = await mkdtemp(join(tmpdir(), 'hyperslab-tree-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    // Its first bytes tell the format of a local file, whatever its name.
    const path = join(folder, 'x.dat')
    await writeFile(path, toyOf(VALUES))
    await using ds = await openDataset(path)
    expect(Array.from((await ds.get('v').values()) as ArrayLike<number>)).toEqual([...VALUES.data])
    await using opener = new RecipeOpener(new Pins(), {})
    const array = await opener.open({ location: path, array: 'v' })
    expect(await array.get([1, 2])).toBe(VALUES.data[6])
    await using place = await openPlace(path, {})
    const { format, arrays } = await place.describe({})
    expect([format, arrays.map(({ name, shape }) => [name, shape])]).toEqual(['toy', [['v', [3, 4]]]])
    await expect(openPlace(path, { layer: 1 })).rejects.toThrow(`\`layer\` is for containers, and ${path} is a toy file`)
  })
})

describe('a new format', () => {
  async function toyFile(): Promise<{ readonly folder: string; readonly path: string }> {
    FORMATS.push(TOY)
    const folder = await mkdtemp(join(tmpdir(), 'hyperslab-toy-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const path = join(folder, 'x.toy')
    await writeFile(path, toyOf(VALUES))
    return { folder, path }
  }

  const elementsOf = async (array: { values(): Promise<unknown> }): Promise<number[]> =>
    Array.from((await array.values()) as ArrayLike<number>)

  test('is imported into a container with its attributes', async () => {
    const { folder, path } = await toyFile()
    const target = join(folder, 'x.af')
    const { arrays, sourceBytes } = await importPlace(path, target, { chunks: { y: 1 } })
    expect([arrays, sourceBytes]).toEqual([['v'], toyOf(VALUES).length])
    await using file = await open(target)
    const array = file.array('v')
    expect([array.attrs.get('units'), array.chunks.chunkShape[0], array.dimensionNames]).toEqual(['m', 1, ['y', 'x']])
    expect(await elementsOf(array)).toEqual([...VALUES.data])
    await expect(importPlace(path, join(folder, 'y.af'), { names: ['v'] })).rejects.toThrow(
      '`names` is for Zarr stores, and this is a toy file',
    )
    await expect(importPlace(path, join(folder, 'y.af'), { variables: ['w'] })).rejects.toMatchObject({
      tag: 'UnknownArrayError',
    })
    expect(readdirSync(folder).sort()).toEqual(['x.af', 'x.stats', 'x.toy'])
  })

  test('is imported into no container if its target is taken, and stays closed', async () => {
    const { folder, path } = await toyFile()
    await writeFile(join(folder, 'x.af'), 'mine')
    await expect(importPlace(path, join(folder, 'x.af'))).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
    expect(readFileSync(join(folder, 'x.af'), 'utf8')).toBe('mine')
    expect(readdirSync(folder).sort()).toEqual(['x.af', 'x.toy'])
  })

  test('is exported to every format that is written, and read back', async () => {
    const { folder, path } = await toyFile()
    for (const name of ['x.zarr', 'x.af']) {
      await using ds = await openDataset(path)
      await ds.write(join(folder, name), { chunks: { x: 2 } })
      await using copy = await openDataset(join(folder, name))
      expect([name, copy.get('v').attrs['units'], await elementsOf(copy.get('v'))]).toEqual([name, 'm', [...VALUES.data]])
    }
  })

  test('is the source of jobs that reduce and copy', async () => {
    const { folder, path } = await toyFile()
    const source = { location: path, array: 'v' }
    const sum = await planJob({ method: 'sum', source })
    expect(await local().run(sum)).toBe(VALUES.data.reduce((a, b) => a + b, 0))
    for (const name of ['j.zarr', 'j.af']) {
      const target = join(folder, name)
      await local().run(await planJob({ method: 'copy', source: { dataset: path }, target, options: { chunks: { y: 1 } } }))
      await using copy = await openDataset(target)
      expect(await elementsOf(copy.get('v'))).toEqual([...VALUES.data])
    }
    await writeFile(path, toyOf({ ...VALUES, shape: [4, 3] }))
    await expect(local().run(sum)).rejects.toMatchObject({ tag: 'ConflictError' })
  })

  test('is copied as one file, which replaces only a file of its format', async () => {
    const { folder, path } = await toyFile()
    const target = join(folder, 'y.toy')
    await copyTree(path, target)
    expect(readFileSync(target)).toEqual(readFileSync(path))
    await writeFile(target, toyOf({ shape: [1, 1], data: Int16Array.of(7) }))
    await copyTree(path, target, { overwrite: true })
    expect(readFileSync(target)).toEqual(readFileSync(path))
    await writeFile(target, netcdfOf(VALUES))
    await expect(copyTree(path, target, { overwrite: true })).rejects.toThrow(
      /is of the kind 'netcdf', and the new one of the kind 'toy'/,
    )
  })

  test('is served as Zarr', async () => {
    const { path } = await toyFile()
    await using tree = await openTree(path)
    if (tree.root.kind !== 'group') throw new Error('no group')
    const { array } = await tree.root.array('v')
    await using group = await openZarr(asZarrStore({ v: array }), { kind: 'group' })
    expect(await elementsOf(await group.array('v'))).toEqual([...VALUES.data])
  })

  test('has no code of xarray unless its row names an engine', async () => {
    const { path } = await toyFile()
    await using ds = await openDataset(path)
    await expect(ds.get('v').toPython()).rejects.toThrow("a file of the format 'toy', which xarray does not open")
    FORMATS.splice(FORMATS.indexOf(TOY), 1, { ...TOY, xarray: 'engine="toy"' })
    onTestFinished(() => void FORMATS.pop())
    expect(await ds.get('v').toPython()).toContain(`xr.open_dataset("${path}", engine="toy")`)
  })
})

describe('importPlace', () => {
  test('copies every format into a container with the same elements and attributes', async () => {
    FORMATS.push(TOY)
    const store = new MemoryStore()
    for (const [format, path] of Object.entries(await writeAll(VALUES, store))) {
      const target = { store, path: `${format}-copy.af` }
      await importPlace({ store, path }, target)
      await using file = await open(target)
      const array = file.array('v')
      expect(
        [array.attrs.get('units'), array.dimensionNames, Array.from((await array.values()) as ArrayLike<number>)],
        format,
      ).toEqual(['m', ['y', 'x'], [...VALUES.data]])
    }
  })

  test('copies a Zarr folder on a server whose name is that of an archive or a container', async () => {
    const store = new MemoryStore()
    const objects = await writeZarr(VALUES, store)
    const rude = await RudeServer.start()
    onTestFinished(() => rude.stop())
    for (const name of ['y.zip', 'y.af']) {
      for (const [key, bytes] of objects) rude.put(`${name}/${key}`, bytes)
      const target = { store, path: `${name}-copy.af` }
      await importPlace(`${rude.origin}/${name}`, target)
      await using file = await open(target)
      expect(Array.from((await file.array('v').values()) as ArrayLike<number>), name).toEqual([...VALUES.data])
    }
  })
})

describe('info of a place on a server', () => {
  test.each(['x.af', 'x.nc', 'x.zarr', 'x.zip', 'x.json'])('requests no bytes of %s twice', async (name) => {
    const store = new MemoryStore()
    await writeAll(VALUES, store)
    const rude = await RudeServer.start()
    onTestFinished(() => rude.stop())
    for (const key of await store.list('')) rude.put(key, (await readWhole(store, key))!.bytes)
    await using place = await openPlace(`${rude.origin}/${name}`, {})
    await place.describe({})
    const asked = rude.seen.map(({ method, url, range }) => `${method} ${url} ${range ?? ''}`)
    expect(asked.length).toBeGreaterThan(0)
    expect(asked.filter((each, i) => asked.indexOf(each) < i)).toEqual([])
  })
})

describe('open', () => {
  test.each([
    ['x.nc', 'a NetCDF file'],
    ['x.zarr', 'a Zarr store'],
    ['x.zip', 'a Zarr store'],
  ])('names the calls that open %s instead', async (path, noun) => {
    const store = new MemoryStore()
    await writeAll(VALUES, store)
    await expect(open({ store, path })).rejects.toThrow(`this is ${noun}: openDataset opens it, or openTree`)
  })

  test('says nothing of other formats where there is nothing', async () => {
    const error = await open({ store: new MemoryStore(), path: 'x.zarr' }).catch((reason: Error) => reason)
    expect(String(error)).not.toContain('openTree')
  })
})
