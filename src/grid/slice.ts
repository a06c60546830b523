/** A slice as written: `null` stands for "from the end this slice starts at" and "to the other end". */
export interface Slice {
  readonly start: number | null
  readonly stop: number | null
  readonly step: number | null
}

/**
 * A slice of one axis with Python's rules: negative numbers count from the end, bounds beyond the axis are clipped, a negative step runs
 * backwards.
 *
 * `slice(stop)`, `slice(start, stop)` or `slice(start, stop, step)`; `null` leaves a bound open.
 */
export function slice(stop: number | null): Slice
export function slice(start: number | null, stop: number | null, step?: number | null): Slice
export function slice(a: number | null, b?: number | null, step: number | null = null): Slice {
  return b === undefined ? { start: null, stop: a, step } : { start: a, stop: b, step }
}
