import type { Arena } from './arena.ts'

/** Element sizes that kernels can copy. */
export type ElementBytes = 1 | 2 | 4 | 8

/**
 * Copies the elements of a box within kernel memory: gather, scatter and transposition in one. Source and
 * destination must not overlap. Nothing but destination elements is written. Grows the memory only if a few
 * descriptors do not fit; views become invalid then.
 * @param src address of the element at index 0 of every axis
 * @param srcStride elements from one index to the next along each axis; negative values and 0 are allowed
 * @param dstStride same for the destination, whose elements must be distinct
 */
export function copyStrided(
  arena: Arena,
  elementBytes: ElementBytes,
  shape: readonly number[],
  src: number,
  srcStride: readonly number[],
  dst: number,
  dstStride: readonly number[],
): void {
  const rank = shape.length
  arena.scratch(() => {
    const axes = arena.int32s([...shape, ...srcStride, ...dstStride])
    arena.kernels.copyStrided(elementBytes, rank, axes, src, axes + 4 * rank, dst, axes + 8 * rank)
  })
}
