/**
 * Converts `count` stored values, one after another, to the payload of a chunk (`engine/chunk-values.ts`).
 */
export type ValueConversion = (stored: Uint8Array, count: number) => Uint8Array
