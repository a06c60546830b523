/**
 * Kernels that only reductions, statistics, writing and files of another byte order need, as a module of
 * their own. It imports the memory of `reading.ts`. Its tables are between that module's and the arena, from
 * `memoryBase` in asconfig.json on.
 */
export { stats } from './extremes'
export { lz4Bound, lz4Encode } from './lz4-encode'
export { find, firstRows } from './places'
export { reduce } from './reduce'
export { bitShuffle, shuffle } from './shuffle'
export { swap } from './swap'

/** End of its tables: `scripts/embed-kernels.mjs` checks that the arena begins behind it. */
export const computeEnd: usize = __heap_base
