import { joinBytes } from '../../core/bytes.ts'
import { HyperslabError } from '../../core/errors.ts'
import { checkCondition } from '../conditions.ts'
import type { ObjectInfo, PublishCondition, Stage, Store } from '../store.ts'
import { endsBefore } from '../store.ts'
import { type S3Conditions, temporary } from './conditions.ts'
import type { CopiedPart, S3Writer, WriteOptions } from './writer.ts'

/** Largest object that S3 accepts in one request. */
const MAX_PUT_BYTES = 5 * 2 ** 30

export interface S3StageOptions {
  /** Reads spilled bytes back. */
  readonly store: Pick<Store, 'describe' | 'stat' | 'getRange'>
  readonly writer: S3Writer
  readonly conditions: S3Conditions
  readonly partBytes: number
  /** Key beside which temporary objects are written. */
  readonly near: string
}

/**
 * Stage that collects an object in memory, and writes each full part to a temporary object beside it. It does
 * not use a multipart upload for this, because its parts can neither be read back nor be published under
 * another key.
 *
 * An object that fits into memory is published by one `PUT` with `If-None-Match: *`, which every suitable
 * server honours, or with `If-Match`. For a larger object, the server copies the temporary objects as parts
 * of a multipart upload, which is completed under the same condition. Servers that ignore the condition there
 * (such as Ceph 16, see {@link S3Conditions}) could overwrite the object of another writer. On those, the
 * parts are read back into memory and published by one `PUT`.
 */
export class S3Stage implements Stage {
  readonly #options: S3StageOptions
  /** Parts at the beginning, in order, each of `partBytes`. */
  readonly #spilled: CopiedPart[] = []
  /** Bytes after the spilled parts. */
  #chunks: Uint8Array[] = []
  #buffered = 0
  #closed = false

  constructor(options: S3StageOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#spilled.length * this.#options.partBytes + this.#buffered
  }

  /** Spills before it appends, so that a failure changes nothing. */
  async append(bytes: Uint8Array): Promise<void> {
    this.#checkOpen()
    while (this.#buffered >= this.#options.partBytes) await this.#spill()
    this.#chunks.push(bytes.slice())
    this.#buffered += bytes.length
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    this.#checkOpen()
    const { store, near } = this.#options
    if (offset + length > this.size) throw endsBefore(store.describe(near), this.size, offset + length)
    const out = new Uint8Array(length)
    let start = 0
    for (const piece of [...this.#spilled, ...this.#chunks]) {
      const size = piece instanceof Uint8Array ? piece.length : piece.size
      const from = Math.max(offset, start) - start
      const to = Math.min(offset + length, start + size) - start
      if (from < to) {
        const bytes = piece instanceof Uint8Array ? piece.subarray(from, to) : await this.#readBack(piece, from, to - from)
        out.set(bytes, start + from - offset)
      }
      start += size
    }
    return out
  }

  async publish(key: string, tail: Uint8Array, condition: PublishCondition): Promise<ObjectInfo> {
    this.#checkOpen()
    const { writer, conditions, near } = this.#options
    const { ifAbsent, ifMatch } = condition
    if (ifAbsent) await conditions.checkPut(near)
    const options = { ifAbsent, ifMatch: ifMatch === undefined ? undefined : await conditions.matching(ifMatch, 'put', near) }
    const rest = joinBytes([...this.#chunks, tail])
    return this.#spilled.length === 0 ? writer.put(key, rest, options) : this.#publishLarge(key, rest, condition, options)
  }

  async discard(): Promise<void> {
    this.#closed = true
    this.#chunks = []
    this.#buffered = 0
    while (this.#spilled.length > 0) {
      await this.#options.writer.delete(this.#spilled.at(-1)!.key)
      this.#spilled.pop()
    }
  }

  async #publishLarge(key: string, rest: Uint8Array, condition: PublishCondition, options: WriteOptions): Promise<ObjectInfo> {
    const { store, writer, conditions, partBytes } = this.#options
    if (condition.ifAbsent || condition.ifMatch !== undefined) {
      // Check first, to avoid copying everything in vain.
      checkCondition(store.describe(key), condition, await store.stat(key))
      const looks = await conditions.ofParts(this.#spilled[0]!, condition.ifAbsent ? 'ifAbsent' : 'ifMatch')
      if (!looks) return writer.put(key, await this.#whole(key, rest), options)
    }
    return writer.putParts(key, [...this.#spilled, ...splitBytes(rest, partBytes)], options)
  }

  async #whole(key: string, rest: Uint8Array): Promise<Uint8Array> {
    const before = this.#spilled.length * this.#options.partBytes
    const size = before + rest.length
    if (size > MAX_PUT_BYTES) {
      const text = `${size} bytes cannot be published without the risk of overwriting: the server ignores conditions on uploads in parts`
      const details = { file: this.#options.store.describe(key), actual: size, expected: MAX_PUT_BYTES }
      throw new HyperslabError('UnsupportedError', text, details)
    }
    const bytes = new Uint8Array(size)
    let end = 0
    for (const part of this.#spilled) {
      bytes.set(await this.#readBack(part, 0, part.size), end)
      end += part.size
    }
    bytes.set(rest, end)
    return bytes
  }

  async #readBack({ key }: CopiedPart, offset: number, length: number): Promise<Uint8Array> {
    const { store } = this.#options
    const bytes = await store.getRange(key, offset, length)
    if (bytes !== undefined) return bytes
    throw new HyperslabError('NotFoundError', 'another process has deleted this temporary object', { file: store.describe(key) })
  }

  async #spill(): Promise<void> {
    const { partBytes, near, writer } = this.#options
    const all = joinBytes(this.#chunks)
    this.#chunks = [all]
    const key = temporary(near)
    await writer.put(key, all.subarray(0, partBytes))
    this.#spilled.push({ key, size: partBytes })
    this.#chunks = [all.slice(partBytes)]
    this.#buffered -= partBytes
  }

  #checkOpen(): void {
    if (!this.#closed) return
    const file = this.#options.store.describe(this.#options.near)
    throw new HyperslabError('ClosedError', 'this stage was discarded', { file })
  }
}

/** Splits bytes into parts of equal size (the last may be smaller), without copying. */
export const splitBytes = (bytes: Uint8Array, partBytes: number): Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / partBytes) }, (_, i) => bytes.subarray(i * partBytes, (i + 1) * partBytes))
