import { HyperslabError } from '../core/errors.ts'
import { type ObjectTail, readVersion, type Store, type WholeOptions } from './store.ts'

/**
 * Reads a whole object, in one request if the store can.
 * @throws TooLargeError, without having read all of it, for more than `maxBytes`
 */
export async function readWhole(store: Store, key: string, options: WholeOptions = {}): Promise<ObjectTail | undefined> {
  if (store.get !== undefined) return store.get(key, options)
  const { maxBytes, ...asking } = options
  return readVersion(store, key, asking, async (info) => {
    checkWhole(store.describe(key), info.size, maxBytes)
    const bytes = await store.getRange(key, 0, info.size, { ...asking, ifMatch: info.etag })
    return bytes && { ...info, bytes }
  })
}

/** Default limit for objects that are read as a whole, in bytes. */
export const MAX_WHOLE_BYTES = 2 ** 31

/**
 * Checks the size of an object that is read as a whole.
 * @throws TooLargeError
 */
export function checkWhole(file: string, size: number, maxBytes = MAX_WHOLE_BYTES): void {
  if (size > maxBytes) throw objectTooLarge(file, `${size}`, size, maxBytes)
}

/** @param told size in words */
export const objectTooLarge = (file: string, told: string, actual: number, expected: number): HyperslabError =>
  new HyperslabError('TooLargeError', `the object has ${told} bytes, at most ${expected} are read`, { file, actual, expected })
