import type { AxisView } from './tensor.js'

/** Positions along one axis: in arithmetic progression, or one by one. */
export type Places = AxisView | Uint32Array

export const isListed = (places: Places): places is Uint32Array => places instanceof Uint32Array

export const placeAt = (places: Places, i: number): number => (isListed(places) ? places[i]! : places.start + i * places.step)

/** Whether these are neighbours, in order. */
export const isRun = (places: Places): boolean => !isListed(places) && (places.step === 1 || places.length === 1)
