import { NAT } from './time/instant.ts'

/**
 * A value that names a position along a dimension. Times are instants: nanoseconds since 1970 in their
 * calendar.
 */
export type Label = number | bigint | string
export type Labels = ArrayLike<Label>

/** Whether a label is NaN or {@link NAT}. */
export const isMissingLabel = (label: Label): boolean => label === NAT || Number.isNaN(label)

export const absolute = (value: bigint): bigint => (value < 0n ? -value : value)

/** Whether two labels are equal. Numbers and bigints are compared exactly. */
export function isSameLabel(a: Label, b: Label): boolean {
  if (typeof a === typeof b || typeof a === 'string' || typeof b === 'string') return a === b
  return a <= b && a >= b
}

/** Returns the distance of two labels. Different texts are infinitely far apart. */
export function distance(a: Label, b: Label): number | bigint {
  if (typeof a === 'bigint' && typeof b === 'bigint') return absolute(a - b)
  // Infinity has no distance to itself as a difference.
  if (typeof a === 'number' && typeof b === 'number' && a !== b) return Math.abs(a - b)
  return a === b ? 0 : Number.POSITIVE_INFINITY
}
