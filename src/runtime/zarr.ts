/**
 * Zarr stores of version 2 and 3, whose arrays are read as any others.
 * @module hyperslab/zarr
 */

export { type AsZarrStoreOptions, asZarrStore, type ZarrStoreOfArrays } from '../adapters/zarr/as-zarr-store.ts'
export type { CreateZarrOptions } from '../adapters/zarr/create.ts'
export type { ZarrArray, ZarrAttributes, ZarrGroup, ZarrLevel, ZarrPyramid } from '../adapters/zarr/group.ts'
export type { OpenZarrOptions, ZarrLimits } from '../adapters/zarr/open.ts'
export type { ReadableStore } from '../adapters/zarr/readable.ts'
export type { ZarrChecked, ZarrFinding, ZarrVerification } from '../adapters/zarr/verify.ts'
export type { NamedArrays } from '../adapters/zarr/write/array-store.ts'
export type { NewAttributes } from '../adapters/zarr/write/document.ts'
export type { NewZarrArray, NewZarrGroup, ReadDType, ZarrCodec, ZarrDType } from '../adapters/zarr/write/new-array.ts'
export { type ZarritaCodec, type ZarritaCodecEntry, type ZarritaRegistry, zarrCodecs } from '../adapters/zarr/zarrita.ts'
export type { LevelAxis } from '../array/nodes.ts'
export { createZarr } from '../copy/create-zarr.ts'
export type { ImportOptions, ImportResult } from '../copy/import-arrays.ts'
export { writeJson } from '../core/json.ts'
export { importZarr } from '../dataset/import/import-zarr.ts'
export type { ImportZarrOptions, ZarrImportResult } from '../dataset/import/zarr-source.ts'
export { openZarr, type ZarrLocation, type ZarrOptions } from '../tree/open-zarr.ts'
export { type VerifyZarrOptions, verifyZarr } from '../tree/verify-zarr.ts'
