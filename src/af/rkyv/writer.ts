import { HyperslabError } from '../../core/errors.ts'

/** Of boxed values. What contains itself would never end. */
const MAX_DEPTH = 256
const HIGH_WORD = 2 ** 32

/**
 * An append-only buffer. One suffices because pointers only ever point backwards. Bytes not written to are
 * zero, so padding is too.
 */
export class ArchiveWriter {
  view: DataView
  #bytes: Uint8Array
  #length = 0
  #depth = 0

  constructor(capacity = 1024) {
    this.#bytes = new Uint8Array(capacity)
    this.view = new DataView(this.#bytes.buffer)
  }

  /** Appends zeros up to a multiple of `align` and returns the position reached. */
  align(align: number): number {
    this.reserve(-this.#length & (align - 1))
    return this.#length
  }

  /** Appends `bytes` zeros, to be filled in, and returns where they start. */
  reserve(bytes: number): number {
    const start = this.#length
    this.#length += bytes
    if (this.#length > this.#bytes.byteLength) this.#grow()
    return start
  }

  /** Appends a copy of `bytes` and returns where it starts. */
  append(bytes: Uint8Array): number {
    const start = this.reserve(bytes.byteLength)
    this.#bytes.set(bytes, start)
    return start
  }

  /** Overwrites reserved bytes. */
  set(at: number, bytes: Uint8Array): void {
    this.#bytes.set(bytes, at)
  }

  /** Overwrites reserved bytes with one value. */
  fill(from: number, to: number, value: number): void {
    this.#bytes.fill(value, from, to)
  }

  /** Stores at `field` a pointer to `target`, counted from `base`. */
  point(field: number, target: number, base = field): void {
    this.uint64(field, target - base)
  }

  /** Stores an integer of less than 2^53 in magnitude as 64 bits, two's complement. */
  uint64(at: number, value: number): void {
    this.view.setUint32(at, value, true)
    this.view.setUint32(at + 4, Math.floor(value / HIGH_WORD), true)
  }

  /** Runs `write` one level deeper. */
  nested<T>(write: () => T): T {
    if (this.#depth === MAX_DEPTH) {
      throw new HyperslabError('InvalidArgumentError', `values are nested more than ${MAX_DEPTH} deep`, { expected: MAX_DEPTH })
    }
    this.#depth++
    const result = write()
    this.#depth--
    return result
  }

  /** A copy of what was written. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }

  #grow(): void {
    const grown = new Uint8Array(Math.max(this.#length, 2 * this.#bytes.byteLength))
    grown.set(this.#bytes)
    this.#bytes = grown
    this.view = new DataView(grown.buffer)
  }
}
