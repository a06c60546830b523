/**
 * What only files of other formats need, which store elements in other orders of bytes, as a module of its
 * own. As `compute.ts` it imports the memory of `reading.ts`; its tables lie behind those of that module.
 */
export { bloscLzDecode } from './blosclz-decode'
export { cumulate } from './cumulate'
export { swap } from './swap'
export { scaleTimes } from './times'
export { bitUnshuffle, unshuffle } from './unshuffle'
export { widenBrain, widenHalf } from './widen'

/** Where its tables end: `scripts/embed-kernels.mjs` looks whether the arena begins behind it. */
export const filtersEnd: usize = __heap_base
