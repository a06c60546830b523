import { expect, expectTypeOf, test } from 'vitest'
import type { DType } from '../../src/core/dtype.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import type { Tensor } from '../../src/core/tensor.ts'
import { cos, type DataArray, Dataset, openDataset } from '../../src/runtime/dataset.ts'
import { MemoryStore } from '../../src/store/memory.ts'

const shape = [2, 3]
const place = { store: new MemoryStore(), path: 'typed.af' }
const data = (data: ArrayLike<number | bigint>) => ({ dims: ['y', 'x'], data: { data: data as never, shape } })

async function written(): Promise<void> {
  const f = { ...data(Float32Array.of(1, 2, 3, 4, 5, Number.NaN)), attrs: { units: 'K' } }
  const i = data(Int16Array.of(1, -2, 3, 4, 5, 6))
  const b = data(BigInt64Array.of(1n, 2n, 3n, 4n, 5n, 6n))
  const ds = new Dataset({ f, i, b }, { coords: { y: [0, 1], x: [0, 1, 2] } })
  await ds.write(place, { overwrite: true })
}

test('returns the type that was given when the dataset was opened', async () => {
  await written()
  const ds = await openDataset(place, { variables: { f: 'float32', i: 'int16', b: 'int64' } })
  const f = ds.get('f')
  expectTypeOf(f).toEqualTypeOf<DataArray<'float32'>>()
  expectTypeOf(ds.get('y')).toEqualTypeOf<DataArray>()
  expectTypeOf(ds.sel({ y: 0 }).isel({ x: 1 }).get('i')).toEqualTypeOf<DataArray<'int16'>>()
  const values = await f.values()
  expectTypeOf(values).toEqualTypeOf<Float32Array>()
  expect(values).toEqual(Float32Array.of(1, 2, 3, 4, 5, Number.NaN))
  const mean = await f.mean().get()
  expectTypeOf(mean).toEqualTypeOf<number>()
  expect(mean).toBe(3)
  expectTypeOf(await f.sel({ y: 0 }).get()).toEqualTypeOf<number | Tensor<'float32'>>()
  const whole = await ds.get('b').max().get()
  expectTypeOf(whole).toEqualTypeOf<number | bigint>()
  expect(whole).toBe(6n)
})

test.each([
  ['a type that a variable does not have', { f: 'int16' }, 'InvalidArgumentError', /float32.*not int16/],
  ['a name that does not exist', { g: 'int16' }, 'UnknownArrayError', /there are f, i, b/],
  ['an unknown type', { f: 'float' }, 'InvalidArgumentError', /variables\.f/],
] as const)('refuses %s', async (_, variables, tag, message) => {
  await written()
  const error = await openDataset(place, { variables: variables as never }).catch((error: unknown) => error)
  expect(isHyperslabError(error, tag)).toBe(true)
  expect(String(error)).toMatch(message)
  expect(String(error)).toContain('typed.af')
})

test('converts values, and reads them into memory of the caller', async () => {
  await written()
  const ds = await openDataset(place, { variables: { f: 'float32', i: 'int16' } })
  const i = ds.get('i')
  const floats = await i.values({ as: 'float64' })
  expectTypeOf(floats).toEqualTypeOf<Float64Array>()
  expect(floats).toEqual(Float64Array.of(1, -2, 3, 4, 5, 6))
  const out = new Int16Array(6)
  expect(await i.values({ out })).toBe(out)
  expect(out).toEqual(Int16Array.of(1, -2, 3, 4, 5, 6))
  const tensor = await i.isel({ y: 1 }).get({ as: 'float32' })
  expectTypeOf(tensor).toEqualTypeOf<number | Tensor<'float32'>>()
  expect((tensor as Tensor).data).toEqual(Float32Array.of(4, 5, 6))
  await expect(i.values({ out: new Int16Array(5) })).rejects.toThrow('out has 5 elements, the array 6')
  await expect(i.values({ out: new Int32Array(6) as never })).rejects.toThrow('out has an Int32Array')
  await expect(i.values({ as: 'int' as never })).rejects.toThrow(/as/)
  const { signal } = Object.assign(new AbortController(), {})
  const stopped = new AbortController()
  stopped.abort(new Error('stopped'))
  expect(signal.aborted).toBe(false)
  await expect(i.values({ signal: stopped.signal })).rejects.toThrow('stopped')
})

test('declares the types that operations return', async () => {
  await written()
  const ds = await openDataset(place, { variables: { f: 'float32', i: 'int16', b: 'int64' } })
  const [f, i, b] = [ds.get('f'), ds.get('i'), ds.get('b')]
  /** The compiler checks the list against the declared type; this checks the type at run time. */
  const has = <D extends DType>(array: DataArray<D>, ...expected: NoInfer<D>[]): void => {
    expect(expected).toContain(array.dtype)
    const all: readonly DType[] = expected
    expect(all.length).toBeLessThan(4)
  }
  has(f.min(), 'float32')
  has(i.min(), 'int16', 'float64')
  has(i.min({ skipMissing: false }), 'int16', 'float64')
  has(b.sum(), 'int64', 'float64')
  has(i.sum({ axis: 'x' }), 'float64')
  has(f.mean({ axis: 'x' }), 'float64')
  has(f.count(), 'float64')
  has(f.any(), 'bool')
  has(f.quantile([0.5, 1]), 'float64')
  has(f.groupBy('y').mean(), 'float64')
  has(f.rolling({ x: 2 }).mean(), 'float64')
  has(f.coarsen({ y: 2 }).std(), 'float64')
  has(f.weighted(cos(ds.get('y'))).mean(), 'float32', 'float64')
  has(f.weighted(cos(ds.get('y'))).sum(), 'float32', 'float64')
  has(f.sub(1), 'float32')
  has(i.sub(1), 'float32', 'float64')
  has(f.add(i), 'float32', 'float64')
  has(
    f.where((value) => value > 1),
    'float32',
  )
  has(i.where(i.gt(1)), 'float32', 'float64')
  has(f.lt(2), 'bool')
  has(f.isnull().not(), 'bool')
  has(i.abs(), 'int16', 'float32', 'float64')
  has(f.sqrt(), 'float32')
  has(f.round(), 'float32')
  has(i.clip(0, 2), 'int16', 'float32', 'float64')
  has(i.astype('int8'), 'int8')
  has(
    i.map((value) => value > 0, { dtype: 'bool' }),
    'bool',
  )
  has(f.fillna(0), 'float32')
  has(f.diff('x'), 'float32')
  has(f.transpose().squeeze().expandDims('z').rename('g'), 'float32')
})
