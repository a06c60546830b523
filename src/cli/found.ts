import type { HyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import { formatIn, type PlaceFormat, unknownPlace, zarrIn } from '../tree/formats.ts'
import { type Location, resolveLocation } from '../tree/location.ts'
import { type NotFoundOption, notFoundAt } from './options.ts'

export async function formatAt(location: string, signal?: Signal): Promise<PlaceFormat> {
  const place = await resolveLocation(location)
  try {
    return await formatIn(place, signal)
  } finally {
    await place.store.close?.()
  }
}

/** Returns the error for a place without a known format. */
export async function unknownAt(location: string, kinds: string, cause: unknown): Promise<HyperslabError> {
  const place = await resolveLocation(location)
  try {
    return await unknownPlace(place, kinds, cause)
  } finally {
    await place.store.close?.()
  }
}

export interface FoundOptions extends NotFoundOption {
  readonly signal?: Signal | undefined
}

/** Returns the Zarr store of a place for `openZarr`, also if it is in an archive or behind references. */
export async function zarrLocation(location: string, format: PlaceFormat, { signal, ...given }: FoundOptions): Promise<Location> {
  const at = notFoundAt(location, given)
  return zarrIn(await resolveLocation(location, at), format, { ...at, signal })
}
