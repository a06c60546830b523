import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { referenceArray, referenceDocument } from '../../src/adapters/zarr/write/reference-list.ts'
import { parseJson, writeJson } from '../../src/core/json.ts'
import { concatDatasets, Dataset, openDataset } from '../../src/runtime/dataset.ts'
import { create, MemoryStore, open } from '../../src/runtime/index.ts'
import { importNetcdf, openNetcdf } from '../../src/runtime/netcdf.ts'
import { asZarrStore, createZarr, importZarr, openZarr, verifyZarr } from '../../src/runtime/zarr.ts'
import { folderInMemory } from '../support/folder.ts'
import { writeNetcdf } from '../support/netcdf-writer.ts'

/** Names that every object has members of. */
const NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'] as const

/** A file whose dimensions, coordinates, variables and attributes have such names. */
const netcdf = () =>
  writeNetcdf({
    dimensions: NAMES.map((name, i) => [name, i + 1]),
    attributes: NAMES.map((name, i) => ({ name, type: 'double', value: [i + 0.5] })),
    variables: [
      ...NAMES.map((name, i) => ({
        name,
        type: 'double' as const,
        dimensions: [name],
        attributes: NAMES.map((name, i) => ({ name, type: 'char' as const, value: `text ${i}` })),
        values: Array.from({ length: i + 1 }, (_, at) => 10 * i + at),
      })),
      { name: 'x', type: 'double', dimensions: ['toString', '__proto__'], values: [1, 2, 3] },
    ],
  })

const own = (object: object, name: string): unknown => {
  expect(Object.hasOwn(object, name), name).toBe(true)
  return (object as Record<string, unknown>)[name]
}

/** Checks a dataset by all that it says of itself. */
async function check(dataset: Dataset): Promise<void> {
  for (const [i, name] of NAMES.entries()) {
    expect(own(dataset.dims, name)).toBe(i + 1)
    expect(own(dataset.attrs, name)).toBe(i + 0.5)
    const labels = own(dataset.coords, name) as Dataset
    expect(String(dataset)).toContain(name)
    for (const [i, name] of NAMES.entries()) expect(own(labels.attrs, name)).toBe(`text ${i}`)
    const found = dataset.sel(Object.fromEntries([[name, 10 * i]]))
    expect(Object.hasOwn(found.dims, name)).toBe(false)
    expect(Object.hasOwn(dataset.isel(Object.fromEntries([[name, [0]]])).dims, name)).toBe(true)
    expect(own(dataset.rename(Object.fromEntries([[name, 'other']])).dims, 'other')).toBe(i + 1)
    expect(own(dataset.rename({ x: 'y' }).dims, name)).toBe(i + 1)
  }
  expect(await dataset.get('x').get()).toMatchObject({ data: Float64Array.of(1, 2, 3) })
}

const memory = (path: string) => ({ store: new MemoryStore(), path })

