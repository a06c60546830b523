/**
 * The ABI of the module that encodes Zstandard. Pointers are byte addresses; each file states the contract of
 * its exports.
 */
export { zstdEncode } from './frame'
export { zstdEncodeEnd, zstdEncodeTables, zstdWorkBytes } from './layout'

/** End of the static data: `scripts/embed-kernels.mjs` checks that the arena begins behind it. */
export const zstdEncodeDataEnd: usize = __heap_base
