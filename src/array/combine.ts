import { sameShape, showShape } from '../core/shape.ts'
import type { BlocksOptions, ZippedBlocks } from './iteration.ts'

export type { ZippedBlocks } from './iteration.ts'

import type { DType, ScalarOf } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { checkOptions, checkValue } from '../core/options.ts'
import { isTensorLike, type Tensor } from '../core/tensor.ts'
import type { Axis } from './axes.ts'
import { DiskArray } from './disk-array.ts'
import { type BroadcastOptions, broadcastSource as broadcastSources } from './lazy/broadcast.ts'
import type { Operand } from './lazy/broadcast-blocks.ts'
import {
  type ConcatOptions,
  concatSource as concatSources,
  listSources,
  type StackOptions,
  stackSource as stackSources,
  type TileGrid,
} from './lazy/concat.ts'
import { type GenerateOptions, generateSource, inMemory } from './lazy/generate.ts'
import { type MosaicOptions, mosaicSource as mosaicSources } from './lazy/mosaic.ts'
import { parsePacking } from './lazy/packing.ts'
import { rollSource } from './lazy/roll.ts'
import { SCALED_CHECKS, type ScaledOptions, scaledSource } from './lazy/scaled.ts'
import { zipElements as zipSources } from './lazy/zip.ts'
import { sourceOf } from './operand.ts'

/** `D` if it is a single data type; for several types, the promoted type is unknown at compile time. */
type Single<D extends DType, All = D> = D extends All ? ([All] extends [D] ? D : DType) : never

/**
 * Joins arrays one after another along an axis, or nested lists of them along several axes. Data types are
 * promoted to one. `null` stands for a missing tile, which reads as the fill value.
 * @throws InvalidArgumentError if there is no array, if lists are not nested evenly, or if lengths do not
 *   form a grid
 * @example
 * const [a, b] = [2, 3].map((length) => generate((i) => i, { dtype: 'int32', shape: [length] }))
 * console.log((await concat([a, b]).get()).data) // Int32Array(5) [ 0, 1, 0, 1, 2 ]
 */
export const concat = <D extends DType>(
  tiles: TileGrid<DiskArray<D>>,
  options?: ConcatOptions<Single<D>>,
): DiskArray<Single<D>> =>
  new DiskArray(concatSources(listSources('concat', tiles), options as ConcatOptions)) as DiskArray<Single<D>>

/**
 * Joins arrays of one shape along a new axis, or nested lists of them along several.
 * @throws InvalidArgumentError as {@link concat}
 * @example
 * const row = generate((i) => i, { dtype: 'int32', shape: [3] })
 * console.log(stack([row, row]).shape) // [ 2, 3 ]
 */
export const stack = <D extends DType>(tiles: TileGrid<DiskArray<D>>, options?: StackOptions<Single<D>>): DiskArray<Single<D>> =>
  new DiskArray(stackSources(listSources('stack', tiles), options as StackOptions)) as DiskArray<Single<D>>

/**
 * Joins arrays of any shapes, each with its first element at `origin`. Positions outside all arrays read as
 * the fill value and cannot be written.
 * @throws InvalidArgumentError if there are no arrays, or if they differ in type or rank, overlap, or
 *   exceed the shape
 */
export const mosaic = <D extends DType>(
  tiles: readonly { readonly origin: readonly number[]; readonly array: DiskArray<D> }[],
  options?: MosaicOptions<D>,
): DiskArray<D> => {
  checkValue('mosaic', 'tiles', tiles, 'list')
  const placed = Array.from(tiles, (tile) => {
    checkValue('mosaic', 'tile', tile, 'plain object')
    checkOptions('a tile of mosaic', tile, TILE_CHECKS)
    checkValue('a tile of mosaic', 'origin', tile.origin, 'list')
    return { origin: tile.origin, source: sourceOf('a tile of mosaic', tile.array) }
  })
  return new DiskArray(mosaicSources(placed, options))
}

const TILE_CHECKS = { origin: 'list', array: 'object' }

/**
 * Returns the array shifted cyclically along an axis: element i moves to `i + shift`.
 * @throws InvalidArgumentError unless `shift` is an integer and the axis exists
 */
export const roll = <D extends DType, R extends number>(array: DiskArray<D, R>, shift: number, axis: Axis): DiskArray<D, R> =>
  new DiskArray(rollSource(sourceOf('roll', array), shift, axis))

/** An operand of `broadcast`: an array, a tensor in memory, or a single value. */
export type BroadcastOperand = DiskArray | Tensor | number | bigint | boolean | string

type ValueOf<O> = O extends { readonly source: { readonly dtype: infer D extends DType } }
  ? ScalarOf<D>
  : O extends { readonly data: ArrayLike<infer E> }
    ? E
    : O extends number
      ? number
      : O extends bigint
        ? bigint
        : O extends string
          ? string
          : boolean
type ValuesOf<O extends readonly BroadcastOperand[]> = { [K in keyof O]: ValueOf<O[K]> }
type DTypesOf<O extends readonly BroadcastOperand[]> = Single<
  {
    [K in keyof O]: O[K] extends { readonly source: { readonly dtype: infer D extends DType } }
      ? D
      : O[K] extends Tensor
        ? DType
        : never
  }[number]
>

/**
 * Applies a function to the elements of arrays, tensors and single values at the same position. Shapes are
 * combined by numpy's rules: they are aligned at their last axes, and axes that are missing or of length 1
 * are repeated. Data types are promoted to one, unless the options, which come last, name one.
 * @throws InvalidArgumentError if shapes cannot be combined or there is no array; when read, if a result is
 *   not of the data type
 * @example
 * const t = generate((i, j) => 10 * i + j, { dtype: 'float64', shape: [2, 3] })
 * const anomaly = broadcast((x, mean) => x - mean, t, await t.mean({ axis: 0 }))
 * console.log(await anomaly.std()) // 5
 */
