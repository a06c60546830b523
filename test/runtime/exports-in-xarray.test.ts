import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ZarrArray } from '../../src/adapters/zarr/group.ts'
import { attributesDocument } from '../../src/adapters/zarr/write/document.ts'
import { type IndexedArray, referenceArray, referenceDocument } from '../../src/adapters/zarr/write/reference-list.ts'
import { nodesBelow } from '../../src/array/walk.ts'
import { exportZarr } from '../../src/copy/export-zarr.ts'
import { arrayAsStored } from '../../src/copy/stored-arrays.ts'
import { writeJson } from '../../src/core/json.ts'
import type { Dataset } from '../../src/dataset/dataset.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { open } from '../../src/runtime/index.ts'
import { openNetcdf } from '../../src/runtime/netcdf.ts'
import { openZarr, type ZarrGroup } from '../../src/runtime/zarr.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { folderInMemory } from '../support/folder.ts'
import { utf8, type WriterAttribute, type WriterFile, writeNetcdf } from '../support/netcdf-writer.ts'
import { startPython } from '../support/python.ts'

interface Described {
  readonly dims: string[]
  readonly dtype: string
  readonly values: unknown[]
  readonly attrs: Record<string, [kind: string, value: unknown]>
  readonly packing: Record<string, [kind: string, value: unknown]>
}
interface Found {
  readonly attrs: Record<string, unknown>
  readonly variables: Record<string, Described>
}

const python = startPython('zarr_attributes.py')
afterAll(() => python?.close())
async function ask(request: object): Promise<Found> {
  const found = (await python!.ask(request)) as Found & { readonly error?: string }
  expect([found.error, Object.keys(found.variables ?? {}).length > 0]).toEqual([undefined, true])
  return found
}

const att = (name: string, type: WriterAttribute['type'], value: WriterAttribute['value']): WriterAttribute => ({
  name,
  type,
  value,
})

/** Attributes of both kinds of numbers, whole and not, alone and in lists; packed, missing and text. */
const FILE: WriterFile = {
  dimensions: [['time', 3], ['y', 2], ['n', 4]], // biome-ignore format: one line
  attributes: [
    att('title', 'char', 'exports'),
    att('resolution', 'double', [2]),
    att('count', 'int', [2]),
    att('corners', 'float', [1, 2.5, -3]),
    att('large', 'double', [1e21]),
  ],
  variables: [
    {
      name: 'time',
      type: 'double',
      dimensions: ['time'],
      values: [0, 1, 2.5],
      attributes: [att('units', 'char', 'days since 2000-01-01'), att('calendar', 'char', 'standard')],
    },
    { name: 'y', type: 'float', dimensions: ['y'], values: [10, 20], attributes: [att('step', 'float', [10])] },
    {
      name: 'packed',
      type: 'short',
      dimensions: ['time', 'y'],
      values: [1, 2, 3, -1, 5, 6],
      attributes: [
        att('scale_factor', 'float', [10]),
        att('add_offset', 'float', [0]),
        att('_FillValue', 'short', [-1]),
        att('units', 'char', 'K'),
        att('limits', 'double', [0, 100]),
        att('level', 'int', [7]),
      ],
    },
    {
      name: 'wide',
      type: 'int',
      dimensions: ['time'],
      values: [1, 2, 3],
      attributes: [att('scale_factor', 'double', [1]), att('add_offset', 'double', [100])],
    },
    {
      name: 'floats',
      type: 'float',
      dimensions: ['time', 'y'],
      values: [1, 2, -999, 4, -888, 6],
      attributes: [att('_FillValue', 'float', [-999]), att('missing_value', 'float', [-888]), att('top', 'float', [50])],
    },
    { name: 'whole', type: 'byte', dimensions: ['time'], values: [1, -2, 3], attributes: [att('codes', 'byte', [1, 2])] },
    {
      name: 'label',
      type: 'char',
      dimensions: ['time', 'n'],
      values: utf8('ab  c   defg'),
      attributes: [att('_FillValue', 'char', ' '), att('_Encoding', 'char', 'utf-8'), att('long_name', 'char', 'a label')],
    },
  ],
}

