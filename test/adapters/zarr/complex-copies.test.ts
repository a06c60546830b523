import { describe, expect, test } from 'vitest'
import type { Tensor } from '../../../src/core/tensor.ts'
import { type DataArray, openDataset } from '../../../src/runtime/dataset.ts'
import { open, openTree } from '../../../src/runtime/index.ts'
import { asZarrStore, createZarr, importZarr, openZarr } from '../../../src/runtime/zarr.ts'
import { MemoryStore } from '../../../src/store/memory.ts'

/** A group with the complex numbers `z` and the floats `w`, of which a chunk of `z` is not stored. */
async function source(): Promise<{ store: MemoryStore; path: string }> {
  const place = { store: new MemoryStore(), path: 'a.zarr' }
  const group = await createZarr(place)
  const z = await group.createArray('z', {
    dtype: 'complex64',
    shape: [3, 2],
    chunks: [2, 2],
    fillValue: [Number.NaN, -1],
    dimensionNames: ['x', 'complex'],
    attributes: { _FillValue: [1, 2], units: 'V' },
  })
  await z.set([[0, 1]], [1, 2, 3, 4])
  const w = await group.createArray('w', { dtype: 'float32', shape: [3, 2], dimensionNames: ['x', 'y'] })
  await w.set(null, [1, 2, 3, 4, 5, 6])
  return place
}

const valuesOf = async (array: DataArray): Promise<unknown> => ((await array.get()) as Tensor).data

const VALUES = Float32Array.of(1, 2, 3, 4, Number.NaN, -1)

describe('copies of complex numbers', () => {
  test('keep the type, the pair of the fill value and that of missing elements in Zarr', async () => {
    const { store, path } = await source()
    await using ds = await openDataset({ store, path })
    await ds.write({ store, path: 'b.zarr' })
    const z = await openZarr({ store, path: 'b.zarr/z' }, { kind: 'array' })
    const { size } = (await store.stat('b.zarr/z/zarr.json'))!
    const metadata = JSON.parse(new TextDecoder().decode((await store.getRange('b.zarr/z/zarr.json', 0, size))!))
    expect(metadata).toMatchObject({ data_type: 'complex64', shape: [3], fill_value: ['NaN', -1], dimension_names: ['x'] })
    expect(Object.fromEntries(z.attrs)).toMatchObject({ _FillValue: ['AAAAAAAA8D8=', 'AAAAAAAAAEA='], units: 'V' })
    expect((await z.toTensor()).data).toEqual(VALUES)
    expect((await (await openZarr({ store, path: 'b.zarr/w' }, { kind: 'array' })).toTensor()).data).toEqual(
      Float32Array.of(1, 2, 3, 4, 5, 6),
    )
  })

  test('are floats with a named axis in containers, and in Zarr once they were computed', async () => {
    const { store, path } = await source()
    await using ds = await openDataset({ store, path })
    await ds.write({ store, path: 'b.af' })
    const file = await open({ store, path: 'b.af' })
    const z = file.array('z')
    expect([z.dtype, z.shape, z.dimensionNames]).toEqual(['float32', [3, 2], ['x', 'complex']])
    expect((await z.toTensor()).data).toEqual(VALUES)
    expect(await z.count({ skipNaN: true })).toBe(5)
    await ds.isel({ x: 1 }).write({ store, path: 'c.zarr' })
    const one = await openZarr({ store, path: 'c.zarr/z' }, { kind: 'array' })
    expect([one.shape, one.dimensionNames, (await one.toTensor()).data]).toEqual([[2], ['complex'], Float32Array.of(3, 4)])
  })

  test('are refused as levels of a pyramid', async () => {
    const { store, path } = await source()
    await using ds = await openDataset({ store, path })
    await expect(ds.write({ store, path: 'b.zarr' }, { levels: 2 })).rejects.toThrow(
      /levels merge neighbours along the last axes/,
    )
    expect((await store.list('b.zarr')).length).toBe(0)
  })
})

test('imports of complex numbers drop the pairs, which would name missing parts', async () => {
  const { store, path } = await source()
  await importZarr({ store, path }, { store, path: 'b.af' })
  const file = await open({ store, path: 'b.af' })
  const z = file.array('z')
  expect([...z.attrs.keys()]).toEqual(['units'])
  expect([z.shape, z.dimensionNames, (await z.toTensor()).data]).toEqual([[3, 2], ['x', 'complex'], VALUES])
  // One of the six parts is NaN; 1 and 2 are values.
  await using ds = await openDataset({ store, path: 'b.af' })
  expect(Array.from(await ds.get('z').count().values(), Number)).toEqual([5])
})

test('stores of complex arrays serve floats without the pairs', async () => {
  const { store, path } = await source()
  const z = await openZarr({ store, path: `${path}/z` }, { kind: 'array' })
  const served = await (await openZarr(asZarrStore({ z } as never), { kind: 'group' })).array('z')
  expect([served.dtype, served.shape, served.dimensionNames]).toEqual(['float32', [3, 2], ['x', 'complex']])
  expect([Object.fromEntries(served.attrs), (await served.toTensor()).data]).toEqual([{ units: 'V' }, VALUES])
  expect(await served.count({ skipNaN: true })).toBe(5)
})

describe('datasets of complex numbers', () => {
  test('have labels of both parts, by which they are selected', async () => {
    await using ds = await openDataset(await source())
    expect(ds.dims).toEqual({ x: 3, complex: 2, y: 2 })
    const z = ds.get('z')
    expect(await valuesOf(z.sel({ complex: 'imag' }))).toEqual(Float32Array.of(2, 4, -1))
    expect(ds.coords['complex']).toBeDefined()
  })

  test('keep the labels that the group itself has', async () => {
    const { store, path } = await source()
    const group = await openZarr({ store, path }, { kind: 'group', mode: 'r+' })
    const own = await group.createArray('complex', { dtype: 'int8', shape: [2], dimensionNames: ['complex'] })
    await own.set(null, [7, 8])
    await using ds = await openDataset({ store, path })
    expect(await valuesOf(ds.get('z').sel({ complex: 8 }))).toEqual(Float32Array.of(2, 4, -1))
  })
})

test('trees describe complex numbers by their stored type', async () => {
  await using tree = await openTree(await source())
  if (tree.root.kind !== 'group') throw new Error('the root is a group')
  const node = await tree.root.array('z')
  expect([(await node.storage()).storedAs, node.isComplex, node.attrs?.get('_FillValue')]).toEqual(['complex64', true, undefined])
  expect((await (await tree.root.array('w')).storage()).storedAs).toBe(undefined)
})
