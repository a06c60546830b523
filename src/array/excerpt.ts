import type { DType } from '../core/dtype.ts'
import { invalidArgument, rethrowWithin } from '../core/errors.ts'
import { sizeOf } from '../core/shape.ts'
import { type AxisView, copyTensor, type Tensor, tensorOf, viewTensor } from '../core/tensor.ts'
import { resolveSelection } from '../grid/selection.ts'
import { isSlice, type Slice, slice } from '../grid/slice.ts'
import type { DiskArray } from './disk-array.ts'

/** Elements at each end of a shortened axis. */
const EDGE = 3
/** Elements up to which a selection is read whole. */
const SUMMARY_SIZE = 1000

/** Integers and slices of the leading axes; null, and missing ones, select whole axes. */
export type SliceSelection = readonly (number | Slice | null)[]

/** The elements of a selection that a summary shows. */
export interface Excerpt {
  /** Data type of the elements. */
  readonly dtype: DType
  /** The elements: all of them, or the corners. */
  readonly tensor: Tensor
  /** Whether each axis is shortened. Half of the elements along such an axis are from either end. */
  readonly cut: readonly boolean[]
}

/** Resolved selection of an axis. Integers drop the axis (`keep` is false). */
export type AxisSelection = AxisView & { readonly keep: boolean }

/**
 * Reads the elements of a selection that a summary shows: all of up to 1000, and the corners of more, three
 * elements from each end of an axis. Reads no chunk between the corners.
 * @throws InvalidSelectionError; InvalidArgumentError for lists and masks; errors of reading
 * @example
 * const array = generate((i) => i, { dtype: 'float64', shape: [5000] })
 * const { tensor, cut } = await readExcerpt(array)
 * console.log(tensor.data, cut) // Float64Array(6) [ 0, 1, 2, 4997, 4998, 4999 ] [ true ]
 */
export async function readExcerpt(array: DiskArray, selection: SliceSelection | null = []): Promise<Excerpt> {
  const axes = resolveFor(array, selection)
  const kept = axes.filter(({ keep }) => keep)
  const isWhole = sizeOf(kept.map(({ length }) => length)) <= SUMMARY_SIZE
  const cut = kept.map(({ length }) => !isWhole && length > 2 * EDGE)
  const shape = kept.map(({ length }, axis) => (cut[axis] ? 2 * EDGE : length))
  const tensor = tensorOf(array.dtype, shape)
  for (const corner of corners(kept, cut)) {
    let axis = 0
    const part = axes.map((each) => (each.keep ? partOf(each, corner[axis++]!) : each.start))
    const place = corner.map(({ to, length }) => ({ start: to, step: 1, length }))
    const piece = tensorOf(
      array.dtype,
      corner.map(({ length }) => length),
    )
    await array.get(part, { out: piece })
    copyTensor(piece, viewTensor(tensor as Tensor, place))
  }
  return { dtype: array.dtype, tensor: tensor as Tensor, cut }
}

/** A run of `length` positions of an axis, starting at `from` in the selection and at `to` in the excerpt. */
interface Part {
  readonly from: number
  readonly length: number
  readonly to: number
}

function corners(kept: readonly AxisSelection[], cut: readonly boolean[]): Part[][] {
  let all: Part[][] = [[]]
  kept.forEach(({ length }, axis) => {
    const parts = cut[axis]
      ? [
          { from: 0, length: EDGE, to: 0 },
          { from: length - EDGE, length: EDGE, to: EDGE },
        ]
      : [{ from: 0, length, to: 0 }]
    all = all.flatMap((corner) => parts.map((part) => [...corner, part]))
  })
  return all
}

/** Returns a selector for a part of a resolved axis. */
function partOf({ start, step }: AxisSelection, { from, length }: { from: number; length: number }): Slice {
  const first = start + from * step
  const stop = first + length * step
  // A backward slice that includes the first element needs an open end, because a negative stop would count
  // from the end.
  return slice(first, stop < 0 ? null : stop, step)
}

/** Resolves a selection of integers and slices of an array. Errors name the array. */
export function resolveFor(array: DiskArray, selection: SliceSelection | null): AxisSelection[] {
  try {
    const other = Array.from(selection ?? []).find((each) => each !== null && typeof each !== 'number' && !isSlice(each))
    if (other !== undefined) invalidArgument('an excerpt is of integers and slices', other)
    const { parts } = resolveSelection(selection, array.shape)
    return parts.map(({ picks, shape }) => ({ ...(picks as AxisView), keep: shape.length > 0 }))
  } catch (error) {
    return rethrowWithin(error, array.source.label ?? {})
  }
}
