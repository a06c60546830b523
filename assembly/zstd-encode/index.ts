/**
 * The ABI of the module that encodes Zstandard. Pointers are byte addresses; each file states the contract of
 * what it exports.
 */
export { zstdEncode } from './frame'
export { zstdEncodeEnd, zstdEncodeTables, zstdWorkBytes } from './layout'

/** Where the static data end: `scripts/embed-kernels.mjs` looks whether the arena begins behind it. */
export const zstdEncodeDataEnd: usize = __heap_base
