import { HyperslabError } from '../core/errors.js'
import { FileStore } from '../store/file.js'
import type { Store } from '../store/store.js'

/** Where a container is: a path, a `file:` URL, or an object of a store. */
export type Location = string | { readonly href: string } | { readonly store: Store; readonly path: string }

/** @throws UnsupportedError for other URLs, and for paths where there is no file system */
export function resolveLocation(location: Location): { store: Store; path: string } {
  if (typeof location === 'object' && 'store' in location) return location
  const text = typeof location === 'string' ? location : location.href
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(text)?.[1]?.toLowerCase()
  if (scheme === undefined) return { store: new FileStore(), path: text }
  if (scheme === 'file') return { store: new FileStore(), path: decodeURIComponent(new URL(text).pathname) }
  throw new HyperslabError('UnsupportedError', `${scheme}: locations cannot be opened yet; pass { store, path }`, { file: text })
}
