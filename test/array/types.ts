import { expectTypeOf } from 'vitest'
import type { FileArray } from '../../src/af/file-array.ts'
import { broadcast, concat, generate, scaled } from '../../src/array/combine.ts'
import { DiskArray } from '../../src/array/disk-array.ts'
import { findWhere } from '../../src/array/find-where.ts'
import type { ReduceOptions } from '../../src/array/reductions/reduce.ts'
import { coarsen } from '../../src/array/reductions/windows.ts'
import type { DType, ScalarOf } from '../../src/core/dtype.ts'
import type { Tensor } from '../../src/core/tensor.ts'
import type { Selection } from '../../src/grid/selection.ts'
import { chunk, newAxis, points } from '../../src/grid/selectors.ts'
import { slice } from '../../src/grid/slice.ts'
import { type ArrayFile, create, open } from '../../src/runtime/index.ts'

// This file contains assertions on types, which `npm run check` compiles and no test runs.

export const types = async (
  f: DiskArray<'float32'>,
  i: DiskArray<'int64'>,
  b: DiskArray<'bool'>,
  any: DiskArray,
): Promise<void> => {
  expectTypeOf(f).toExtend<DiskArray>()
  expectTypeOf(i).toExtend<DiskArray<DType>>()
  expectTypeOf(await f.sum()).toEqualTypeOf<number>()
  expectTypeOf(await i.sum()).toEqualTypeOf<bigint>()
  expectTypeOf(await i.sum({ axis: 0 })).toEqualTypeOf<Tensor<'int64'>>()
  expectTypeOf(await b.sum({ axis: 'x' })).toEqualTypeOf<Tensor<'float64'>>()
  expectTypeOf(await i.prod({ skipMissing: true })).toEqualTypeOf<bigint>()
  expectTypeOf(await f.prod({ axis: [0, 1], keepDims: true })).toEqualTypeOf<Tensor<'float64'>>()
  expectTypeOf(await b.min()).toEqualTypeOf<boolean>()
  expectTypeOf(await f.max({ axis: 0 })).toEqualTypeOf<Tensor<'float32'>>()
  expectTypeOf(await i.extrema()).toEqualTypeOf<{ min: bigint; max: bigint }>()
  expectTypeOf(await i.mean()).toEqualTypeOf<number>()
  expectTypeOf(await i.variance({ ddof: 1 })).toEqualTypeOf<number>()
  expectTypeOf(await f.std({ axis: 1 })).toEqualTypeOf<Tensor<'float64'>>()
  expectTypeOf(await f.count({ where: (x: number) => x > 1 })).toEqualTypeOf<number>()
  expectTypeOf(await b.any()).toEqualTypeOf<boolean>()
  expectTypeOf(await i.all({ axis: 0, where: (x: bigint) => x > 1n })).toEqualTypeOf<Tensor<'bool'>>()
  expectTypeOf(await f.argMin()).toEqualTypeOf<number>()
  expectTypeOf(await f.argMax({ axis: 0 })).toEqualTypeOf<Tensor<'float64'>>()
  expectTypeOf((await i.unique()).values).toEqualTypeOf<Tensor<'int64'>>()
  expectTypeOf(await f.quantile(0.5)).toEqualTypeOf<number>()
  expectTypeOf(await f.quantile([0.5])).toEqualTypeOf<Tensor<'float64'>>()
  expectTypeOf(await f.median({ axis: 0 })).toEqualTypeOf<Tensor<'float64'>>()
  expectTypeOf(await i.reduce((a, x) => a + x, 0n)).toEqualTypeOf<bigint>()
  expectTypeOf(
    await f.mapReduce(
      (x) => `${x}`,
      (a, b) => a + b,
      '',
    ),
  ).toEqualTypeOf<string>()
  expectTypeOf(await f.weightedMean({ lat: [1] })).toEqualTypeOf<number>()
  expectTypeOf(await i.cumsum(0)).toEqualTypeOf<Tensor<'int64'>>()
  expectTypeOf((await f.groupBy('time', ['a'], 'max')).values).toEqualTypeOf<Tensor<'float32'>>()
  expectTypeOf((await i.groupBy(0, [1], 'mean')).labels).toEqualTypeOf<readonly number[]>()
  for await (const value of i) expectTypeOf(value).toEqualTypeOf<bigint>()
  expectTypeOf(await any.sum()).toExtend<number | bigint>()
}

