import { confined } from '../store/confined.ts'
import type { StoredAt } from '../store/store.ts'
import { type Location, type LocationOptions, resolveLocation } from './location.ts'

/** Options for writing under names that come from a file. */
export interface TargetOptions {
  /**
   * Whether to follow symbolic links out of the target. The target itself may always be a link. Default:
   * false, because names come from the source.
   */
  readonly followLinks?: boolean | undefined
}

/**
 * Resolves a location for writing under foreign names. Its store refuses all keys that lead out of it.
 * @throws errors of {@link resolveLocation}
 */
export async function resolveTarget(
  location: Location,
  { followLinks = false, ...at }: TargetOptions & LocationOptions = {},
): Promise<StoredAt> {
  const { store, path } = await resolveLocation(location, at)
  return { store: confined(store, path, { followLinks }), path }
}
