import { elementBytes, type FixedDType } from '../core/dtype.ts'
import { sizeOf, stridesOf } from '../core/shape.ts'
import { type AxisView, copyTensor, runLength, type Tensor, viewTensor } from '../core/tensor.ts'
import type { Arena } from '../kernels/arena.ts'
import { copyStrided } from '../kernels/copy.ts'

/** Elements in kernel memory, from a byte address, and the positions of the target they fill. */
export interface PieceBox {
  readonly address: number
  readonly shape: readonly number[]
  readonly stride: readonly number[]
  readonly outer: readonly AxisView[]
}

/** Runs that JavaScript copies as fast as a kernel would. */
export const LONG_RUN_BYTES = 16 * 1024
/** A larger piece would leave the cache before it is copied on. */
export const MAX_PIECE_BYTES = 16 * 1024 * 1024

/**
 * Whether elements should go through a piece: copied by runs as they are, they would go in short ones.
 * @param run elements that could be copied at once without
 */
export function isWorthPiece(dtype: FixedDType, run: number, target: Tensor<FixedDType>): boolean {
  const size = elementBytes(dtype)
  if (run * size >= LONG_RUN_BYTES || sizeOf(target.shape) * size > MAX_PIECE_BYTES) return false
  return runLength([inMemoryOrder(target)]) > run
}

/**
 * Copies boxes to their target by way of a piece of kernel memory in which they lie as they do there: a
 * kernel moves the short runs and steps, JavaScript, which takes as long for a run as a kernel for a
 * kilobyte, the long ones.
 * @param target filled by the boxes without a gap; `hull` are its positions among those that boxes count by
 */
export function placeInPiece(
  arena: Arena,
  dtype: FixedDType,
  boxes: readonly PieceBox[],
  hull: readonly AxisView[],
  target: Tensor<FixedDType>,
): void {
  const size = elementBytes(dtype)
  const ordered = inMemoryOrder(target)
  const dense = stridesOf(ordered.shape)
  // Back in the order of the axes: from where the first element lies, backwards where the target runs
  // backwards.
  const stride = new Array<number>(target.shape.length)
  let first = 0
  ordered.axes.forEach((axis, i) => {
    const backwards = target.stride[axis]! < 0
    stride[axis] = backwards ? -dense[i]! : dense[i]!
    if (backwards) first += (target.shape[axis]! - 1) * dense[i]!
  })
  const length = sizeOf(target.shape)
  const pointer = arena.alloc(length * size)
  for (const box of boxes) {
    const at = box.outer.reduce((sum, { start }, axis) => sum + (start - hull[axis]!.start) * stride[axis]!, first)
    copyStrided(arena, size, box.shape, box.address, box.stride, pointer + at * size, stride)
  }
  copyTensor({ data: arena.view(dtype, pointer, length), shape: ordered.shape, stride: dense, offset: 0 }, ordered)
}

/** The same elements, with axes sorted by stride and all of them running forwards. */
function inMemoryOrder(tensor: Tensor<FixedDType>): Tensor<FixedDType> & { readonly axes: readonly number[] } {
  const { data, shape, stride } = tensor
  const axes = shape.map((_, axis) => axis).sort((a, b) => Math.abs(stride[b]!) - Math.abs(stride[a]!))
  const views = shape.map((length, axis) =>
    stride[axis]! < 0 ? { start: length - 1, step: -1, length } : { start: 0, step: 1, length },
  )
  const forwards = viewTensor(tensor, views)
  return {
    data,
    axes,
    shape: axes.map((axis) => shape[axis]!),
    stride: axes.map((axis) => forwards.stride[axis]!),
    offset: forwards.offset,
  }
}
