/**
 * Strided n-d copy: gather and scatter in one.
 *
 * Contract: `copyStrided` copies every element of a box from `src` to `dst`; strides are in elements, may be
 * negative, and 0 in the source. The operands do not overlap. Nothing but destination elements is written; up
 * to 16 bytes behind a source element may be read.
 *
 * Memory: the shape and both lists of strides are `rank` i32 each.
 *
 * Why it is fast: axes are merged and sorted so that the destination is written front to back (axes.ts). Then
 * the two innermost axes form a plane and one of these copies it: rows of bytes (copy-rows.ts), tiles
 * transposed in registers (transpose.ts), or rows whose elements lie apart (copy-apart.ts).
 */
import { advance, axisLength, leadShift, leadStep, normalise, otherShift, otherStep, swapAxes } from './axes'
import { copyRow } from './copy-apart'
import { copyRows } from './copy-rows'
import { transpose } from './transpose'

/** Axes shorter than this are not worth a transposition. */
const LEAST_TILE: u32 = 8

export function copyStrided(
  elementBytes: i32,
  rank: i32,
  shape: usize,
  src: usize,
  srcStride: usize,
  dst: usize,
  dstStride: usize,
): void {
  const axes = normalise(rank, shape, dstStride, elementBytes, srcStride, elementBytes)
  if (axes < 0) return
  const length = axisLength(0)
  const from = otherStep(0)
  const to = leadStep(0)
  const dense = from == elementBytes && to == elementBytes
  const transposed = !dense && to == elementBytes && length >= LEAST_TILE && bringUnitAxis(axes, elementBytes)
  const rows = axisLength(1)
  const srcRow = otherStep(1)
  const dstRow = leadStep(1)
  do {
    let source = src + otherShift
    let target = dst + leadShift
    if (dense) {
      copyRows(source, srcRow, target, dstRow, length * elementBytes, rows)
    } else if (transposed) {
      if (elementBytes == 1) transpose<u8>(source, from, target, dstRow, length, rows)
      else if (elementBytes == 2) transpose<u16>(source, from, target, dstRow, length, rows)
      else if (elementBytes == 4) transpose<u32>(source, from, target, dstRow, length, rows)
      else transpose<u64>(source, from, target, dstRow, length, rows)
    } else {
      for (let row: u32 = 0; row < rows; row++, source += srcRow, target += dstRow) copyRow(elementBytes, source, from, target, to, length)
    }
  } while (advance(2, axes))
}

/**
 * Makes axis 1 the one along which source elements are contiguous; returns false if none is worth a
 * transposition.
 */
function bringUnitAxis(axes: i32, elementBytes: i32): bool {
  for (let axis = 1; axis < axes; axis++) {
    if (otherStep(axis) == elementBytes && axisLength(axis) >= LEAST_TILE) {
      swapAxes(1, axis)
      return true
    }
  }
  return false
}
