/**
 * The ABI of the Zstandard module. Pointers are byte addresses; each file states the contract of its exports.
 */
export { zstdDecode, zstdDecodeUpTo } from './frame'
export { zstdEnd, zstdTables } from './layout'
export { zstdChecksum } from './xxh64'

/** End of the static data: `scripts/embed-kernels.mjs` checks that the tables begin behind it. */
export const zstdDataEnd: usize = __heap_base
