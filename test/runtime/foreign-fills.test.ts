import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asZarrStore } from '../../src/adapters/zarr/as-zarr-store.ts'
import { type IndexedArray, referenceArray, referenceDocument } from '../../src/adapters/zarr/write/reference-list.ts'
import { exportZarr } from '../../src/copy/export-zarr.ts'
import { arrayAsStored } from '../../src/copy/stored-arrays.ts'
import { writeJson } from '../../src/core/json.ts'
import type { Dataset } from '../../src/dataset/dataset.ts'
import { importNetcdf } from '../../src/dataset/import/import-netcdf.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { open } from '../../src/runtime/index.ts'
import { openNetcdf } from '../../src/runtime/netcdf.ts'
import { createZarr, importZarr, openZarr, type ZarrArray, type ZarrGroup } from '../../src/runtime/zarr.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { folderInMemory } from '../support/folder.ts'
import { utf8, type WriterAttribute, type WriterVariable, writeNetcdf } from '../support/netcdf-writer.ts'
import { startPython } from '../support/python.ts'

const none = Number.NaN
const UNSIGNED: WriterAttribute = { name: '_Unsigned', type: 'char', value: 'true' }
const fill = (type: WriterAttribute['type'], ...value: number[]): WriterAttribute => ({ name: '_FillValue', type, value })
const text = (name: string, value: string): WriterAttribute => ({ name, type: 'char', value })
const list = async (ds: Dataset, name = 'v'): Promise<unknown[]> =>
  Array.from((await ds.get(name).values()) as ArrayLike<unknown>)

describe('values of a foreign store', () => {
  /** A group with an array `v` of version 3, of bytes. */
  async function bytes(attributes: object, values: readonly number[]): Promise<MemoryStore> {
    const store = new MemoryStore()
    const put = (key: string, value: unknown) => store.put(key, utf8Bytes(writeJson(value)))
    await put('a.zarr/zarr.json', { zarr_format: 3, node_type: 'group', attributes: {} })
    await put('a.zarr/v/zarr.json', {
      ...{ zarr_format: 3, node_type: 'array', shape: [values.length], data_type: 'int8', fill_value: 0, attributes },
      chunk_grid: { name: 'regular', configuration: { chunk_shape: [values.length] } },
      chunk_key_encoding: { name: 'default' },
      codecs: [{ name: 'bytes' }],
      dimension_names: ['x'],
    })
    await store.put('a.zarr/v/c/0', Uint8Array.from(values))
    return store
  }

  test.each([
    ['of the other sign', { _Unsigned: 'true', _FillValue: -2, missing_value: 255 }, [254, 255, 1], [none, none, 1]],
    [
      'of both signs',
      { _Unsigned: 'true', _FillValue: 254, missing_value: [-1, 253] },
      [254, 255, 253, 1],
      [none, none, none, 1],
    ],
    ['of unsigned bytes by their range', { valid_range: [0, 255], _FillValue: -2, missing_value: 255 }, [254, 255, 1], [none, none, 1]], // biome-ignore format: one line
    ['beyond the type', { _FillValue: -2, missing_value: [255, 3] }, [254, 255, 3], [none, -1, none]],
    ['that are text', { _FillValue: 'none', missing_value: 3 }, [254, 3], [-2, none]],
  ] as const)('%s stay missing in a container, and in Zarr made of it', async (_, attributes, values, expected) => {
    const store = await bytes(attributes, values)
    expect(await list(await openDataset({ store, path: 'a.zarr' }))).toEqual(expected)
    await importZarr({ store, path: 'a.zarr' }, { store, path: 'b.af' })
    const container = await openDataset({ store, path: 'b.af' })
    expect(await list(container)).toEqual(expected)
    await container.write({ store, path: 'c.zarr' })
    expect(await list(await openDataset({ store, path: 'c.zarr' }))).toEqual(expected)
  })
})

