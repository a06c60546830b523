import type { InstantLike } from '../core/timestamp.ts'
import type { CFTime } from './time/instant.ts'

/** A label that names a position: a number, text, or a time. */
export type LabelLike = number | bigint | string | Date | InstantLike | CFTime

/** A range of labels, both ends included. */
export class Between {
  /** Lower end. */
  readonly low: LabelLike
  /** Upper end. */
  readonly high: LabelLike

  constructor(low: LabelLike, high: LabelLike) {
    this.low = low
    this.high = high
  }
}

/**
 * Selects all labels from one to another, both included, in either direction of the labels: `sel({ lat:
 * between(35, 70) })`. A partial date as upper end is included as a whole: `between('1998-01', '1998-03')`
 * selects three months. A range of longitudes may cross the seam of the axis: `between(-10, 30)`, or
 * `between(170, -160)` for the Pacific.
 * @throws InvalidSelectionError from `sel` if the range contains no label, or `low` is above `high` along
 *   other dimensions than longitudes
 */
export const between = (low: LabelLike, high: LabelLike): Between => new Between(low, high)
