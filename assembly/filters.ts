/**
 * Kernels that only files of other formats need, which store elements in other byte orders, as a module of
 * their own. Like `compute.ts`, it imports the memory of `reading.ts`; its tables are behind those of that
 * module.
 */
export { bloscLzDecode } from './blosclz-decode'
export { cumulate } from './cumulate'
export { swap } from './swap'
export { scaleTimes } from './times'
export { bitUnshuffle, unshuffle } from './unshuffle'
export { widenBrain, widenHalf } from './widen'

/** End of its tables: `scripts/embed-kernels.mjs` checks that the arena begins behind it. */
export const filtersEnd: usize = __heap_base