export const ranks = async (file: ArrayFile, any: DiskArray, known: DiskArray<'float32', 3>): Promise<void> => {
  expectTypeOf(known).toExtend<DiskArray>()
  expectTypeOf(known).toExtend<DiskArray<'float32'>>()
  expectTypeOf<DiskArray<'float32'>>().not.toExtend<DiskArray<'float32', 3>>()
  expectTypeOf(known.rank).toEqualTypeOf<3>()
  expectTypeOf<DiskArray<'float32', 2>>().not.toExtend<DiskArray<'float32', 3>>()
  expectTypeOf(await any.get([0])).toEqualTypeOf<Tensor | ScalarOf<DType>>()
  expectTypeOf(await known.get([0])).toEqualTypeOf<Tensor<'float32'>>()
  expectTypeOf(await known.get([0, 1])).toEqualTypeOf<Tensor<'float32'>>()
  expectTypeOf(await known.get([0, 1, 2])).toEqualTypeOf<number>()
  expectTypeOf(await known.get([0, 1, null])).toEqualTypeOf<Tensor<'float32'>>()
  expectTypeOf(await known.get({ x: 0 })).toEqualTypeOf<Tensor<'float32'> | number>()
  expectTypeOf(await known.transpose().cache().flip().pad(1).rechunk([1, 1, 1]).get([0, 1, 2])).toEqualTypeOf<number>()
  expectTypeOf(await known.astype('int64').get([0, 1, 2])).toEqualTypeOf<bigint>()
  expectTypeOf(known.reshape([2, -1])).toEqualTypeOf<DiskArray<'float32', 2>>()
  expectTypeOf(known.view([0])).toEqualTypeOf<DiskArray<'float32'>>()
  expectTypeOf(scaled(known)).toEqualTypeOf<DiskArray<'float64', 3>>()
  expectTypeOf(coarsen(known, { x: 2 }, 'max')).toEqualTypeOf<DiskArray<'float32', 3>>()
  expectTypeOf(generate(() => 1, { dtype: 'int8', shape: [2, 3] })).toEqualTypeOf<DiskArray<'int8', 2>>()

  expectTypeOf(file.createArray('x', { dtype: 'int64', shape: [2, 3] })).toEqualTypeOf<FileArray<'int64', 2>>()
  expectTypeOf(file.createArray('x', { dtype: 'int64', shape: [...any.shape] })).toEqualTypeOf<FileArray<'int64', number>>()
  expectTypeOf(file.array('x')).toEqualTypeOf<FileArray<DType, number>>()
  expectTypeOf(file.array('x', 'bool')).toEqualTypeOf<FileArray<'bool', number>>()
  expectTypeOf(file.array('x', 'bool', 2)).toEqualTypeOf<FileArray<'bool', 2>>()

  const typed = await open('x.af', { arrays: { tas: ['float32', 3], time: ['timestamp_ns', 1] } })
  expectTypeOf(typed).toExtend<ArrayFile>()
  expectTypeOf(typed.array('tas')).toEqualTypeOf<FileArray<'float32', 3>>()
  expectTypeOf(await typed.array('time').get([0])).toEqualTypeOf<bigint>()
  expectTypeOf(typed.array('other')).toEqualTypeOf<FileArray<DType, number>>()
  expectTypeOf(await open('x.af')).toEqualTypeOf<ArrayFile>()

  if (any.is('float32')) expectTypeOf(await any.sum()).toEqualTypeOf<number>()
  if (any.is('int64', 2)) expectTypeOf(await any.get([0, 1])).toEqualTypeOf<bigint>()
}

