import { HyperslabError } from '../../core/errors.ts'

/**
 * Deepest nesting of boxed values. The format has no limit, but without one a small file could exhaust the
 * stack.
 */
const DEFAULT_DEPTH = 64

const HIGH_WORD = 2 ** 32

/**
 * Reads an archive. Checks that every object is where the ordering rule of the format allows it: objects that
 * it points to lie before it, and siblings lie in the order of their declaration without overlap. Each byte
 * therefore belongs to at most one object, and a read never returns more than the payload, whatever counts
 * and offsets it contains.
 *
 * All positions count from the start of the payload, which need not be aligned in memory.
 */
export class Reader {
  readonly view: DataView
  /** Name of the payload, for errors. */
  readonly #what: string
  readonly #bytes: Uint8Array
  /** The next object must lie in [lo, hi). */
  #lo = 0
  #hi: number
  /** Levels that may still be descended. */
  #depth: number
  readonly #maxDepth: number

  constructor(what: string, payload: Uint8Array, maxDepth = DEFAULT_DEPTH) {
    this.#what = what
    this.#depth = this.#maxDepth = maxDepth
    // A plain view, because slicing a Node Buffer does not copy.
    this.#bytes = new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength)
    this.#hi = payload.byteLength
    this.view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  }

  /** Bytes that remain for the objects that the current one points to. */
  get room(): number {
    return this.#hi - this.#lo
  }

  /** The first of these bytes. */
  get lo(): number {
    return this.#lo
  }

  /** Passes over objects that were checked elsewhere. The next one begins at `lo` or later. */
  moveTo(lo: number): void {
    this.#lo = lo
  }

  /** Reads objects in the bytes [lo, hi), after the rest of the payload was read. */
  within<T>(lo: number, hi: number, read: (from: Reader) => T): T {
    this.#lo = lo
    this.#hi = hi
    return read(this)
  }

  /** Returns the bytes [from, to), shared with the payload. */
  bytes(from: number, to: number): Uint8Array {
    return this.#bytes.subarray(from, to)
  }

  /**
   * Returns the position that the pointer at `field` points to, counted from `base`. Beyond ±2^53 it is
   * inexact, but out of any range anyway.
   */
  target(field: number, base = field): number {
    const low = this.view.getInt32(field, true)
    const high = this.view.getInt32(field + 4, true)
    // The common case: JavaScript engines use integers here, several times as fast as floats.
    if (high === low >> 31) return base + low
    return base + high * HIGH_WORD + (low >>> 0)
  }

  /**
   * Returns the u64 at `at`, as inexact as {@link target}. For lengths that are compared with the payload's
   * before use.
   */
  count(at: number): number {
    const low = this.view.getUint32(at, true)
    const high = this.view.getUint32(at + 4, true)
    return high === 0 ? low : high * HIGH_WORD + low
  }

  /**
   * Claims the bytes of an object that points to no other. `at` is the position of its pointer, for errors.
   */
  claim(at: number, target: number, bytes: number, align: number): void {
    this.#check(at, target, bytes, align)
    this.#lo = target + bytes
  }

  /**
   * Claims the bytes of an object and reads it. Objects that it points to must lie before it, later siblings
   * after it.
   */
  subtree<T>(at: number, target: number, bytes: number, align: number, read: () => T): T {
    this.#check(at, target, bytes, align)
    const hi = this.#hi
    this.#hi = target
    const value = read()
    this.#hi = hi
    this.#lo = target + bytes
    return value
  }

  /** Runs `read` one level deeper. */
  nested<T>(at: number, read: () => T): T {
    if (this.#depth === 0) this.fail(at, `values are nested more than ${this.#maxDepth} deep`, undefined, this.#maxDepth)
    this.#depth--
    const value = read()
    this.#depth++
    return value
  }

  /** @throws FormatError in every case */
  fail(at: number, text: string, actual?: unknown, expected?: unknown, cause?: unknown): never {
    throw new HyperslabError('FormatError', `${this.#what} payload, byte ${at}: ${text}`, { actual, expected, cause })
  }

  #check(at: number, target: number, bytes: number, align: number): void {
    if (target < this.#lo || target + bytes > this.#hi) this.#outside(at, target, bytes)
    // Exact for all numbers here, and faster than a division of floats. `align` is a power of two.
    if ((target & (align - 1)) !== 0)
      this.fail(at, `points to byte ${target}, which is not a multiple of ${align}`, target, align)
  }

  #outside(at: number, target: number, bytes: number): never {
    const left = `bytes ${this.#lo} to ${this.#hi}`
    this.fail(at, `points to ${bytes} bytes at ${target}, outside ${left} which are left for it`, target, [this.#lo, this.#hi])
  }
}
