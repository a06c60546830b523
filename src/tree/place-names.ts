import { withoutEndings } from '../core/text.ts'
import type { Store } from '../store/store.ts'
import { FORMATS, withoutEnding } from './formats.ts'
import type { ZarrLocation } from './open-zarr.ts'

/** Returns the name of a location for messages, before it is open. */
export function labelOf(location: ZarrLocation): string {
  if (typeof location === 'string') return location
  // An invalid location gets a general name, because opening it throws the error.
  const { href, store, path } = Object(location) as { href?: unknown; store?: Partial<Store>; path?: unknown }
  if (typeof href === 'string') return href
  return typeof store?.describe === 'function' && typeof path === 'string' ? store.describe(path) : 'the store'
}

/** Returns the last name of a location's path, without the ending of its format. */
export function placeName(location: ZarrLocation): string {
  const label = typeof location === 'object' && 'path' in location && location.path ? location.path : labelOf(location)
  const path = withoutEndings(label.replace(/[?#].*$/s, ''), ': ', '/')
  const zarr = FORMATS.filter(({ zarrIn }) => zarrIn !== undefined)
  return withoutEnding(path.slice(path.lastIndexOf('/') + 1), zarr) || 'array'
}
