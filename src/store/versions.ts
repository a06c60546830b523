import { isHyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import type { ByteRange, ObjectInfo, RangeOptions, Store } from './store.ts'
import { changed, endsBefore } from './store.ts'

/** How often an object may be replaced while it is being read. */
const VERSION_RETRIES = 3

type Stating = Pick<Store, 'stat' | 'describe'>

/**
 * Asks for size and version, unless they are known, and reads that version; again when the object is replaced
 * in between.
 */
export async function readVersion<T>(
  store: Stating,
  key: string,
  signal: Signal | undefined,
  read: (info: ObjectInfo) => Promise<T | undefined>,
  first?: ObjectInfo,
): Promise<T | undefined> {
  for (let left = VERSION_RETRIES, known = first; ; left--, known = undefined) {
    const info = known ?? (await store.stat(key, { signal }))
    if (info === undefined) return undefined
    try {
      return await read(info)
    } catch (error) {
      if (left === 0 || !isHyperslabError(error, 'ConflictError')) throw error
    }
  }
}

/**
 * No request can ask for no bytes; but that there is an object, of this version and long enough, must be
 * known.
 */
export async function emptyRanges(
  store: Stating,
  key: string,
  ranges: readonly ByteRange[],
  { ifMatch, signal }: RangeOptions,
): Promise<Uint8Array[] | undefined> {
  const info = await store.stat(key, { signal })
  if (info === undefined) return undefined
  if (ifMatch !== undefined && ifMatch !== info.etag) throw changed(store.describe(key))
  const end = Math.max(0, ...ranges.map(({ offset }) => offset))
  if (end > info.size) throw endsBefore(store.describe(key), info.size, end)
  return ranges.map(() => new Uint8Array(0))
}
