/** Statistics of one chunk. Elements equal to the fill value count as null. */
export interface ChunkStats {
  /**
   * Minimum and maximum of the elements that are neither null nor NaN, of strings and binaries as bytes;
   * undefined if `count` is 0.
   */
  readonly min: Extreme | undefined
  readonly max: Extreme | undefined
  /** Sum of the same elements; an exact bigint for 64-bit integers, 0 for strings and binaries. */
  readonly sum: number | bigint
  /** Number of those elements. */
  readonly count: number
  readonly nullCount: number
  readonly nanCount: number
  /** Signs of the NaNs: the format sorts negative NaN below all numbers, positive NaN above. */
  readonly nans: { readonly negative: boolean; readonly positive: boolean }
}

export type Extreme = number | bigint | Uint8Array

export const NO_NANS = { negative: false, positive: false }

/** Returns the statistics of unwritten elements. */
export const statsOfFill = (size: number): ChunkStats => ({
  min: undefined,
  max: undefined,
  sum: 0,
  count: 0,
  nullCount: size,
  nanCount: 0,
  nans: NO_NANS,
})
