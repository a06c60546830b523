import { METADATA } from '../adapters/zarr/metadata-names.ts'
import type { DiskArray } from '../array/disk-array.ts'
import type { Origins } from '../array/source.ts'
import { HyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import { withoutEndings } from '../core/text.ts'
import type { Store, StoredAt } from '../store/store.ts'

/** A place that arrays are read from. */
type Origin = StoredAt & NonNullable<Origins['place']>

/** Returns the places that arrays are read from, through all operations between, each once. */
export function originsOf(arrays: readonly { readonly array: DiskArray }[]): Origin[] {
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
  const folders = originsOf(arrays).filter(({ isFolder }) => isFolder)
  const keys = folders.flatMap(({ store, path }) =>
    NODES.map((name) => ({ store, path, key: path === '' ? name : `${withoutEndings(path, '/')}/${name}` })),
  )
  const etagOf = async ({ store, key }: (typeof keys)[number], signal: Signal | undefined): Promise<string | undefined> =>
    (await store.stat(key, { signal }))?.etag
  const etags = await Promise.all(keys.map((each) => etagOf(each, signal)))
  return async (signal) => {
    const isChanged = await Promise.all(
      keys.map(async (each, i) => etags[i] !== undefined && (await etagOf(each, signal)) !== etags[i]),
    )
    const changed = keys[isChanged.indexOf(true)]
    if (changed === undefined) return
    const text = 'the source was replaced or changed while it was copied, and nothing was published; run the command once more'
    throw new HyperslabError('ConflictError', text, { file: changed.store.describe(changed.path) })
  }
}

/** Metadata that a replacement writes anew. Attributes of version 2 are left out, for they may be changed. */
const NODES = METADATA.filter((name) => name !== '.zattrs' && name !== '.zmetadata')