test('durations of Zarr that are copied array by array, or served, keep their unit', async () => {
  const store = new MemoryStore()
  const put = (key: string, value: unknown) => store.put(key, utf8Bytes(writeJson(value)))
  await put('a.zarr/zarr.json', { zarr_format: 3, node_type: 'group', attributes: {} })
  await put('a.zarr/v/zarr.json', {
    ...{ zarr_format: 3, node_type: 'array', shape: [2], fill_value: 0, attributes: { long_name: 'age' } },
    data_type: { name: 'numpy.timedelta64', configuration: { unit: 'h', scale_factor: 1 } },
    chunk_grid: { name: 'regular', configuration: { chunk_shape: [2] } },
    chunk_key_encoding: { name: 'default' },
    codecs: [{ name: 'bytes', configuration: { endian: 'little' } }],
    dimension_names: ['x'],
  })
  await store.put('a.zarr/v/c/0', new Uint8Array(BigInt64Array.of(3n, -(2n ** 63n)).buffer))
  const group = (await openZarr({ store, path: 'a.zarr' })) as ZarrGroup
  const v = await group.array('v')
  await exportZarr({ attributes: new Map(), arrays: [arrayAsStored('v', v)] }, { store, path: 'b.zarr' }, {})
  const expected = { long_name: 'age', units: 'hours', dtype: 'timedelta64[s]' }
  const copy = await ((await openZarr({ store, path: 'b.zarr' })) as ZarrGroup).array('v')
  expect(Object.fromEntries(copy.attrs!)).toMatchObject(expected)
  const served = (await openZarr(asZarrStore({ v }), { kind: 'group' })) as ZarrGroup
  expect(Object.fromEntries((await served.array('v')).attrs!)).toMatchObject(expected)
})

const utf8Bytes = (value: string): Uint8Array => Uint8Array.from(utf8(value))

interface Case {
  readonly type: WriterVariable['type']
  readonly attributes: readonly WriterAttribute[]
  readonly values: readonly number[]
  readonly expected: readonly number[]
  /** Pattern that a warning must match. Optional: without it, no warning is expected. */
  readonly warning?: RegExp
}

const CASES: Readonly<Record<string, Case>> = {
  otherSign: { type: 'byte', attributes: [UNSIGNED, fill('short', 255)], values: [-1, -2, 3], expected: [none, 254, 3] },
  beyond: { type: 'short', attributes: [fill('int', 99999)], values: [-1, 7], expected: [-1, 7], warning: /_FillValue is 99999/ },
  fraction: { type: 'short', attributes: [fill('double', -9.5)], values: [-9, 7], expected: [-9, 7], warning: /-9.5/ },
  words: { type: 'short', attributes: [text('_FillValue', '-999')], values: [-999, 7], expected: [-999, 7], warning: /"-999"/ },
  NaNText: { type: 'float', attributes: [text('_FillValue', 'NaN')], values: [none, 7], expected: [none, 7] },
  floatWords: { type: 'float', attributes: [text('_FillValue', 'x')], values: [2, 7], expected: [2, 7], warning: /"x"/ },
  several: {
    type: 'short',
    attributes: [fill('short', -999, 3)],
    values: [-999, 3, 7],
    expected: [none, none, 7],
    warning: /2 values/,
  },
  severalFloats: { type: 'double', attributes: [fill('double', -999, 3)], values: [-999, 3, 7], expected: [none, none, 7], warning: /2 values/ }, // biome-ignore format: one line
  severalAndMore: {
    ...{ type: 'int', attributes: [fill('int', -999, 3), { name: 'missing_value', type: 'int', value: [4] }] },
    ...{ values: [-999, 3, 4, 7], expected: [none, none, none, 7], warning: /2 values/ },
  },
  partly: { type: 'short', attributes: [fill('int', 99999, -3)], values: [-3, 7], expected: [none, 7], warning: /99999/ },
  empty: { type: 'short', attributes: [fill('short')], values: [-3, 7], expected: [-3, 7], warning: /empty list/ },
}

