import { type NotFoundOptions, resolveLocation } from '../runtime/location.ts'
import type { StoredAt } from '../runtime/place-format.ts'

/** Resolves the locations of jobs. All that a job reads or writes is opened by what this returns. */
export interface Places {
  /** @throws InvalidArgumentError for a place that must not be touched; what resolving it throws */
  resolve(location: string, options?: NotFoundOptions): Promise<StoredAt>
}

/** Places of jobs that this process has made itself. */
export const ANY_PLACE: Places = { resolve: (location, options) => resolveLocation(location, options) }