describe('names that every object has members of', () => {
  test('survive from NetCDF to a container, a dataset and Zarr, and back', async () => {
    const source = await openNetcdf(netcdf().buffer as ArrayBuffer)
    for (const name of NAMES) expect(source.attrs.get(name)).toBeDefined()
    const dataset = await openDataset(new Blob([netcdf() as never]) as never)
    await check(dataset)
    const [zarr, container, again] = [memory('a.zarr'), memory('a.af'), memory('b.zarr')]
    await dataset.write(zarr)
    await check(await openDataset(zarr))
    await dataset.write(container)
    await check(await openDataset(container))
    await (await openDataset(container)).write(again)
    await check(await openDataset(again))
    const imported = memory('c.af')
    await importNetcdf(netcdf().buffer as ArrayBuffer, imported)
    await check(await openDataset(imported))
    const back = memory('d.af')
    await importZarr(again, back)
    await check(await openDataset(back))
    expect((await verifyZarr(again)).findings).toEqual([])
  })

  test('survive in references', async () => {
    const folder = await folderInMemory('names')
    await writeFile(join(folder, 'a.nc'), netcdf())
    const file = await openNetcdf(join(folder, 'a.nc'))
    const arrays = new Map(
      await Promise.all([...NAMES, 'x'].map(async (name) => [name, await referenceArray(file.variable(name))] as const)),
    )
    const attributes = Object.fromEntries([...file.attrs])
    const document = referenceDocument(arrays, new Map([['', attributes]]), String)
    await writeFile(join(folder, 'refs.json'), writeJson(document))
    await check(await openDataset(join(folder, 'refs.json')))
    await file.close()
    await rm(folder, { recursive: true })
  })

  test('take lengths of chunks only where these are given for them', async () => {
    const dataset = await openDataset(new Blob([netcdf() as never]) as never)
    const place = memory('a.zarr')
    await dataset.write(place, {
      chunks: Object.fromEntries([
        ['__proto__', 1],
        ['toString', 2],
      ]),
    } as never)
    await check(await openDataset(place))
    const x = await (await openZarr(place, { kind: 'group' })).array('x')
    expect(x.chunks.axes.map(({ chunkLength }) => chunkLength)).toEqual([2, 1])
    const other = memory('a.af')
    await dataset.write(other, { chunks: { toString: 2 } } as never)
    await check(await openDataset(other))
  })

  test('survive as arrays, groups and attributes of Zarr of both versions, with consolidated metadata', async () => {
    for (const version of [2, 3]) {
      const store = new MemoryStore()
      const documents: [string, unknown][] = []
      const attributes = Object.fromEntries(NAMES.map((name) => [name, Object.fromEntries([[name, 1n << 60n]])]))
      const group = (path: string) =>
        version === 2
          ? documents.push([`${path}.zgroup`, { zarr_format: 2 }], [`${path}.zattrs`, attributes])
          : documents.push([path, { zarr_format: 3, node_type: 'group', attributes }])
      const array = (path: string) =>
        version === 2
          ? documents.push(
              [
                `${path}.zarray`,
                {
                  zarr_format: 2,
                  shape: [2],
                  chunks: [2],
                  dtype: '<f8',
                  compressor: null,
                  fill_value: 7,
                  order: 'C',
                  filters: null,
                },
              ],
              [`${path}.zattrs`, { ...attributes, _ARRAY_DIMENSIONS: ['__proto__'] }],
            )
          : documents.push([
              path,
              {
                zarr_format: 3,
                node_type: 'array',
                shape: [2],
                data_type: 'float64',
                fill_value: 7,
                attributes,
                dimension_names: ['__proto__'],
                chunk_grid: { name: 'regular', configuration: { chunk_shape: [2] } },
                chunk_key_encoding: { name: 'default' },
                codecs: [{ name: 'bytes', configuration: { endian: 'little' } }],
              },
            ])
      group('')
      const names = version === 2 ? NAMES : NAMES
      for (const name of names) {
        array(`${name}/`)
        group(`g${name}/`)
        array(`g${name}/${name}/`)
      }
      const put = (key: string, value: unknown) => store.put(key, new TextEncoder().encode(writeJson(value)))
      if (version === 2) {
        for (const [key, value] of documents) await put(`a.zarr/${key}`, value)
        await put('a.zarr/.zmetadata', { zarr_consolidated_format: 1, metadata: Object.fromEntries(documents) })
      } else {
        for (const [key, value] of documents) await put(`a.zarr/${key}zarr.json`, value)
        const metadata = Object.fromEntries(documents.slice(1).map(([key, value]) => [key.slice(0, -1), value]))
        await put('a.zarr/zarr.json', {
          ...(documents[0]![1] as object),
          consolidated_metadata: { kind: 'inline', must_understand: false, metadata },
        })
      }
      for (const consolidated of [true, false]) {
        const root = await openZarr({ store, path: 'a.zarr' }, { kind: 'group', consolidated, mode: 'r+' })
        for (const node of [
          root,
          ...(await Promise.all(NAMES.map((name) => root.array(name)))),
          ...(await Promise.all(NAMES.map((name) => root.group(`g${name}`)))),
        ])
          for (const name of NAMES) expect(own(node.attrs.get(name) as object, name)).toBe(1n << 60n)
        for (const name of NAMES) {
          expect([...(await (await root.array(`g${name}/${name}`)).toTensor()).data]).toEqual([7, 7])
          expect((await root.array(name)).dimensionNames).toEqual(['__proto__'])
        }
      }
      const root = await openZarr({ store, path: 'a.zarr' }, { kind: 'group', mode: 'r+' })
      for (const node of [root, await root.array('__proto__')]) {
        await node.updateAttributes(
          Object.fromEntries([
            ['__proto__', 'new'],
            ['constructor', undefined],
          ]),
        )
        expect([
          node.attrs.get('__proto__'),
          node.attrs.has('constructor'),
          own(node.attrs.get('toString') as object, 'toString'),
        ]).toEqual(['new', false, 1n << 60n])
      }
      for (const consolidated of [true, false]) {
        const again = await openZarr({ store, path: 'a.zarr' }, { kind: 'group', consolidated })
        for (const node of [again, await again.array('__proto__')])
          expect([node.attrs.get('__proto__'), node.attrs.has('constructor'), node.attrs.has('valueOf')]).toEqual([
            'new',
            false,
            true,
          ])
      }
      expect((await verifyZarr({ store, path: 'a.zarr' })).findings).toEqual([])
      const target = memory('a.af')
      const imported = await importZarr({ store, path: 'a.zarr' }, target)
      expect([...imported.arrays].sort()).toEqual([...NAMES, ...NAMES.map((name) => `g${name}/${name}`)].sort())
      const file = await open(target)
      for (const name of NAMES) expect([...(await file.array(name).toTensor()).data]).toEqual([7, 7])
    }
  })

  test('survive in what is created, consolidated and served', async () => {
    const place = memory('a.zarr')
    const root = await createZarr(place)
    for (const name of NAMES.slice(1)) {
      const x = await root.createArray(name, {
        dtype: 'float64',
        shape: [1],
        dimensionNames: [name],
        attributes: Object.fromEntries([['__proto__', { __proto__: null, constructor: 1 }]]),
      })
      await x.set(null, 5)
    }
    await root.consolidate()
    const again = await openZarr(place, { kind: 'group' })
    for (const name of NAMES.slice(1)) {
      const x = await again.array(name)
      expect([...(await x.toTensor()).data]).toEqual([5])
      expect(own(x.attrs.get('__proto__') as object, 'constructor')).toBe(1)
    }
    const served = asZarrStore(
      Object.fromEntries(
        await Promise.all(NAMES.slice(1).map(async (name) => [name, await again.array(name)] as const)),
      ) as never,
    )
    const bytes = await served.get('/zarr.json')
    const document = parseJson(bytes!, 'x') as { consolidated_metadata: { metadata: object } }
    expect(Object.hasOwn(document.consolidated_metadata.metadata, 'constructor')).toBe(true)
    expect(await served.get('/constructor/zarr.json')).toBeDefined()
  })

  test('name variables, coordinates and attributes of datasets, which joins and arithmetic keep', async () => {
    const attrs = Object.fromEntries(NAMES.map((name) => [name, 5n]))
    const made = (moved = '') =>
      new Dataset(
        Object.fromEntries([
          ...NAMES.map((name) => [`v${name}`, { dims: [name], data: [1, 2] }]),
          ['w', { dims: ['__proto__'], data: [3, 4], attrs }],
        ]),
        { coords: Object.fromEntries(NAMES.map((name) => [name, name === moved ? [3, 4] : [1, 2]])), attrs },
      )
    const a = made()
    for (const name of NAMES) {
      for (const part of [a.dims, a.coords, a.attrs, a.get('w').attrs]) own(part, name)
      for (const part of [a.get('w').assignAttrs({ b: 1 }).attrs]) own(part, name)
      const joined = await concatDatasets([a, made(name)], name)
      expect(own(joined.dims, name)).toBe(4)
      expect(own(a.assign(Object.fromEntries([['__proto__x', { dims: [name], data: [1, 2] }]])).dims, name)).toBe(2)
      const grouped = a.get(`v${name}`).groupBy(name).mean()
      expect(await grouped.get()).toMatchObject({ data: Float64Array.of(1, 2) })
      expect(
        await a
          .get(`v${name}`)
          .coarsen(Object.fromEntries([[name, 2]]))
          .mean()
          .get(),
      ).toMatchObject({ data: Float64Array.of(1.5) })
      expect(
        await a
          .get(`v${name}`)
          .rolling(Object.fromEntries([[name, 2]]))
          .sum()
          .get(),
      ).toMatchObject({ data: Float64Array.of(Number.NaN, 3) })
      expect(await (await a.get(`v${name}`).interp(Object.fromEntries([[name, 1.5]]))).get()).toBe(1.5)
      expect(await a.get(`v${name}`).mean({ axis: name }).get()).toBe(1.5)
    }
    expect(String(a)).toContain('__proto__')
    expect(JSON.parse(JSON.stringify(a.dims))).toEqual(
      JSON.parse(`{"__proto__":2,"constructor":2,"toString":2,"hasOwnProperty":2,"valueOf":2}`),
    )
  })

  test('are axes, arrays and attributes of containers', async () => {
    const place = memory('a.af')
    const file = await create(place)
    for (const name of NAMES) {
      const x = file.createArray(name, { dtype: 'int32', shape: [2, 3], dimensionNames: [name, 'y'] })
      await x.set(null, [1, 2, 3, 4, 5, 6])
      x.attrs.set(name, 'text')
      file.attrs.set(name, 1.5)
    }
    await file.flush()
    const again = await open(place)
    for (const name of NAMES) {
      const x = again.array(name)
      expect([x.attrs.get(name), again.attrs.get(name)]).toEqual(['text', 1.5])
      expect(await x.get(Object.fromEntries([[name, 1]]) as never)).toMatchObject({ data: Int32Array.of(4, 5, 6) })
      expect([...(await x.sum({ axis: name })).data]).toEqual(
        [5, 7, 9].map((value) => expect.toSatisfy((each) => Number(each) === value)),
      )
      expect(x.transpose([name, 'y']).dimensionNames).toEqual([name, 'y'])
    }
  })
})
