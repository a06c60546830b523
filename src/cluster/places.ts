import type { StoredAt } from '../store/store.ts'
import { resolveLocation } from '../tree/location.ts'
import type { NotFoundOptions } from '../tree/url-options.ts'

/** Resolves the locations of jobs. A job opens every place that it reads or writes through the result. */
export interface Places {
  /** @throws InvalidArgumentError for a place that must not be accessed; errors of resolving it */
  resolve(location: string, options?: NotFoundOptions): Promise<StoredAt>
}

/** Places of jobs that this process created itself: all are allowed. */
export const ANY_PLACE: Places = { resolve: (location, options) => resolveLocation(location, options) }
