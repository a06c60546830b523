import { KeyIndex } from '../core/keys.ts'
import { checkCondition, checkMatch } from './conditions.ts'
import {
  type ConditionalWrites,
  changed,
  type DeleteOptions,
  endsBefore,
  type ObjectInfo,
  type ObjectTail,
  type PublishCondition,
  type RangeOptions,
  type Stage,
  type WholeOptions,
  type WritableStore,
} from './store.ts'
import { checkWhole } from './whole.ts'

interface Entry {
  readonly bytes: Uint8Array
  readonly etag: string
}

/**
 * Store of objects in memory. It copies bytes on the way in and on the way out, so that callers cannot change
 * its own.
 * @example
 * const store = new MemoryStore()
 * await store.put('a.bin', Uint8Array.of(1, 2, 3, 4))
 * console.log(await store.stat('a.bin')) // { size: 4, etag: '1' }
 */
export class MemoryStore implements WritableStore {
  readonly #objects = new Map<string, Entry>()
  /** Keys in order. Created by a listing and dropped when a key is added or removed. */
  #keys: KeyIndex | undefined
  #generation = 0

  describe(key: string): string {
    return `memory:${key}`
  }

  async stat(key: string): Promise<ObjectInfo | undefined> {
    const entry = this.#objects.get(key)
    return entry && { size: entry.bytes.length, etag: entry.etag }
  }

  async getRange(key: string, offset: number, length: number, options: RangeOptions = {}): Promise<Uint8Array | undefined> {
    const entry = this.#objects.get(key)
    if (entry === undefined) return undefined
    if (options.ifMatch !== undefined && options.ifMatch !== entry.etag) throw changed(this.describe(key))
    if (offset + length > entry.bytes.length) throw endsBefore(this.describe(key), entry.bytes.length, offset + length)
    return entry.bytes.slice(offset, offset + length)
  }

  async get(key: string, { maxBytes }: WholeOptions = {}): Promise<ObjectTail | undefined> {
    const entry = this.#objects.get(key)
    if (entry === undefined) return undefined
    const { bytes, etag } = entry
    checkWhole(this.describe(key), bytes.length, maxBytes)
    return { size: bytes.length, etag, bytes: bytes.slice() }
  }

  async list(prefix: string): Promise<string[]> {
    this.#keys ??= new KeyIndex(this.#objects.keys())
    return this.#keys.below(prefix)
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    this.#set(key, new Uint8Array(bytes))
  }

  async copy(from: string, to: string, { ifMatch }: RangeOptions = {}): Promise<boolean> {
    const entry = this.#objects.get(from)
    if (entry === undefined) return false
    checkMatch(this.describe(from), ifMatch, entry)
    this.#set(to, entry.bytes)
    return true
  }

  async delete(key: string, { ifMatch }: DeleteOptions = {}): Promise<void> {
    const found = this.#objects.get(key)
    if (found !== undefined) checkMatch(this.describe(key), ifMatch, found)
    if (this.#objects.delete(key)) this.#keys = undefined
  }

  async stage(): Promise<Stage> {
    return new MemoryStage((key, bytes, condition) => {
      checkCondition(this.describe(key), condition, this.#objects.get(key))
      return this.#set(key, bytes)
    })
  }

  async conditionalWrites(): Promise<ConditionalWrites> {
    return { replace: true, remove: true }
  }

  #set(key: string, bytes: Uint8Array): ObjectInfo {
    const etag = String(++this.#generation)
    if (!this.#objects.has(key)) this.#keys = undefined
    this.#objects.set(key, { bytes, etag })
    return { size: bytes.length, etag }
  }
}

type Publish = (key: string, bytes: Uint8Array, condition: PublishCondition) => Promise<ObjectInfo> | ObjectInfo

/** Stage that collects its pieces in memory. Also used by stores that can only `put`. */
export class MemoryStage implements Stage {
  readonly #parts: { readonly offset: number; readonly bytes: Uint8Array }[] = []
  readonly #publish: Publish
  readonly #checkSize: (size: number) => void
  size = 0

  /** @param checkSize throws for sizes that cannot be published, before bytes are accepted */
  constructor(publish: Publish, checkSize: (size: number) => void = () => undefined) {
    this.#publish = publish
    this.#checkSize = checkSize
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.#checkSize(this.size + bytes.length)
    this.#parts.push({ offset: this.size, bytes: new Uint8Array(bytes) })
    this.size += bytes.length
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const out = new Uint8Array(length)
    for (const part of this.#parts) {
      const start = Math.max(offset, part.offset)
      const stop = Math.min(offset + length, part.offset + part.bytes.length)
      if (start < stop) out.set(part.bytes.subarray(start - part.offset, stop - part.offset), start - offset)
    }
    return out
  }

  async publish(key: string, tail: Uint8Array, condition: PublishCondition): Promise<ObjectInfo> {
    this.#checkSize(this.size + tail.length)
    const bytes = new Uint8Array(this.size + tail.length)
    for (const part of this.#parts) bytes.set(part.bytes, part.offset)
    bytes.set(tail, this.size)
    return this.#publish(key, bytes, condition)
  }

  async discard(): Promise<void> {
    this.#parts.length = 0
    this.size = 0
  }
}
