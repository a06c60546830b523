/**
 * The ABI of the Zstandard module. Pointers are byte addresses; each file states the contract of what it
 * exports.
 */
export { zstdDecode, zstdDecodeUpTo } from './frame'
export { zstdEnd, zstdTables } from './layout'

/** Where the static data end: `scripts/embed-kernels.mjs` looks whether the tables begin behind it. */
export const zstdDataEnd: usize = __heap_base
