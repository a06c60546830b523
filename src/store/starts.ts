import { type ObjectStart, readVersion, type StartOptions, type Store } from './store.ts'

/** Reads the first bytes of an object, in one request if the store can. */
export async function readStart(
  store: Store,
  key: string,
  length: number,
  options: StartOptions = {},
): Promise<ObjectStart | undefined> {
  return store.getStart === undefined ? readStartByStat(store, key, length, options) : store.getStart(key, length, options)
}

/** Requests size and version of an object, then its first bytes. */
export const readStartByStat = (
  store: Store,
  key: string,
  length: number,
  { signal, onUnproved }: StartOptions = {},
): Promise<ObjectStart | undefined> =>
  readVersion(store, key, { signal, onUnproved }, async (info) => {
    const wanted = Math.min(length, info.size)
    const bytes = await store.getRange(key, 0, wanted, { signal, onUnproved, ifMatch: info.etag })
    return bytes && { ...info, bytes }
  })
