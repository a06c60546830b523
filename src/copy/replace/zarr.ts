import { newNodes } from '../../adapters/zarr/create.ts'
import type { Signal } from '../../core/signal.ts'
import type { Store, StoredAt } from '../../store/store.ts'
import { type Location, resolveLocation } from '../../tree/location.ts'
import { isStored } from './apart.ts'
import { hierarchyTarget } from './hierarchy.ts'
import { alone, type OwnerCheck, type ReplaceOptions, removeClaim, replace } from './replace.ts'

/**
 * Replaces a Zarr hierarchy.
 * @param sources locations that are read meanwhile
 * @param write writes the new hierarchy at the given root
 * @throws errors of `replace`
 */
export async function replaceZarr(
  place: StoredAt,
  sources: readonly Location[],
  options: Omit<ReplaceOptions, 'sources'>,
  write: (root: string, check: OwnerCheck) => Promise<void>,
): Promise<void> {
  await checkPlace(place)
  const opened: Store[] = []
  try {
    const places: StoredAt[] = []
    for (const source of sources) {
      const found = await resolveLocation(source)
      if (!isStored(source)) opened.push(found.store)
      places.push(found)
    }
    await replace(hierarchyTarget(place), { ...options, sources: places }, (prefix, check) => write(prefix.slice(0, -1), check))
  } finally {
    for (const store of opened) await store.close?.()
  }
}

/** @throws errors of {@link NodeWriter.checkPlace} */
export const checkPlace = ({ store, path }: StoredAt, version: 2 | 3 = 3): Promise<void> =>
  newNodes(store, path.replace(/(?<=.)\/$/, '')).checkPlace(version)

/** See {@link removeClaim}. */
export const removeClaimAt = (place: StoredAt): Promise<void> => removeClaim(hierarchyTarget(place))

/** Writes a Zarr hierarchy to an empty location while no other process writes there. See {@link alone}. */
export const aloneAt = <T>(place: StoredAt, signal: Signal | undefined, work: (check: OwnerCheck) => Promise<T>): Promise<T> =>
  alone(hierarchyTarget(place), signal, work)
