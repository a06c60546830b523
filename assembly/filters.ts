/**
 * What only files of other formats need, which store elements in other orders of bytes, as a module of its
 * own. As `compute.ts` it imports the memory of `reading.ts`; its tables lie behind those of that module.
 */
export { swap } from './swap'
export { bitUnshuffle, unshuffle } from './unshuffle'

/** Where its tables end: `scripts/embed-kernels.mjs` looks whether the arena begins behind it. */
export const filtersEnd: usize = __heap_base