describe.skipIf(python === undefined)('what is written reads in xarray as its source does', () => {
  let folder: string
  const at = (name: string): string => join(folder, name)
  let source: Found
  beforeAll(async () => {
    folder = await folderInMemory('exports')
    await writeFile(at('a.nc'), writeNetcdf(FILE))
    source = await ask({ path: at('a.nc'), kind: 'netcdf' })
    for (const version of [2, 3]) await ask({ path: at('a.nc'), target: at(`x${version}.zarr`), version })
    // JSON has no float32: factors of this type decode to float64 from Zarr, also where xarray has written
    // it.
    const { variables } = await ask({ path: at('x3.zarr'), kind: 'zarr' })
    for (const [name, { dtype }] of Object.entries(variables)) source.variables[name] = { ...source.variables[name]!, dtype }
  }, 120_000)

  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** Text of NetCDF has blanks at its end, which text elsewhere need not have. */
  const comparable = ({ attrs, variables }: Found): unknown => ({
    attrs,
    variables: Object.fromEntries(
      Object.entries(variables).map(([name, { values, attrs, packing, ...rest }]) => {
        const text = rest.dtype === 'text'
        return [
          name,
          {
            ...rest,
            values: text ? values.map((each) => String(each ?? '').replace(/ *$/, '')) : values,
            attrs,
            packing: text ? {} : packing,
          },
        ]
      }),
    ),
  })

  async function expectAlike(path: string, expected: Found, kind = 'zarr'): Promise<void> {
    const found = await ask({ path, kind })
    expect(comparable(found)).toEqual(comparable(expected))
  }

  async function write(from: string, to: string, options: Parameters<Dataset['write']>[1] = {}): Promise<void> {
    await using ds = await openDataset(at(from))
    await ds.write(at(to), options)
  }

  test('a NetCDF file as Zarr, which has the types of xarray itself', async () => {
    await write('a.nc', 'n.zarr', { chunks: { time: 2 } })
    await expectAlike(at('n.zarr'), source)
  })

  test('a container as Zarr, and as references', async () => {
    await write('a.nc', 'c.af', { blockBytes: 1, codec: 'none' })
    await write('c.af', 'c.zarr')
    await expectAlike(at('c.zarr'), source)
    await using file = await open(at('c.af'))
    const arrays = file.arrays().filter((name) => file.array(name).dtype !== 'string')
    await references(at('c.json'), new Map(arrays.map((name) => [name, file.array(name) as unknown as IndexedArray])), file.attrs)
    const { label: _, ...variables } = source.variables
    await expectAlike(at('c.json'), { ...source, variables }, 'references')
  })

  test('a NetCDF file as references', async () => {
    await using file = await openNetcdf(at('a.nc'))
    await references(
      at('n.json'),
      new Map(file.variables.map((each) => [each.name, each as unknown as IndexedArray])),
      file.attrs,
    )
    await expectAlike(at('n.json'), source, 'references')
  })

  test.each([2, 3])('a Zarr store of version %i, decoded and copied array by array', async (version) => {
    const from = `x${version}.zarr`
    const expected = await ask({ path: at(from), kind: 'zarr' })
    await write(from, `d${version}.zarr`)
    await expectAlike(at(`d${version}.zarr`), expected)
    const group = (await openZarr(at(from))) as ZarrGroup
    const { arrays } = await nodesBelow<ZarrArray, ZarrGroup>(group)
    const copied = arrays.map((array) => arrayAsStored(array.path, array))
    await exportZarr({ attributes: group.attrs as never, arrays: copied }, at(`r${version}.zarr`), {})
    await group.close()
    await expectAlike(at(`r${version}.zarr`), expected)
  })

  test('a pyramid, each level of which has the attributes', async () => {
    await using ds = await openDataset(at('a.nc'))
    const chosen = ds.drop(...Object.keys(ds.variables).filter((name) => !['packed', 'floats'].includes(name)))
    await chosen.write(at('p.zarr'), { levels: 2 })
    for (const group of ['0', '1']) {
      const { variables } = await ask({ path: at('p.zarr'), kind: 'zarr', group })
      for (const name of ['packed', 'floats']) {
        expect(variables[name]!.attrs).toEqual(source.variables[name]!.attrs)
        expect(variables[name]!.packing).toEqual(source.variables[name]!.packing)
        expect(variables[name]!.dtype).toBe(source.variables[name]!.dtype)
      }
    }
  })

  async function references(path: string, arrays: ReadonlyMap<string, IndexedArray>, attrs: object): Promise<void> {
    const listed = new Map(
      await Promise.all([...arrays].map(async ([name, array]) => [name, await referenceArray(array)] as const)),
    )
    await writeFile(
      path,
      writeJson(referenceDocument(listed, new Map([['', attributesDocument(attrs as never)]]), (file) => file)),
    )
  }
})

