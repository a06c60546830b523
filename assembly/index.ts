/**
 * Kernel ABI: the exports of the complete module, which `initKernels` accepts. Pointers are byte addresses;
 * each file states the contract of its exports. The package embeds the same kernels as six modules over one
 * memory: `reading.ts`, and `compute.ts`, `filters.ts`, `rare-filters.ts`, `tiff.ts` and `zstd-encode/`,
 * which are loaded on first use.
 */
export { arenaAlloc, arenaMark, arenaReset } from './arena'
export { bloscLzDecode } from './blosclz-decode'
export { copyStrided } from './copy'
export { crc32c } from './crc32c'
export { cumulate } from './cumulate'
export { stats } from './extremes'
export { lz4Decode } from './lz4-decode'
export { lzfDecode } from './lzf-decode'
export { lz4Bound, lz4Encode } from './lz4-encode'
export { lzwDecode } from './lzw-decode'
export { packBitsDecode } from './packbits-decode'
export { find, firstRows } from './places'
export { pick } from './pick'
export { project } from './project'
export { reduce } from './reduce'
export { bitShuffle, shuffle } from './shuffle'
export { swap } from './swap'
export { szipDecode } from './szip-decode'
export { scaleTimes } from './times'
export { addLeft, joinPlanes } from './undo-prediction'
export { unpackFields } from './unpack-fields'
export { reverseBits, unpackRows, widenTriples } from './unpack-rows'
export { unscale } from './unscale'
export { bitUnshuffle, unshuffle } from './unshuffle'
export { widenBrain, widenHalf } from './widen'
export { zstdEncode } from './zstd-encode/frame'
export { zstdWorkBytes } from './zstd-encode/layout'

/** End of its tables: `scripts/embed-kernels.mjs` checks that those of `zstd-encode/` begin behind it. */
export const wholeEnd: usize = __heap_base
