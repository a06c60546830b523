import type { AxisView } from '../core/tensor.ts'

/**
 * The positions `start`, `start + step`, … below `stop` of one axis. `step` is at least 1; an empty range
 * has `start === stop`.
 */
export interface Range {
  readonly start: number
  readonly stop: number
  readonly step: number
}

/** A hyper-rectangle of an array: one range per axis. */
export type Box = readonly Range[]

export const rangeLength = ({ start, stop, step }: Range): number => Math.max(0, Math.ceil((stop - start) / step))

/** Converts positions to a range; their step must be positive. */
export const rangeOf = ({ start, step, length }: AxisView): Range =>
  length === 0 ? { start, stop: start, step: 1 } : { start, stop: start + (length - 1) * step + 1, step }

export const viewOf = (range: Range): AxisView => ({ start: range.start, step: range.step, length: rangeLength(range) })

export const boxShape = (box: Box): number[] => box.map(rangeLength)

export const wholeBox = (shape: readonly number[]): Box => shape.map((length) => ({ start: 0, stop: length, step: 1 }))

/** Formats a box in numpy's notation: `[0:3, 5:25:2]`. */
export function showBox(box: Box): string {
  return `[${box.map(({ start, stop, step }) => (step === 1 ? `${start}:${stop}` : `${start}:${stop}:${step}`)).join(', ')}]`
}