describe('what is missing stays what it was', () => {
  /** An array of version 2 in a store of its own. */
  async function versionTwo(dtype: string, fill: unknown, attributes: object, values: ArrayLike<number>): Promise<MemoryStore> {
    const store = new MemoryStore()
    const put = (key: string, value: unknown) => store.put(key, new TextEncoder().encode(writeJson(value)))
    await put('a.zarr/.zgroup', { zarr_format: 2 })
    const layout = { zarr_format: 2, shape: [values.length], chunks: [values.length], order: 'C' }
    await put('a.zarr/v/.zarray', { ...layout, dtype, fill_value: fill, compressor: null, filters: null })
    await put('a.zarr/v/.zattrs', attributes)
    const bytes = dtype === '<f4' ? Float32Array.from(values) : Int16Array.from(values)
    await store.put('a.zarr/v/0', new Uint8Array(bytes.buffer))
    return store
  }

  /** Values as a dataset has them, where NaN is what is missing. */
  async function decoded(store: MemoryStore, path: string): Promise<number[]> {
    await using ds = await openDataset({ store, path })
    return Array.from((await ds.get('v').values()) as ArrayLike<number>, Number)
  }

  test.each([
    ['an attribute that means nothing beside the fill value', '<f4', 'NaN', { _FillValue: 1.5 }, [NaN, 1.5, 2], [NaN, 1.5, 2]],
    ['a fill value and another missing value', '<i2', -1, { missing_value: -2 }, [-1, -2, 3], [NaN, NaN, 3]],
    ['an attribute alone', '<i2', null, { _FillValue: -1 }, [-1, -2, 3], [NaN, -2, 3]],
    ['a fill value of zero and an attribute of another', '<i2', 0, { _FillValue: -1 }, [0, -1, 3], [NaN, -1, 3]],
  ] as const)('%s', async (_, dtype, fill, attributes, values, expected) => {
    const store = await versionTwo(dtype, fill, { ...attributes, _ARRAY_DIMENSIONS: ['x'] }, values)
    expect(await decoded(store, 'a.zarr')).toEqual(expected)
    await using ds = await openDataset({ store, path: 'a.zarr' })
    await ds.write({ store, path: 'b.zarr' })
    expect(await decoded(store, 'b.zarr')).toEqual(expected)
    const group = (await openZarr({ store, path: 'a.zarr' })) as ZarrGroup
    await exportZarr(
      { attributes: new Map(), arrays: [arrayAsStored('v', await group.array('v'))] },
      { store, path: 'c.zarr' },
      {},
    )
    expect(await decoded(store, 'c.zarr')).toEqual(expected)
  })

  test('names of dimensions of version 2 are no attribute, and are not written with other dimensions', async () => {
    const store = await versionTwo('<i2', null, { _ARRAY_DIMENSIONS: ['x'], units: 'K', limit: 1 }, [1, 2, 3])
    await using ds = await openDataset({ store, path: 'a.zarr' })
    expect(Object.keys(ds.get('v').attrs)).toEqual(['units', 'limit'])
    await ds.isel({ x: 0 }).write({ store, path: 'b.zarr' })
    const [text] = await Promise.all([store.getRange('b.zarr/v/zarr.json', 0, (await store.stat('b.zarr/v/zarr.json'))!.size)])
    const { attributes } = JSON.parse(new TextDecoder().decode(text)) as { attributes: object }
    expect(attributes).toEqual({ units: 'K', limit: 1 })
  })
})