/** Options of other names do not compile, whatever stands beside them. */
export const exact = async (
  f: DiskArray<'float32'>,
  file: ArrayFile,
  some: ReduceOptions,
  axes: { axis?: number[] },
): Promise<void> => {
  // @ts-expect-error
  await f.sum({ axes: [0], skipMissing: true })
  // @ts-expect-error
  await f.mean({ axis: 0, skipNan: true })
  // @ts-expect-error
  await f.extrema({ axis: 0, skipfill: true })
  // @ts-expect-error
  await f.count({ where: (x: number) => x > 1, skipnan: true })
  // @ts-expect-error
  await f.std({ ddof: 1, ddoff: 1 })
  // @ts-expect-error
  await f.argMax({ axis: 0, keepdims: true })
  // @ts-expect-error
  await f.quantile(0.5, { axis: 0, maxbytes: 1 })
  // @ts-expect-error
  await f.median({ skipNaN: true, maxbytes: 1 })
  // @ts-expect-error
  await f.weightedMean({ x: [1] }, { axis: 0, keepdims: true })
  // @ts-expect-error
  await f.cumsum(0, { skipNaN: true, inta: 1 })
  // @ts-expect-error
  await f.mapReduce(Number, Math.max, 0, { axis: 0, keepdims: true })
  // @ts-expect-error
  await f.groupBy(0, [1], 'average')
  // @ts-expect-error
  await f.groupBy(0, [1], 'mean', { skipMissing: true, skipnan: true })
  // @ts-expect-error
  await f.get([0], { maxBytes: 1, strat: 'chunk' })
  // @ts-expect-error
  f.pad(1, { mode: 'edge', valu: 1 })
  // @ts-expect-error
  f.map((x) => x, { dtype: 'int8', fill: 1 })
  // @ts-expect-error
  broadcast((x) => x, f, { dtype: 'float32', fill: 1 })
  // @ts-expect-error
  concat([f], { axis: 0, fill: 1 })
  // @ts-expect-error
  scaled(f, { scaleFactor: 1, scale: 1 })
  // @ts-expect-error
  coarsen(f, { x: 2 }, 'mean', { skipNaN: true, skipnan: true })
  // @ts-expect-error
  findWhere(f, { min: 0, maxx: 1 })
  // @ts-expect-error
  file.createArray('x', { dtype: 'int8', shape: [1], chunkShape: [1] })
  // @ts-expect-error
  await open('x.af', { arrays: { x: ['int8', 1] }, layers: 1 })
  // @ts-expect-error
  await open('x.af', { arrays: { x: ['float', 1] } })
  // @ts-expect-error
  await create('x.af', { overwrite: true, codek: 'zstd' })

  // Sources may have more than is asked of them.
  const source = { dtype: 'float32' as const, shape: [1], readBlock: () => undefined, opened: true }
  expectTypeOf(new DiskArray(source)).toEqualTypeOf<DiskArray<'float32'>>()
  new DiskArray({ dtype: 'float32', shape: [1], readBlock: () => undefined })

  // If the presence of an axis is unknown to the compiler, the result is a union of both types.
  expectTypeOf(await f.sum(some)).toEqualTypeOf<number | Tensor<'float64'>>()
  expectTypeOf(await f.sum(axes)).toEqualTypeOf<number | Tensor<'float64'>>()
  expectTypeOf(await f.sum({ skipNaN: true, axis: undefined })).toEqualTypeOf<number>()
  expectTypeOf(await f.quantile([0.5], some)).toEqualTypeOf<Tensor<'float64'>>()
}

/** Whether a selection gives a scalar or a tensor. */
export const selections = (array: DiskArray<'float32', 2>, anyRank: DiskArray<'float32'>): void => {
  const of = <const S extends Selection = null>(_?: S) => array.get<S>
  type Read<F extends (...args: never[]) => unknown> = Awaited<ReturnType<F>>
  type One = number
  type Many = Tensor<'float32'>
  expectTypeOf<Read<ReturnType<typeof of<readonly [0, -1]>>>>().toEqualTypeOf<One>()
  const cases = {
    all: () => array.get(),
    integers: () => array.get([0, 1]),
    fewer: () => array.get([0]),
    integersOfAnyRank: () => anyRank.get([0, 1]),
    sliceOfAnyRank: () => anyRank.get([0, slice(2)]),
    either: (one: readonly [number] | readonly [number, number]) => array.get(one),
    point: () => array.get([points([0, 1])]),
    open: () => array.get([0, 1, '...']),
    none: () => array.get([]),
    slices: () => array.get([0, slice(2)]),
    list: () => array.get([0, [1, 2]]),
    typedList: () => array.get([0, Int32Array.of(1)]),
    mask: () => array.get([0, [true, false]]),
    points: () => array.get([points([[0, 1]])]),
    noPoints: () => array.get([points([], 2)]),
    chunk: () => array.get(chunk(0, 0)),
    tensor: () => array.get({ data: new Uint8Array(20), shape: [4, 5] }),
    axis: () => array.get([0, 1, newAxis]),
    built: (index: number[]) => array.get(index),
    builtLists: (lists: number[][]) => array.get(lists),
    named: () => array.get({ lat: 0, lon: slice(2) }),
    namedIntegers: () => array.get({ lat: 0, lon: 1 }),
    any: (selection: Selection) => array.get(selection),
  }
  type Cases = { [K in keyof typeof cases]: Awaited<ReturnType<(typeof cases)[K]>> }
  expectTypeOf<Cases>().toEqualTypeOf<{
    all: Many
    integers: One
    fewer: Many
    integersOfAnyRank: One | Many
    sliceOfAnyRank: Many
    either: One | Many
    point: One | Many
    open: Many
    none: Many
    slices: Many
    list: Many
    typedList: Many
    mask: Many
    points: Many
    noPoints: Many
    chunk: Many
    tensor: Many
    axis: Many
    built: One | Many
    builtLists: Many
    named: Many
    namedIntegers: One | Many
    any: One | Many
  }>()
}
