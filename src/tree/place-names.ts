import { withoutEndings } from '../core/text.ts'
import type { Store } from '../store/store.ts'
import type { ZarrLocation } from './open-zarr.ts'

/** How messages name a place before it is open. */
export function labelOf(location: ZarrLocation): string {
  if (typeof location === 'string') return location
  // The location may be none; opening it says so.
  const { href, store, path } = Object(location) as { href?: unknown; store?: Partial<Store>; path?: unknown }
  if (typeof href === 'string') return href
  return typeof store?.describe === 'function' && typeof path === 'string' ? store.describe(path) : 'the store'
}

/** The name of what is at a place: the last of its path, without an ending that tells the format. */
export function placeName(location: ZarrLocation): string {
  const label = typeof location === 'object' && 'path' in location && location.path ? location.path : labelOf(location)
  const path = withoutEndings(label.replace(/[?#].*$/s, ''), ': ', '/')
  return path.slice(path.lastIndexOf('/') + 1).replace(/\.(zarr|zip|ozx|json)$/i, '') || 'array'
}
