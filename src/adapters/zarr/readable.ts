import { invalidArgument } from '../../core/errors.ts'
import type { ObjectTail, Store } from '../../store/store.ts'
import { endsBefore } from '../../store/store.ts'

/**
 * A store with the interface of zarrita and similar libraries: keys begin with a slash, and missing objects
 * are `undefined`.
 */
export interface ReadableStore {
  /** Returns a whole object; undefined if it does not exist. */
  get(key: `/${string}`, options?: { readonly signal?: unknown }): Promise<Uint8Array | undefined>
  /** Returns a part of an object; undefined if it does not exist. */
  getRange?(
    key: `/${string}`,
    range: { readonly offset: number; readonly length: number } | { readonly suffixLength: number },
    options?: { readonly signal?: unknown },
  ): Promise<Uint8Array | undefined>
}

/** Whether a value is such a store, and not a store of this package. */
export const isReadable = (value: unknown): value is ReadableStore => {
  const { get, stat } = Object(value) as { get?: unknown; stat?: unknown }
  return typeof get === 'function' && stat === undefined
}

/**
 * Wraps such a store as a store of this package. It has no versions of its objects. If a shard is replaced
 * during a read, only the checksums in it reveal that.
 */
export function storeOfReadable(readable: ReadableStore): Store {
  const at = (key: string): `/${string}` => `/${key}`
  const whole = async (key: string, signal: unknown): Promise<ObjectTail | undefined> => {
    const bytes = checked(await readable.get(at(key), { signal }), key)
    return bytes && { bytes, size: bytes.length, etag: '' }
  }
  const part = async (key: string, offset: number, length: number, signal: unknown): Promise<Uint8Array | undefined> => {
    if (readable.getRange !== undefined) return checked(await readable.getRange(at(key), { offset, length }, { signal }), key)
    return (await whole(key, signal))?.bytes.subarray(offset, offset + length)
  }
  return {
    describe: (key) => `store:${key}`,
    stat: async (key, { signal } = {}) => {
      const found = await whole(key, signal)
      return found && { size: found.size, etag: found.etag }
    },
    get: (key, { signal } = {}) => whole(key, signal),
    getRange: async (key, offset, length, { signal } = {}) => {
      const bytes = await part(key, offset, length, signal)
      if (bytes !== undefined && bytes.length !== length) throw endsBefore(`store:${key}`, offset + bytes.length, offset + length)
      return bytes
    },
    getTail: async (key, length, { signal } = {}) => {
      if (readable.getRange === undefined) {
        const found = await whole(key, signal)
        return found && { ...found, bytes: found.bytes.subarray(Math.max(0, found.size - length)) }
      }
      const bytes = checked(await readable.getRange(at(key), { suffixLength: length }, { signal }), key)
      // Such a store does not report the length of an object.
      return bytes && { bytes, size: Number.MAX_SAFE_INTEGER, etag: '' }
    },
  }
}

function checked(bytes: Uint8Array | undefined, key: string): Uint8Array | undefined {
  if (bytes === undefined || bytes instanceof Uint8Array) return bytes
  return invalidArgument(`the store gave something else than a Uint8Array for '${key}'`, bytes)
}
