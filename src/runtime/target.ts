import { confined } from '../store/confined.ts'
import type { Store } from '../store/store.ts'
import { type Location, type NotFoundOptions, resolveLocation } from './location.ts'

/** Options of writing names that come from a file. */
export interface TargetOptions {
  /**
   * True to follow symbolic links out of the target, which may itself be one. Default: false, since names
   * come from the source.
   */
  readonly followLinks?: boolean | undefined
}

/**
 * Resolves a place that foreign names are written below. Its store refuses all keys that lead out of it.
 * @throws what {@link resolveLocation} throws
 */
export async function resolveTarget(
  location: Location,
  { followLinks = false, notFound }: TargetOptions & NotFoundOptions = {},
): Promise<{ readonly store: Store; readonly path: string }> {
  const { store, path } = await resolveLocation(location, { notFound })
  return { store: confined(store, path, { followLinks }), path }
}
