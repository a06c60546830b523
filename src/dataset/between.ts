import type { InstantLike } from '../core/timestamp.ts'
import type { CFTime } from './time/instant.ts'

/** A label that names a position: a number, text, or a time. */
export type LabelLike = number | bigint | string | Date | InstantLike | CFTime

/** A range of labels, both ends included. */
export class Between {
  /** The lower end. */
  readonly low: LabelLike
  /** The upper end. */
  readonly high: LabelLike

  constructor(low: LabelLike, high: LabelLike) {
    this.low = low
    this.high = high
  }
}

/**
 * All labels from one to another, both included, whichever way they run: `sel({ lat: between(35, 70) })`. Of
 * dates that are only told in part, the last one is included whole: `between('1998-01', '1998-03')` are three
 * months. Longitudes may go through the place where they begin anew: `between(-10, 30)`.
 * @throws InvalidSelectionError, from `sel`, when there is no label in it, or it runs down
 */
export const between = (low: LabelLike, high: LabelLike): Between => new Between(low, high)
