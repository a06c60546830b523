import { checkDType, DTYPES, type DType, elementBytes, isFixed, type ScalarOf } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../../core/options.ts'
import { checkShape, sameShape, showShape, sizeOf } from '../../core/shape.ts'
import { ChunkGrid } from '../../grid/chunks.ts'
import type { AfDType, FillValue } from './footer.ts'
import { fromFill, toFill } from './footer-values.ts'

/** Options of `createArray`: among them the type (`dtype`) and the `shape` of the array. */
export interface ArrayOptions<D extends DType = DType, S extends readonly number[] = readonly number[]> {
  readonly dtype: D
  readonly shape: S
  /** Shape of a chunk. Default: the shape of the array. */
  readonly chunks?: readonly number[]
  /** One name for each axis. Default: `dim_0`, `dim_1` and so on. */
  readonly dimensionNames?: readonly string[]
  /** Value of unwritten elements. Default: 0, '' or no bytes. */
  readonly fillValue?: ScalarOf<D>
}

const CHECKS: Checks<ArrayOptions> = {
  dtype: DTYPES,
  shape: 'list',
  chunks: 'list',
  dimensionNames: 'list of strings',
  fillValue: 'value',
}

/**
 * Description of an array without its chunks and attributes. It is equal in all layers, except for the shape,
 * unless the array was defined anew.
 */
export interface Definition {
  readonly name: string
  readonly dtype: AfDType
  readonly shape: readonly number[]
  readonly chunkShape: readonly number[]
  readonly dimensionNames: readonly string[]
  readonly fillValue: FillValue | null
}

/**
 * Largest number of 32 bits, in which the format stores axis lengths, chunk sizes and offsets within a block.
 */
export const MAX_U32 = 0xffffffff

/** @throws InvalidArgumentError if the options contradict each other or do not fit the format */
export function define(name: string, options: ArrayOptions): Definition {
  checkValue('createArray', 'options', options, 'object')
  checkOptions('createArray', options, CHECKS)
  const { dtype, shape, chunks = shape, dimensionNames, fillValue } = options
  if (typeof name !== 'string' || name === '')
    throw new HyperslabError('InvalidArgumentError', 'an array needs a name', { actual: name })
  checkDType(dtype)
  checkShape(shape, 'shape')
  const names = dimensionNames ?? shape.map((_, axis) => `dim_${axis}`)
  if (names.length !== shape.length || !names.every((each) => typeof each === 'string')) {
    throw new HyperslabError('InvalidArgumentError', `${names.length} dimension names for ${shape.length} axes`, {
      actual: names,
      expected: shape.length,
    })
  }
  const grid = ChunkGrid.regular(
    shape,
    chunks.map((length, axis) => (shape[axis] === 0 && length === 0 ? 1 : length)),
  )
  checkSizes(dtype, grid)
  return {
    name,
    dtype: { kind: dtype },
    shape: [...shape],
    chunkShape: [...grid.chunkShape],
    dimensionNames: [...names],
    fillValue: fillValue === undefined ? null : toFill(dtype, fillValue),
  }
}

/**
 * Checks that axis lengths and the bytes of a chunk fit in the 32 bits of the format.
 * @throws InvalidArgumentError for larger ones
 */
export function checkSizes(dtype: DType, { shape, chunkShape }: ChunkGrid): void {
  for (const [what, lengths] of [
    ['an axis', shape],
    ['a chunk', chunkShape],
  ] as const) {
    const axis = lengths.findIndex((length) => length > MAX_U32)
    if (axis < 0) continue
    const text = `axis ${axis}: ${what} of ${lengths[axis]} is longer than the format's ${MAX_U32}`
    throw new HyperslabError('InvalidArgumentError', text, { axis, actual: lengths[axis], expected: MAX_U32 })
  }
  if (!isFixed(dtype)) return
  const clipped = chunkShape.map((length, axis) => Math.min(length, shape[axis]!))
  const bytes = sizeOf(clipped) * elementBytes(dtype)
  if (bytes <= MAX_U32) return
  const text = `a chunk of shape ${showShape(clipped)} has ${bytes} bytes, more than 4 GiB; use smaller chunks`
  throw new HyperslabError('InvalidArgumentError', text, { actual: bytes, expected: MAX_U32 })
}

/**
 * Returns the chunk grid of an array. Other writers store chunk lengths of 0 on axes of length 0; these count
 * as 1.
 */
export function gridFor({ shape, chunkShape }: Pick<Definition, 'shape' | 'chunkShape'>): ChunkGrid {
  return ChunkGrid.regular(
    shape,
    chunkShape.map((length) => Math.max(1, length)),
  )
}

export const isNested = ({ dtype }: Pick<Definition, 'dtype'>): boolean =>
  dtype.kind === 'list' || dtype.kind === 'fixed_size_list'

/**
 * Returns the data type as the public API names it.
 * @throws UnsupportedError for nested types, for which no implementation can store data
 */
export function dtypeOf({ dtype }: Pick<Definition, 'dtype'>): DType {
  if (dtype.kind !== 'list' && dtype.kind !== 'fixed_size_list') return dtype.kind
  throw new HyperslabError('UnsupportedError', `arrays of type ${dtype.kind} cannot be read`, { actual: dtype.kind })
}

export function definedFill({ dtype, fillValue }: Definition): ScalarOf<DType> | undefined {
  return fillValue === null || dtype.kind === 'list' || dtype.kind === 'fixed_size_list'
    ? undefined
    : fromFill(dtype.kind, fillValue)
}

/**
 * Whether two definitions are equal. A layer copies the definition of each array that it touches. A
 * difference therefore proves that the array was defined anew in between, or, if only the shape differs and
 * the layer says so, that it was resized.
 */
export const sameDefinition = (a: Definition, b: Definition): boolean => sameShape(a.shape, b.shape) && sameButShape(a, b)

export function sameButShape(a: Definition, b: Definition): boolean {
  return (
    JSON.stringify(a.dtype) === JSON.stringify(b.dtype) &&
    a.shape.length === b.shape.length &&
    sameShape(gridFor(a).chunkShape, gridFor(b).chunkShape) &&
    a.dimensionNames.length === b.dimensionNames.length &&
    a.dimensionNames.every((name, axis) => name === b.dimensionNames[axis]) &&
    sameFill(a.fillValue, b.fillValue)
  )
}

function sameFill(a: FillValue | null, b: FillValue | null): boolean {
  if (a === null || b === null) return a === b
  if (a.kind === 'float' && b.kind === 'float') return a.bits === b.bits
  return a.kind === b.kind && a.value === b.value
}
