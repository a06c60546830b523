import type { AxisView } from './tensor.ts'

/** Positions along one axis: in arithmetic progression, or one by one. */
export type AxisIndices = AxisView | Uint32Array

export const isListed = (places: AxisIndices): places is Uint32Array => places instanceof Uint32Array

export const indexAt = (places: AxisIndices, i: number): number =>
  isListed(places) ? places[i]! : places.start + i * places.step
