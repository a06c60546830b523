import { HyperslabError } from '../../core/errors.ts'

/**
 * Deepest nesting of boxed values. The format has no limit; without one a small file could exhaust the stack.
 */
const DEFAULT_DEPTH = 64

const HIGH_WORD = 2 ** 32

/**
 * Reads an archive, checking that every object is where the format's ordering rule allows it: what an object
 * points to lies before the object, and siblings lie in declaration order without overlap. So each byte
 * belongs to one object at most, and nothing read can be larger than the payload, whatever counts and offsets
 * it contains.
 *
 * All positions count from the start of the payload, whose place in memory need not be aligned.
 */
export class Reader {
  readonly view: DataView
  /** What is read, for errors. */
  readonly #what: string
  readonly #bytes: Uint8Array
  /** The next object must lie in [lo, hi). */
  #lo = 0
  #hi: number
  /** Levels that may still be gone down. */
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

  /** Bytes left for what the object being read points to. */
  get room(): number {
    return this.#hi - this.#lo
  }

  /** The bytes [from, to), shared with the payload. */
  bytes(from: number, to: number): Uint8Array {
    return this.#bytes.subarray(from, to)
  }

  /**
   * Where the pointer field at `field` points, counted from `base`. Beyond ±2^53 it is inexact, and out of
   * any range all the same.
   */
  target(field: number, base = field): number {
    const low = this.view.getInt32(field, true)
    const high = this.view.getInt32(field + 4, true)
    // Nearly all: engines go on with integers, several times as fast as floats.
    if (high === low >> 31) return base + low
    return base + high * HIGH_WORD + (low >>> 0)
  }

  /**
   * The u64 at `at`, as inexact as {@link target}. For lengths that are compared with the payload's before
   * use.
   */
  count(at: number): number {
    const low = this.view.getUint32(at, true)
    const high = this.view.getUint32(at + 4, true)
    return high === 0 ? low : high * HIGH_WORD + low
  }

  /** Takes the place of an object that points to nothing. `at` is who points to it, for errors. */
  claim(at: number, target: number, bytes: number, align: number): void {
    this.#check(at, target, bytes, align)
    this.#lo = target + bytes
  }

  /**
   * Takes the place of an object and reads it; what it points to must lie before it, later siblings after it.
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

  /** @throws FormatError always */
  fail(at: number, text: string, actual?: unknown, expected?: unknown, cause?: unknown): never {
    throw new HyperslabError('FormatError', `${this.#what} payload, byte ${at}: ${text}`, { actual, expected, cause })
  }

  #check(at: number, target: number, bytes: number, align: number): void {
    if (target < this.#lo || target + bytes > this.#hi) this.#outside(at, target, bytes)
    // Exact for all numbers here, and faster than a division of floats; `align` is a power of two.
    if ((target & (align - 1)) !== 0)
      this.fail(at, `points to byte ${target}, which is not a multiple of ${align}`, target, align)
  }

  #outside(at: number, target: number, bytes: number): never {
    const left = `bytes ${this.#lo} to ${this.#hi}`
    this.fail(at, `points to ${bytes} bytes at ${target}, outside ${left} which are left for it`, target, [this.#lo, this.#hi])
  }
}