describe('a `_FillValue` of unsigned integers that are signed, or the other way round', () => {
  const python = startPython('zarr_attributes.py')
  let folder: string
  beforeAll(async () => {
    folder = await folderInMemory('signs')
  })
  afterAll(async () => {
    python?.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** Attributes and values of an array of bytes, and the decoded values, those that are missing as null. */
  const SIGNS = {
    fill: ['uint8', { _Unsigned: 'false', _FillValue: 255 }, [255, 254, 1], [null, -2, 1]],
    negative: ['uint8', { _Unsigned: 'false', _FillValue: -1 }, [255, 254, 1], [null, -2, 1]],
    both: ['uint8', { _Unsigned: 'false', _FillValue: 200, missing_value: 200 }, [200, 254, 1], [null, -2, 1]],
    packed: ['uint8', { _Unsigned: 'false', _FillValue: 255, scale_factor: 0.5 }, [255, 254, 4], [null, -1, 2]],
    ranged: ['uint8', { _Unsigned: 'false', _FillValue: 128, valid_max: 100 }, [128, 1, 2], [null, 1, 2]],
    positive: ['uint8', { _Unsigned: 'false', _FillValue: 7 }, [255, 7, 1], [-1, null, 1]],
    short: ['uint16', { _Unsigned: 'false', _FillValue: 65_535 }, [65_535, 255, 1], [null, 255, 1]],
    unsigned: ['int8', { _Unsigned: 'true', _FillValue: 255 }, [-1, -2, 1], [null, 254, 1]],
    unsignedBoth: ['int8', { _Unsigned: 'true', _FillValue: -1, missing_value: 255 }, [-1, -2, 1], [null, 254, 1]],
    // xarray compares the text, so these stay unsigned there.
    capital: ['uint8', { _Unsigned: 'True', _FillValue: 255 }, [255, 254, 1], [null, 254, 1]],
  } as const

  /** A Zarr store with an array of each, with the attributes as given. */
  async function signs(path: string): Promise<void> {
    const group = await createZarr(path)
    for (const [name, [dtype, attributes, values]] of Object.entries(SIGNS)) {
      const array = await group.createArray(name, { dtype, shape: [3], dimensionNames: ['x'], attributes } as never)
      const data = { int8: Int8Array, uint8: Uint8Array, uint16: Uint16Array }[dtype].from(values as readonly number[])
      await (array as ZarrArray).set(null, data as never)
    }
  }

  /** Expects the decoded values in xarray, which also writes what it has read. */
  async function expectSigns(path: string): Promise<void> {
    await using ds = await openDataset(path)
    for (const [name, [, , , expected]] of Object.entries(SIGNS))
      expect(await list(ds, name), `${path} ${name}`).toEqual(expected.map((each) => each ?? none))
    if (python === undefined || !path.endsWith('.zarr')) return
    const found = (await python.ask({ path, kind: 'zarr', again: `${path}.again` })) as {
      readonly error?: string
      readonly variables?: Readonly<Record<string, { readonly values: readonly unknown[] }>>
    }
    expect(found.error, path).toBeUndefined()
    for (const [name, [, , , expected]] of Object.entries(SIGNS))
      expect(found.variables![name]!.values, `${path} ${name} in xarray`).toEqual(expected)
  }

  test('is written in the sign that xarray reads, and means the same there', { timeout: 60_000 }, async () => {
    const at = (name: string): string => join(folder, name)
    await signs(at('a.zarr'))
    await expectSigns(at('a.zarr'))
    await using ds = await openDataset(at('a.zarr'))
    await ds.write(at('b.zarr'))
    await expectSigns(at('b.zarr'))
    await importZarr(at('a.zarr'), at('c.af'))
    await expectSigns(at('c.af'))
    await using container = await openDataset(at('c.af'))
    await container.write(at('d.zarr'))
    await expectSigns(at('d.zarr'))
    const group = (await openZarr(at('a.zarr'))) as ZarrGroup
    const arrays = await Promise.all((await group.arrays()).map(async (name) => arrayAsStored(name, await group.array(name))))
    await exportZarr({ attributes: new Map(), arrays }, at('e.zarr'), {})
    await expectSigns(at('e.zarr'))
    await using file = await open(at('c.af'))
    const stored = file.arrays().map((name) => arrayAsStored(name, file.array(name) as never))
    await exportZarr({ attributes: new Map(), arrays: stored }, at('f.zarr'), {})
    await expectSigns(at('f.zarr'))
  })

  test('is respelled when attributes are changed one by one', async () => {
    const store = new MemoryStore()
    const group = await createZarr({ store, path: 'a.zarr' })
    const array = (await group.createArray('v', { dtype: 'uint8', shape: [2] })) as ZarrArray
    await array.updateAttributes({ _FillValue: 255 })
    await array.updateAttributes({ _Unsigned: 'false' })
    expect(Object.fromEntries(array.attrs!)).toMatchObject({ _FillValue: -1 })
    await array.updateAttributes({ _FillValue: 254, missing_value: [254, 3] })
    expect(Object.fromEntries(array.attrs!)).toMatchObject({ _FillValue: -2, missing_value: [-2, 3] })
    const again = (await ((await openZarr({ store, path: 'a.zarr' })) as ZarrGroup).array('v')) as ZarrArray
    expect(Object.fromEntries(again.attrs!)).toMatchObject({ _FillValue: -2, missing_value: [-2, 3] })
  })
})

describe('a `_FillValue` that is no element', () => {
  const python = startPython('zarr_attributes.py')
  let folder: string
  beforeAll(async () => {
    folder = await folderInMemory('foreign-fills')
    const variables: WriterVariable[] = []
    const dimensions: [string, number][] = []
    for (const [name, { type, attributes, values }] of Object.entries(CASES)) {
      dimensions.push([`x_${name}`, values.length])
      variables.push({ name, type, dimensions: [`x_${name}`], attributes, values })
    }
    await writeFile(at('a.nc'), writeNetcdf({ dimensions, variables }))
  })
  afterAll(async () => {
    python?.close()
    await rm(folder, { recursive: true, force: true })
  })
  const at = (name: string): string => join(folder, name)

  async function expectMeaning(path: string): Promise<void> {
    await using ds = await openDataset(at(path))
    expect([...ds.decodeErrors.values()].map(({ message }) => message)).toEqual([])
    for (const [name, { expected }] of Object.entries(CASES)) expect(await list(ds, name), `${path} ${name}`).toEqual(expected)
    if (python === undefined || path.endsWith('.af') || path.endsWith('.nc')) return
    const found = (await python.ask({ path: at(path), kind: path.endsWith('.json') ? 'references' : 'zarr' })) as {
      readonly error?: string
      readonly variables?: Readonly<Record<string, { readonly values: readonly unknown[] }>>
    }
    expect(found.error, path).toBeUndefined()
    for (const [name, { expected }] of Object.entries(CASES))
      expect(found.variables![name]!.values, `${path} ${name} in xarray`).toEqual(
        expected.map((each) => (Number.isNaN(each) ? null : each)),
      )
  }

  test('is read with a warning', async () => {
    await expectMeaning('a.nc')
    await using ds = await openDataset(at('a.nc'))
    const expected = Object.entries(CASES).filter(([, { warning }]) => warning !== undefined)
    expect(new Set(ds.warnings.map((each) => each.split("'")[1]))).toEqual(new Set(expected.map(([name]) => name)))
    for (const [name, { warning }] of expected)
      expect(ds.warnings.filter((each) => each.startsWith(`'${name}'`)).join()).toMatch(warning!)
  })

  test('is none in Zarr, which xarray opens', { timeout: 60_000 }, async () => {
    await using ds = await openDataset(at('a.nc'))
    await ds.write(at('a.zarr'))
    await expectMeaning('a.zarr')
    await ds.write(at('b.af'))
    await expectMeaning('b.af')
    await using container = await openDataset(at('b.af'))
    await container.write(at('b.zarr'))
    await expectMeaning('b.zarr')
    await importNetcdf(at('a.nc'), at('c.af'))
    await expectMeaning('c.af')
    await using imported = await openDataset(at('c.af'))
    await imported.write(at('c.zarr'))
    await expectMeaning('c.zarr')
    await importZarr(at('a.zarr'), at('d.af'))
    await expectMeaning('d.af')
  })

  test('is none in Zarr that is copied array by array, and in references', { timeout: 60_000 }, async () => {
    await using file = await openNetcdf(at('a.nc'))
    const arrays = file.variables.map((each) => arrayAsStored(each.name, each))
    await exportZarr({ attributes: new Map(), arrays }, at('r.zarr'), {})
    await expectMeaning('r.zarr')
    await importNetcdf(at('a.nc'), at('e.af'))
    await using container = await open(at('e.af'))
    const stored = container.arrays().map((name) => arrayAsStored(name, container.array(name) as never))
    await exportZarr({ attributes: new Map(), arrays: stored }, at('e.zarr'), {})
    await expectMeaning('e.zarr')
    const group = (await openZarr(at('r.zarr'))) as ZarrGroup
    const again = await Promise.all((await group.arrays()).map(async (name) => arrayAsStored(name, await group.array(name))))
    await exportZarr({ attributes: new Map(), arrays: again }, at('s.zarr'), {})
    await expectMeaning('s.zarr')
    const listed = new Map(
      await Promise.all(
        file.variables.map(async (each) => [each.name, await referenceArray(each as unknown as IndexedArray)] as const),
      ),
    )
    await writeFile(at('n.json'), writeJson(referenceDocument(listed, new Map([['', {}]]), (each) => each)))
    await expectMeaning('n.json')
  })

  test.each([
    ['int8', 255],
    ['int16', '-999'],
    ['int16', 1.5],
    ['int16', [1, 2]],
    ['uint8', []],
    ['float32', 'x'],
  ] as const)('is refused for a new array of %s, as by updateAttributes: %j', async (dtype, value) => {
    const group = await createZarr({ store: new MemoryStore(), path: 'a.zarr' })
    const options = { dtype, shape: [2], attributes: { _FillValue: value } }
    await expect(group.createArray('v', options as never)).rejects.toThrow(/the attribute '_FillValue' is one/)
    const array = await group.createArray('v', { dtype, shape: [2] } as never)
    await expect((array as ZarrArray).updateAttributes({ _FillValue: value })).rejects.toThrow(
      /the attribute '_FillValue' is one/,
    )
  })
})
