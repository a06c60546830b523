/** What one chunk contributes to statistics. Elements equal to the fill value are null. */
export interface ChunkStats {
  /**
   * Ends of the elements that are neither null nor NaN, of strings and binaries as bytes; undefined when
   * there are none.
   */
  readonly min: Extreme | undefined
  readonly max: Extreme | undefined
  /** Sum of the same elements, exact for 64-bit integers, which have bigints; 0 for strings and binaries. */
  readonly sum: number | bigint
  /** How many those are. */
  readonly count: number
  readonly nullCount: number
  readonly nanCount: number
  /**
   * Which NaNs there are: the order of the format has those with a sign below all numbers, the others above.
   */
  readonly nans: { readonly negative: boolean; readonly positive: boolean }
}

export type Extreme = number | bigint | Uint8Array

export const NO_NANS = { negative: false, positive: false }

/** Those of elements nobody wrote. */
export const statsOfFill = (size: number): ChunkStats => ({
  min: undefined,
  max: undefined,
  sum: 0,
  count: 0,
  nullCount: size,
  nanCount: 0,
  nans: NO_NANS,
})
