/** Kernels for reading, and the memory: a module of their own. */
export { arenaAlloc, arenaMark, arenaReset } from './arena'
export { copyStrided } from './copy'
export { crc32c } from './crc32c'
export { lz4Decode } from './lz4-decode'
export { pick } from './pick'
export { project } from './project'

/** End of its tables: `scripts/embed-kernels.mjs` checks that those of `compute.ts` begin behind it. */
export const readingEnd: usize = __heap_base
