/** Buffers are made in multiples of this, so that blocks of nearly the same size can use each other's. */
const STEP_BYTES = 64 * 1024
/** Memory that is kept at most. */
const MAX_BYTES = 128 * 1024 * 1024

/** Buffers to be used again: fresh memory costs more than what is written to it. */
export class Recycler {
  readonly #count: number
  #free: ArrayBuffer[] = []
  #bytes = 0

  /** @param count buffers that are kept at most */
  constructor(count: number) {
    this.#count = count
  }

  /** A buffer of at least so many bytes, with anything in them. */
  take(bytes: number): ArrayBuffer {
    if (bytes === 0) return new ArrayBuffer(0)
    const at = this.#free.findIndex(({ byteLength }) => byteLength >= bytes)
    if (at < 0) return new ArrayBuffer(Math.ceil(bytes / STEP_BYTES) * STEP_BYTES)
    const [buffer] = this.#free.splice(at, 1)
    this.#bytes -= buffer!.byteLength
    return buffer!
  }

  give(buffer: ArrayBuffer): void {
    if (buffer.byteLength === 0) return
    this.#free.push(buffer)
    this.#bytes += buffer.byteLength
    while (this.#free.length > this.#count || this.#bytes > MAX_BYTES) this.#bytes -= this.#free.shift()!.byteLength
  }

  clear(): void {
    this.#free = []
    this.#bytes = 0
  }
}
