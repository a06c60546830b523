import { METADATA } from '../adapters/zarr/metadata-names.ts'
import type { DiskArray } from '../array/disk-array.ts'
import type { Origins } from '../array/source.ts'
import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import { withoutEndings } from '../core/text.ts'
import type { Store, StoredAt } from '../store/store.ts'

/** Returns the places that arrays are read from, through all operations between, each once. */
export function originsOf(arrays: readonly { readonly array: DiskArray }[]): StoredAt[] {
  const found = new Map<Store, Map<string, StoredAt>>()
  const seen = new Set<Origins>()
  const left = arrays.flatMap(({ array }) => array.source.origins ?? [])
  for (let origins = left.pop(); origins !== undefined; origins = left.pop()) {
    if (seen.has(origins)) continue
    seen.add(origins)
    left.push(...(origins.below ?? []))
    const place = origins.place as StoredAt | undefined
    if (place === undefined) continue
    const paths = found.get(place.store) ?? new Map<string, StoredAt>()
    found.set(place.store, paths.set(place.path, place))
  }
  return [...found.values()].flatMap((paths) => [...paths.values()])
}

/**
 * Records the versions of the Zarr stores that arrays are read from. Another process may replace such a store
 * while its chunks are read, and elements of both would be mixed. Other formats pin the version that they
 * opened.
 * @returns a check, to be called before the elements are published. It throws ConflictError if a store was
 *   replaced or its metadata changed
 */
export async function watchSources(
  arrays: readonly { readonly array: DiskArray }[],
  signal: Signal | undefined,
): Promise<(signal?: Signal) => Promise<void>> {
  const places = originsOf(arrays)
  const before = await Promise.all(places.map((place) => versionOf(place, signal)))
  return async (now) => {
    const after = await Promise.all(places.map((place, i) => (before[i] === '' ? '' : versionOf(place, now))))
    const i = after.findIndex((version, i) => version !== before[i])
    if (i < 0) return
    const { store, path } = places[i]!
    const text = 'the source was replaced or changed while it was copied, and nothing was published; run the command once more'
    throw new HyperslabError('ConflictError', text, { file: store.describe(path) })
  }
}

/** Returns the versions of the metadata at the root of a Zarr store; '' if there are none. */
async function versionOf({ store, path }: StoredAt, signal: Signal | undefined): Promise<string> {
  const prefix = withoutEndings(path, '/') === '' ? '' : `${withoutEndings(path, '/')}/`
  const etags = await Promise.all(NODES.map((name) => etagOf(store, prefix + name, signal)))
  return etags.every((etag) => etag === undefined) ? '' : JSON.stringify(etags)
}

/** Metadata that a replacement writes anew. Attributes of version 2 are left out, for they may be changed. */
const NODES = METADATA.filter((name) => name !== '.zattrs' && name !== '.zmetadata')

async function etagOf(store: Store, key: string, signal: Signal | undefined): Promise<string | undefined> {
  try {
    return (await store.stat(key, { signal }))?.etag
  } catch (error) {
    // The place is a file.
    if (isHyperslabError(error, 'FormatError', 'NotFoundError')) return undefined
    throw error
  }
}
