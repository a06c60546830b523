/** Zarr stores of version 2 and 3: their arrays, read as any others. */
import type { ZarrVerification } from '../adapters/zarr/verify.ts'
import type { ZarrLocation } from './open-zarr.ts'
import type { VerifyZarrOptions } from './verify-zarr.ts'

/**
 * Looks through a Zarr store, which need not open: metadata of all that is at and below the place, and every
 * chunk that is there, which is read and decoded once, with its checksums. As many chunks are in memory as
 * while reading. Where the place lists, objects among the chunks that are none are warned of, too.
 * @throws NotFoundError when there is neither a group nor an array; UnsupportedError where nobody can tell
 *   what is in a group; ConflictError when a shard is replaced meanwhile; errors of the store
 * @example
 * const { ok, checked } = await verifyZarr('small.zarr')
 * console.log(ok, checked.arrays) // true 4
 */
export async function verifyZarr(location: ZarrLocation, options: VerifyZarrOptions = {}): Promise<ZarrVerification> {
  const { verifyLocation } = await import('./verify-zarr.ts')
  return verifyLocation(location, options)
}

export type { ZarrArray, ZarrAttributes, ZarrGroup, ZarrLevel, ZarrPyramid } from '../adapters/zarr/group.ts'
export type { LevelAxis } from '../adapters/zarr/levels.ts'
export type { OpenZarrOptions, ZarrLimits } from '../adapters/zarr/open.ts'
export type { ReadableStore } from '../adapters/zarr/readable.ts'
export type { ZarrChecked, ZarrFinding, ZarrVerification } from '../adapters/zarr/verify.ts'
export { type ZarritaCodec, type ZarritaCodecEntry, type ZarritaRegistry, zarrCodecs } from '../adapters/zarr/zarrita.ts'
export { openZarr, type ZarrLocation, type ZarrOptions } from './open-zarr.ts'
export type { VerifyZarrOptions } from './verify-zarr.ts'
