/**
 * Kernels of filters that few HDF5 files use, as a module of their own, loaded with the first chunk that
 * needs it. Like `filters.ts`, it imports the memory of `reading.ts`; its tables are behind those of that
 * module.
 */
export { lzfDecode } from './lzf-decode'
export { unpackFields } from './unpack-fields'
export { unscale } from './unscale'
export { szipDecode } from './szip-decode'

/** End of its tables: `scripts/embed-kernels.mjs` checks that those of `zstd/` begin behind it. */
export const rareFiltersEnd: usize = __heap_base
