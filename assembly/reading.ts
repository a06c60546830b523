/** What reading needs, with the memory: a module of its own. */
export { arenaAlloc, arenaMark, arenaReset } from './arena'
export { copyStrided } from './copy'
export { crc32c } from './crc32c'
export { lz4Decode } from './lz4-decode'
export { pick } from './pick'
export { project } from './project'

/** Where its tables end: `scripts/embed-kernels.mjs` looks whether those of `compute.ts` begin behind it. */
export const readingEnd: usize = __heap_base
