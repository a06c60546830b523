import { expectTypeOf, test } from 'vitest'
import type { DiskArray } from '../../src/array/disk-array.js'
import type { DType } from '../../src/core/dtype.js'
import type { Tensor } from '../../src/core/tensor.js'

// Only checked by the compiler: nothing here runs.
const types = async (f: DiskArray<'float32'>, i: DiskArray<'int64'>, b: DiskArray<'bool'>, any: DiskArray): Promise<void> => {
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
  expectTypeOf(await f.argMin()).toEqualTypeOf<readonly number[]>()
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
  expectTypeOf(await i.cumulativeSum(0)).toEqualTypeOf<Tensor<'int64'>>()
  expectTypeOf((await f.groupBy('time', ['a'], 'max')).values).toEqualTypeOf<Tensor<'float32'>>()
  expectTypeOf((await i.groupBy(0, [1], 'mean')).labels).toEqualTypeOf<readonly number[]>()
  for await (const value of i) expectTypeOf(value).toEqualTypeOf<bigint>()
  expectTypeOf(await any.sum()).toExtend<number | bigint>()
}

test('results have the types they are', () => {
  expectTypeOf(types).toBeFunction()
})
