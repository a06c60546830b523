/** Zarr stores of version 2 and 3: their arrays, read as any others. */
export type { ZarrArray, ZarrAttributes, ZarrGroup } from '../adapters/zarr/group.ts'
export type { OpenZarrOptions, ZarrLimits } from '../adapters/zarr/open.ts'
export type { ReadableStore } from '../adapters/zarr/readable.ts'
export { openZarr, type ZarrLocation } from './open-zarr.ts'
