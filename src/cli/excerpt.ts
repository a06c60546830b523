import type { DiskArray } from '../array/disk-array.ts'
import { rethrowWithin } from '../core/errors.ts'
import { sizeOf } from '../core/shape.ts'
import { type AxisView, copyTensor, type Tensor, tensorOf, viewTensor } from '../core/tensor.ts'
import { resolveSelection, type Selection } from '../grid/selection.ts'
import { type Slice, slice } from '../grid/slice.ts'
import { EDGE, type Excerpt, type Result, SUMMARY_SIZE, whole } from './format.ts'

/** Resolved selection of an axis. Integers drop the axis (`keep` is false). */
export type AxisSelection = AxisView & { readonly keep: boolean }

/** Reads a selection as a tensor, even a single element. */
export async function readResult(array: DiskArray, selection: Selection): Promise<Result> {
  const { shape } = await array.plan(selection)
  const tensor = tensorOf(array.dtype, shape)
  await array.get(selection, { out: tensor })
  return { dtype: array.dtype, tensor }
}

/** Reads the elements that text output shows: all of them, or the corners of a large result. */
export async function readExcerpt(array: DiskArray, selection: Selection): Promise<Excerpt> {
  const axes = resolveFor(array, selection)
  const kept = axes.filter(({ keep }) => keep)
  if (sizeOf(kept.map(({ length }) => length)) <= SUMMARY_SIZE) return whole(await readResult(array, selection))
  const cut = kept.map(({ length }) => length > 2 * EDGE)
  const shape = kept.map(({ length }, axis) => (cut[axis] ? 2 * EDGE : length))
  const tensor = tensorOf(array.dtype, shape)
  for (const corner of corners(kept, cut)) {
    let axis = 0
    const part = axes.map((each) => (each.keep ? excerptOf(each, corner[axis++]!) : each.start))
    const place = corner.map(({ to, length }) => ({ start: to, step: 1, length }))
    const piece = tensorOf(
      array.dtype,
      corner.map(({ length }) => length),
    )
    await array.get(part, { out: piece })
    copyTensor(piece, viewTensor(tensor as Tensor, place))
  }
  return { dtype: array.dtype, tensor, cut }
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
function excerptOf({ start, step }: AxisSelection, { from, length }: { from: number; length: number }): Slice {
  const first = start + from * step
  const stop = first + length * step
  // A backward slice that includes the first element needs an open end, because a negative stop would count
  // from the end.
  return slice(first, stop < 0 ? null : stop, step)
}

/** Resolves a selection of an array. Errors name the array. */
export function resolveFor(array: DiskArray, selection: Selection): AxisSelection[] {
  try {
    const { parts } = resolveSelection(selection, array.shape)
    return parts.map(({ picks, shape }) => ({ ...(picks as AxisView), keep: shape.length > 0 }))
  } catch (error) {
    return rethrowWithin(error, array.source.label ?? {})
  }
}
