import fc from 'fast-check'
import { allocate, DTYPES, type DType, isBigInt, isFloat, NUMERIC_DTYPES } from '../../src/core/dtype.ts'
import { sizeOf } from '../../src/core/shape.ts'
import { type AxisChunks, ChunkGrid, RegularChunks } from '../../src/grid/chunks.ts'
import { IrregularChunks } from '../../src/grid/irregular-chunks.ts'
import type { Selector as AnySelector } from '../../src/grid/selection.ts'
import { chunk, newAxis, points } from '../../src/grid/selectors.ts'
import type { Plain, Selector } from './oracle.ts'

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

/** One axis cut anywhere, sometimes evenly. */
export const axisChunks = (length: number): fc.Arbitrary<AxisChunks> =>
  fc.oneof(
    fc
      .integer({ min: 1, max: length + 2 })
      .chain((own) => fc.nat(length > 0 ? own - 1 : 0).map((offset) => new RegularChunks(own, length, offset))),
    fc
      .uniqueArray(fc.integer({ min: 1, max: Math.max(1, length - 1) }), { maxLength: 4 })
      .map((cuts) => new IrregularChunks([...new Set([0, ...cuts.filter((cut) => cut < length), length])].sort((a, b) => a - b))),
  )

/** Grids of chunks of any kind. */
export const mixedGrids = (shape: readonly number[]): fc.Arbitrary<ChunkGrid> =>
  fc.tuple(...shape.map(axisChunks)).map((axes) => new ChunkGrid(axes))

/**
 * Integers, nulls and slices of any step and sign, bounds beyond the axis included; trailing ones may be
 * missing.
 */
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

/**
 * Selections of every kind: lists of any rank, masks, points and chunks of one axis or several, new axes and
 * `'...'`.
 */
export const anySelections = (grid: ChunkGrid): fc.Arbitrary<AnySelector[]> =>
  fc.tuple(anySelectors(grid, 0), fc.boolean(), fc.nat(), fc.nat(9)).map(([selection, open, at, drop]) => {
    if (drop === 0) return selection.slice(0, -1)
    if (!open) return selection
    // An open one takes the place of whole axes, or of none.
    const from = selection.indexOf(null)
    if (from < 0) return selection.toSpliced(at % (selection.length + 1), 0, '...')
    const end = selection.findIndex((each, i) => i > from && each !== null)
    return selection.toSpliced(from, (end < 0 ? selection.length : end) - from, '...')
  })

function anySelectors(grid: ChunkGrid, axis: number): fc.Arbitrary<AnySelector[]> {
  const shape = grid.shape.slice(axis)
  if (shape.length === 0) return fc.constantFrom([], [], [], [newAxis])
  const several = fc.integer({ min: 1, max: Math.min(3, shape.length) })
  const own: fc.Arbitrary<[AnySelector, number]> = fc.oneof(
    { weight: 4, arbitrary: selectors(shape[0]!).map((each): [AnySelector, number] => [each, 1]) },
    { weight: 4, arbitrary: lists(shape[0]!).map((each): [AnySelector, number] => [each, 1]) },
    {
      weight: 2,
      arbitrary: several.chain((axes) => masks(shape.slice(0, axes)).map((each): [AnySelector, number] => [each, axes])),
    },
    {
      weight: 2,
      arbitrary: several.chain((axes) => pointLists(shape.slice(0, axes)).map((each): [AnySelector, number] => [each, axes])),
    },
    { weight: 1, arbitrary: several.chain((axes) => chunkIndexes(grid, axis, axes)) },
    { weight: 1, arbitrary: fc.constant<[AnySelector, number]>([newAxis, 0]) },
  )
  return own.chain(([selector, axes]) => anySelectors(grid, axis + axes).map((rest) => [selector, ...rest]))
}

const positionsOf = (length: number, count: { minLength?: number; maxLength: number }): fc.Arbitrary<number[]> =>
  length === 0 ? fc.constant([]) : fc.array(fc.integer({ min: -length, max: length - 1 }), count)

function lists(length: number): fc.Arbitrary<AnySelector> {
  const flat = positionsOf(length, { maxLength: 8 })
  const even = flat.map((list) => list.slice(0, list.length & ~1))
  return fc.oneof(
    flat,
    flat.map((list) => [...list].sort((a, b) => ((a + length) % length) - ((b + length) % length))),
    flat.map((list) => Int16Array.from(list)),
    flat.map((list) => BigInt64Array.from(list, BigInt)),
    even.map((list) =>
      list.length === 0 ? [[], []] : [list.slice(0, list.length / 2), Float32Array.from(list.slice(list.length / 2))],
    ),
    even.map((list) => ({ data: Int32Array.from(list), shape: [2, list.length / 2], stride: [1, 2] })),
  )
}

function masks(shape: readonly number[]): fc.Arbitrary<AnySelector> {
  const size = sizeOf(shape)
  const bits = fc.oneof(
    fc.uint8Array({ minLength: size, maxLength: size, max: 1 }),
    fc.uint8Array({ minLength: size, maxLength: size, max: 5 }).map((bytes) => bytes.map((byte) => (byte === 0 ? 1 : 0))),
    fc.constant(new Uint8Array(size)),
    fc.constant(new Uint8Array(size).fill(1)),
  )
  const nest = (bytes: Uint8Array, axis: number, from: number): unknown =>
    axis === shape.length
      ? bytes[from] === 1
      : Array.from({ length: shape[axis]! }, (_, i) => nest(bytes, axis + 1, from * shape[axis]! + i))
  const tensors = bits.map((data) => ({ data, shape }))
  if (size === 0) return tensors
  return fc.oneof(
    tensors,
    bits.map((bytes) => nest(bytes, 0, 0) as boolean[]),
    shape.length === 1 ? bits : tensors,
  )
}

function pointLists(shape: readonly number[]): fc.Arbitrary<AnySelector> {
  const axes = shape.length
  if (sizeOf(shape) === 0) return fc.constant(points([], axes))
  const point = fc.tuple(...shape.map((length) => fc.integer({ min: -length, max: length - 1 })))
  return fc.oneof(
    fc.array(point, { maxLength: 10 }).map((list) => points(list, axes)),
    fc.array(fc.tuple(point, point), { minLength: 1, maxLength: 5 }).map((list) => points(list)),
    point.map((one) => points(one)),
  )
}

const chunkIndexes = (grid: ChunkGrid, axis: number, axes: number): fc.Arbitrary<[AnySelector, number]> => {
  const counts = grid.counts.slice(axis, axis + axes)
  if (counts.includes(0)) return fc.constant([null, 1])
  return fc.tuple(...counts.map((count) => fc.integer({ min: -count, max: count - 1 }))).map((index) => [chunk(...index), axes])
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
