import { createHash } from 'node:crypto'
import type { R2BucketLike, R2Condition, R2GetOptions } from '../../src/store/r2.ts'

/**
 * A bucket in memory. As in R2, the tag of an object is a hash of its contents, and conditions are looked at
 * when it is stored.
 */
export class MemoryBucket implements R2BucketLike {
  readonly #objects = new Map<string, Uint8Array>()
  /** The key of which the answer to the next write is lost. */
  losing: string | undefined

  async head(key: string) {
    return this.#info(key)
  }

  #info(key: string) {
    const bytes = this.#objects.get(key)
    return bytes === undefined ? null : { size: bytes.length, etag: tagOf(bytes) }
  }

  async get(key: string, { range, onlyIf }: R2GetOptions = {}) {
    const object = this.#info(key)
    if (object === null || (onlyIf?.etagMatches ?? object.etag) !== object.etag) return object
    const bytes = this.#objects.get(key)!
    const start = range === undefined ? 0 : 'offset' in range ? range.offset : Math.max(0, bytes.length - range.suffix)
    const end = range !== undefined && 'offset' in range ? start + range.length : bytes.length
    if (start > bytes.length) throw new Error('get: The requested range is not satisfiable (10039)')
    return { ...object, arrayBuffer: async () => bytes.slice(start, end).buffer }
  }

  async put(key: string, bytes: Uint8Array, { onlyIf }: { readonly onlyIf?: R2Condition } = {}) {
    const there = this.#info(key)
    if (onlyIf?.etagDoesNotMatch === '*' && there !== null) return null
    if (onlyIf?.etagMatches !== undefined && there?.etag !== onlyIf.etagMatches) return null
    this.#objects.set(key, bytes.slice())
    if (this.losing === key) {
      this.losing = undefined
      throw new Error('put: Network connection lost. (10054)')
    }
    return { size: bytes.length, etag: tagOf(bytes) }
  }

  async delete(key: string) {
    this.#objects.delete(key)
  }

  async list({ prefix, delimiter }: { readonly prefix: string; readonly delimiter?: string }) {
    const keys = [...this.#objects.keys()].filter((key) => key.startsWith(prefix))
    const endOf = (key: string): number => (delimiter === undefined ? -1 : key.indexOf(delimiter, prefix.length))
    const folders = keys.filter((key) => endOf(key) >= 0).map((key) => key.slice(0, endOf(key) + 1))
    return {
      objects: keys.filter((key) => endOf(key) < 0).map((key) => ({ key })),
      delimitedPrefixes: [...new Set(folders)],
      truncated: false,
    }
  }
}

const tagOf = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex')
