import { invalidArgument } from '../../core/errors.ts'
import type { Store, Tail } from '../../store/store.ts'
import { endsBefore } from '../../store/store.ts'

/**
 * A store in the shape that zarrita and others of its kind have: keys begin with a slash, and what is not
 * there is `undefined`.
 */
export interface ReadableStore {
  /** A whole object; undefined when there is none. */
  get(key: `/${string}`, options?: { readonly signal?: unknown }): Promise<Uint8Array | undefined>
  /** A part of an object; undefined when there is none. */
  getRange?(
    key: `/${string}`,
    range: { readonly offset: number; readonly length: number } | { readonly suffixLength: number },
    options?: { readonly signal?: unknown },
  ): Promise<Uint8Array | undefined>
}

/** Whether a value is such a store, and none of ours. */
export const isReadable = (value: unknown): value is ReadableStore => {
  const { get, stat } = Object(value) as { get?: unknown; stat?: unknown }
  return typeof get === 'function' && stat === undefined
}

/**
 * Such a store as one of ours. It tells no versions of its objects, so that a shard that is replaced while it
 * is read is not noticed but by the checksums in it.
 */
export function storeOfReadable(readable: ReadableStore): Store {
  const at = (key: string): `/${string}` => `/${key}`
  const whole = async (key: string, signal: unknown): Promise<Tail | undefined> => {
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
      // How long the object is, such a store does not tell.
      return bytes && { bytes, size: Number.MAX_SAFE_INTEGER, etag: '' }
    },
  }
}

function checked(bytes: Uint8Array | undefined, key: string): Uint8Array | undefined {
  if (bytes === undefined || bytes instanceof Uint8Array) return bytes
  return invalidArgument(`the store gave something else than a Uint8Array for '${key}'`, bytes)
}
