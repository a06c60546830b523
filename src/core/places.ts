import type { AxisView } from './tensor.ts'

/** Positions along one axis: evenly spaced, or a list. */
export type AxisIndices = AxisView | Uint32Array

export const isListed = (places: AxisIndices): places is Uint32Array => places instanceof Uint32Array

export const indexAt = (places: AxisIndices, i: number): number =>
  isListed(places) ? places[i]! : places.start + i * places.step
