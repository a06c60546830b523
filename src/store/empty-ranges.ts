import { type ByteRange, changed, endsBefore, type RangeOptions, type Store } from './store.ts'

/**
 * Answers ranges that are all empty. HTTP has no request for zero bytes, so this checks the existence,
 * version and size of the object.
 */
export async function emptyRanges(
  store: Pick<Store, 'stat' | 'describe'>,
  key: string,
  ranges: readonly ByteRange[],
  { ifMatch, ...asking }: RangeOptions,
): Promise<Uint8Array[] | undefined> {
  const info = await store.stat(key, asking)
  if (info === undefined) return undefined
  if (ifMatch !== undefined && ifMatch !== info.etag) throw changed(store.describe(key))
  const end = Math.max(0, ...ranges.map(({ offset }) => offset))
  if (end > info.size) throw endsBefore(store.describe(key), info.size, end)
  return ranges.map(() => new Uint8Array(0))
}
