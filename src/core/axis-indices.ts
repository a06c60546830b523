import type { AxisView } from './tensor.ts'

/** Lists of positions: of elements in memory, and of elements of an array, which may be beyond 2^32. */
type PositionList = Uint32Array | Float64Array

/** Positions along one axis: evenly spaced, or a list in any order. */
export type AxisIndices<L extends PositionList = Uint32Array> = AxisView | L

export const isListed = <L extends PositionList>(indices: AxisIndices<L>): indices is L => ArrayBuffer.isView(indices)

/** Returns the position at index `i`. */
export const indexAt = (indices: AxisIndices<PositionList>, i: number): number =>
  isListed<PositionList>(indices) ? indices[i]! : indices.start + i * indices.step
