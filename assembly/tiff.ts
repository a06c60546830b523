/**
 * Kernels of TIFF, as a module of their own, loaded with the first tile. Like `filters.ts`, it imports the
 * memory of `reading.ts`; its tables are behind those of `rare-filters.ts`.
 */
export { lzwDecode } from './lzw-decode'
export { packBitsDecode } from './packbits-decode'
export { addLeft, joinPlanes } from './undo-prediction'
export { reverseBits, unpackRows, widenTriples } from './unpack-rows'

/** End of its tables: `scripts/embed-kernels.mjs` checks that those of `zstd/` begin behind it. */
export const tiffEnd: usize = __heap_base
