import { withoutEndings } from '../core/text.ts'
import type { ZarrLocation } from './open-zarr.ts'

/** How messages name a place before it is open. */
export function labelOf(location: ZarrLocation): string {
  if (typeof location === 'string') return location
  if ('href' in location) return location.href
  return 'store' in location ? location.store.describe(location.path) : 'the store'
}

/** The name of what is at a place: the last of its path, without an ending that tells the format. */
export function placeName(location: ZarrLocation): string {
  const label = typeof location === 'object' && 'path' in location && location.path !== '' ? location.path : labelOf(location)
  const path = withoutEndings(label.replace(/[?#].*$/s, ''), ': ', '/')
  return path.slice(path.lastIndexOf('/') + 1).replace(/\.(zarr|zip|ozx|json)$/i, '') || 'array'
}
