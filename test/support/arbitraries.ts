import fc from 'fast-check'
import { allocate, DTYPES, type DType, isBigInt, isFloat, NUMERIC_DTYPES } from '../../src/core/dtype.js'
import { sizeOf } from '../../src/core/shape.js'
import { ChunkGrid, RegularChunks } from '../../src/grid/chunks.js'
import type { Selector } from '../../src/grid/selection.js'
import type { Plain } from './oracle.js'

export const shapes = fc.array(
  fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 9 }) }, { weight: 1, arbitrary: fc.constant(0) }),
  {
    maxLength: 5,
  },
)

export const dtypes = fc.constantFrom<DType>(...DTYPES)
export const numericDTypes = fc.constantFrom(...NUMERIC_DTYPES)

/** Chunks of any length, also beyond the axis; the first one shortened where `offsets` are wanted. */
export const grids = (shape: readonly number[], offsets = true): fc.Arbitrary<ChunkGrid> =>
  fc
    .tuple(
      ...shape.map((length) =>
        fc
          .integer({ min: 1, max: length + 2 })
          .chain((chunkLength) =>
            fc.tuple(fc.constant(chunkLength), fc.integer({ min: 0, max: offsets && length > 0 ? chunkLength - 1 : 0 })),
          ),
      ),
    )
    .map((axes) => new ChunkGrid(axes.map(([chunkLength, offset], axis) => new RegularChunks(chunkLength, shape[axis]!, offset))))

/** Integers, nulls and slices of any step and sign, bounds beyond the axis included; trailing ones may be missing. */
export const selections = (shape: readonly number[]): fc.Arbitrary<Selector[]> =>
  fc
    .tuple(fc.tuple(...shape.map(selectors)), fc.integer({ min: 0, max: shape.length }))
    .map(([all, length]) => (length === 0 ? all : all.slice(0, length)))

function selectors(length: number): fc.Arbitrary<Selector> {
  const bound = fc.option(fc.integer({ min: -length - 2, max: length + 2 }))
  const step = fc.option(fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: -4, max: -1 }), fc.constantFrom(7, -7)))
  const slices = fc.record({ start: bound, stop: bound, step })
  const index = length === 0 ? [] : [fc.integer({ min: -length, max: length - 1 })]
  return fc.oneof(fc.constant(null), slices, slices, ...index)
}

const RANGE: Partial<Record<DType, [bigint, bigint]>> = {
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  timestamp_ns: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
}

export function elements(dtype: DType): fc.Arbitrary<unknown> {
  if (dtype === 'string') return fc.string({ unit: 'grapheme', maxLength: 6 })
  if (dtype === 'binary') return fc.uint8Array({ maxLength: 6 })
  if (dtype === 'bool') return fc.constantFrom(0, 1)
  if (dtype === 'float32') return fc.float()
  if (isFloat(dtype)) return fc.double()
  if (isBigInt(dtype)) return fc.bigInt(...RANGE[dtype]!)
  const bits = Number(dtype.replace(/\D/g, ''))
  return dtype.startsWith('uint')
    ? fc.integer({ min: 0, max: 2 ** bits - 1 })
    : fc.integer({ min: -(2 ** (bits - 1)), max: 2 ** (bits - 1) - 1 })
}

/** An array whose elements all differ as far as the type allows, so that a misplaced one is seen. */
export function numbered<D extends DType>(dtype: D, shape: readonly number[]): Plain<D> {
  const data = allocate(dtype, sizeOf(shape))
  for (let i = 0; i < data.length; i++) data[i] = numberedElement(dtype, i) as never
  return { dtype, shape, data }
}

function numberedElement(dtype: DType, i: number): unknown {
  if (dtype === 'string') return `${i}`.repeat(1 + (i % 3))
  if (dtype === 'binary') return Uint8Array.from({ length: i % 5 }, (_, k) => i + k)
  if (dtype === 'bool') return (i * 7) % 3 === 0 ? 1 : 0
  return isBigInt(dtype) ? BigInt(i) * 3_000_000_019n : isFloat(dtype) ? i + 0.25 : i % 251
}

/** Random elements. */
export const plains = <D extends DType>(dtype: D, shape: readonly number[]): fc.Arbitrary<Plain<D>> =>
  fc.array(elements(dtype), { minLength: sizeOf(shape), maxLength: sizeOf(shape) }).map((values) => {
    const data = allocate(dtype, values.length)
    values.forEach((value, i) => {
      data[i] = value as never
    })
    return { dtype, shape, data }
  })
