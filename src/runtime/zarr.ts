/** Zarr stores of version 2 and 3: their arrays, read as any others. */
export type { ZarrArray, ZarrAttributes, ZarrGroup, ZarrLevel, ZarrPyramid } from '../adapters/zarr/group.ts'
export type { LevelAxis } from '../adapters/zarr/levels.ts'
export type { OpenZarrOptions, ZarrLimits } from '../adapters/zarr/open.ts'
export type { ReadableStore } from '../adapters/zarr/readable.ts'
export { type ZarritaCodec, type ZarritaCodecEntry, type ZarritaRegistry, zarrCodecs } from '../adapters/zarr/zarrita.ts'
export { openZarr, type ZarrLocation, type ZarrOptions } from './open-zarr.ts'