export function broadcast<const O extends readonly BroadcastOperand[]>(
  fn: (...values: ValuesOf<O>) => ScalarOf<DTypesOf<O>>,
  ...operands: O
): DiskArray<DTypesOf<O>>
export function broadcast<const O extends readonly BroadcastOperand[], D extends DType>(
  fn: (...values: ValuesOf<O>) => ScalarOf<D>,
  ...operandsAndOptions: [...O, BroadcastOptions<D> & { readonly dtype: D }]
): DiskArray<D>
export function broadcast(fn: (...values: never[]) => unknown, ...given: unknown[]): DiskArray {
  const last = given.at(-1)
  const options = typeof last === 'object' && last !== null && !('source' in last) && !('data' in last) ? given.pop() : {}
  const operands = given.map((operand): Operand => {
    if (typeof operand !== 'object' || operand === null) return { value: operand }
    return isTensorLike(operand) ? inMemory(operand as Tensor) : sourceOf('broadcast', operand as DiskArray, 'operand')
  })
  return new DiskArray(broadcastSources(fn, operands, options as BroadcastOptions<DType>))
}

/**
 * Returns an array unpacked by CF's rules, `packed * scaleFactor + addOffset`, with NaN for missing elements.
 * Written values are packed. Without options, the attributes of the array determine the packing:
 * `scale_factor`, `add_offset`, `_FillValue`, `missing_value` and `_Unsigned`. Lazy arrays of the same
 * elements have these attributes, too, as {@link DiskArray.attrs} says.
 * @throws UnsupportedError unless the array is numeric; InvalidArgumentError for a scale of 0, a written
 *   value that cannot be packed, or an attribute of an unexpected type. Also if neither options nor
 *   attributes are given
 * @example
 * const packed = generate((i) => i, { dtype: 'int16', shape: [3], fillValue: 2 })
 * const { data } = await scaled(packed, { scaleFactor: 0.5, addOffset: 10 }).get()
 * console.log(data) // Float64Array(3) [ 10, 10.5, NaN ]
 */
export function scaled<F extends 'float32' | 'float64' = 'float64', R extends number = number>(
  array: DiskArray<DType, R>,
  options: ScaledOptions & { readonly dtype?: F } = {},
): DiskArray<F, R> {
  const source = sourceOf('scaled', array)
  checkOptions('scaled', options, SCALED_CHECKS, source.label)
  const { dtype, ...packing } = options
  const isGiven = Object.values(packing).some((value) => value !== undefined)
  if (!isGiven && array.attrs === undefined) {
    const text = 'an array without attributes does not say how it is packed: pass `scaleFactor`, `addOffset` or `missingValues`'
    throw new HyperslabError('InvalidArgumentError', text, source.label)
  }
  const all = isGiven ? options : { ...parsePacking(source, array.attrs!), ...(dtype && { dtype }) }
  return new DiskArray(scaledSource(source, all)) as DiskArray as DiskArray<F, R>
}

/**
 * Creates an array whose elements are computed from their index on every read.
 * @throws when read, InvalidArgumentError if a result is not a value of the data type
 * @example
 * const t = generate((i, j) => 10 * i + j, { dtype: 'int32', shape: [2, 3] })
 * console.log((await t.get()).data) // Int32Array(6) [ 0, 1, 2, 10, 11, 12 ]
 */
export const generate = <D extends DType, const S extends readonly number[] = readonly number[]>(
  fn: (...index: number[]) => ScalarOf<D>,
  options: GenerateOptions<D, S>,
): DiskArray<D, S['length']> => new DiskArray(generateSource(fn, options))

/**
 * Yields the elements of arrays of one shape at each position, in C order: `for await (const [x, y] of zip(a,
 * b))`. `zipBlocks` is faster.
 * @throws InvalidArgumentError if shapes differ or there is no array
 * @example
 * const [a, b] = [1, 2].map((factor) => generate((i) => factor * i, { dtype: 'int32', shape: [3] }))
 * let sum = 0
 * for await (const [x, y] of zip(a, b)) sum += x * y
 * console.log(sum) // 10
 */
export const zip = <D extends readonly DType[]>(
  ...arrays: { [K in keyof D]: DiskArray<D[K]> }
): AsyncGenerator<{ [K in keyof D]: ScalarOf<D[K]> }, void> =>
  zipSources<D>(arrays.map((array: DiskArray) => sourceOf('zip', array)))

/**
 * Yields the same parts of several arrays of one shape, in C order. Parts are whole chunks of all arrays if
 * these fit into some MiB, so that each chunk is read once. Otherwise, they are the chunks of the first
 * array. Some parts are read ahead.
 * @throws InvalidArgumentError if shapes differ
 */
export async function* zipBlocks(
  arrays: readonly DiskArray<DType>[],
  options: BlocksOptions = {},
): AsyncGenerator<ZippedBlocks, void> {
  const { BLOCKS_CHECKS, traversalChunks, zipped } = await import('./iteration.ts')
  checkOptions('zipBlocks', options, BLOCKS_CHECKS)
  checkValue('zipBlocks', 'arrays', arrays, 'list')
  const [first, ...others] = Array.from(arrays, (array) => sourceOf('zipBlocks', array))
  if (first === undefined) return
  for (const { shape, label } of others) {
    if (sameShape(shape, first.shape)) continue
    throw new HyperslabError(
      'InvalidArgumentError',
      `an array of shape ${showShape(shape)} is no match for ${showShape(first.shape)}`,
      {
        ...label,
        actual: shape,
        expected: first.shape,
      },
    )
  }
  yield* zipped([first, ...others], traversalChunks([first, ...others]), options)
}
