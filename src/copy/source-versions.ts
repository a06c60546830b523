import { METADATA } from '../adapters/zarr/metadata-names.ts'
import type { DiskArray } from '../array/disk-array.ts'
import type { Origins } from '../array/source.ts'
import { HyperslabError } from '../core/errors.ts'
import { forEachLimited } from '../core/limiter.ts'
import type { Signal } from '../core/signal.ts'
import type { Store, StoredAt } from '../store/store.ts'

/** A place that arrays are read from. */
type Origin = StoredAt & NonNullable<Origins['place']>

/** Returns the distinct places that arrays are read from, including those below lazy arrays. */
export function listOrigins(arrays: readonly { readonly array: DiskArray }[]): Origin[] {
  const found = new Map<Store, Map<string, Origin>>()
  const seen = new Set<Origins>()
  const left = arrays.flatMap(({ array }) => array.source.origins ?? [])
  for (let origins = left.pop(); origins !== undefined; origins = left.pop()) {
    if (seen.has(origins)) continue
    seen.add(origins)
    left.push(...(origins.below ?? []))
    const place = origins.place as Origin | undefined
    if (place === undefined) continue
    const paths = found.get(place.store) ?? new Map<string, Origin>()
    found.set(place.store, paths.set(place.path, place))
  }
  return [...found.values()].flatMap((paths) => [...paths.values()])
}

/**
 * Records the versions of the Zarr stores that arrays are read from. Another process may replace such a store
 * while its chunks are read, and elements of both would be mixed.
 * @returns a check, to be called before the elements are published. It throws ConflictError if a store was
 *   replaced or its metadata changed
 */
export async function watchSources(
  arrays: readonly { readonly array: DiskArray }[],
  signal: Signal | undefined,
): Promise<(signal?: Signal) => Promise<void>> {
  const objects = listOrigins(arrays).flatMap(({ store, path, isFolder }) =>
    isFolder ? NODES.map((name) => ({ store, path, key: path === '' ? name : `${path}/${name}` })) : [],
  )
  const etags = new Map<(typeof objects)[number], string>()
  await forEachLimited(objects, AT_ONCE, async (object) => {
    const found = await object.store.stat(object.key, { signal })
    if (found !== undefined) etags.set(object, found.etag)
  })
  return (signal) =>
    forEachLimited(etags, AT_ONCE, async ([{ store, path, key }, etag]) => {
      if ((await store.stat(key, { signal }))?.etag === etag) return
      const text = 'the source was replaced or changed while it was copied, and nothing was published; run the command once more'
      throw new HyperslabError('ConflictError', text, { file: store.describe(path) })
    })
}

/** Number of objects that are requested at once. */
const AT_ONCE = 16

/** Metadata that a replacement writes anew. Attributes of version 2 are left out, for they may be changed. */
const NODES = METADATA.filter((name) => name !== '.zattrs' && name !== '.zmetadata')
