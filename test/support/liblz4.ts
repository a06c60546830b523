import koffi from 'koffi'
import { provide } from './provide.ts'

type Call = (source: Uint8Array, target: Uint8Array, sourceBytes: number, targetBytes: number, ...level: number[]) => number

/** The system's liblz4. */
export class Liblz4 {
  readonly #decode: Call
  readonly #encode: Call
  readonly #encodeHigh: Call

  private constructor() {
    const library = koffi.load('liblz4.so.1')
    const call = (name: string, more = '') => library.func(`int ${name}(const void *, void *, int, int${more})`)
    this.#decode = call('LZ4_decompress_safe')
    this.#encode = call('LZ4_compress_default')
    this.#encodeHigh = call('LZ4_compress_HC', ', int')
  }

  /** Undefined where it is not installed, which CI does not put up with. */
  static provide(): Liblz4 | undefined {
    let found: Liblz4 | undefined
    provide('liblz4-1', () => {
      try {
        found = new Liblz4()
      } catch {}
      return found !== undefined
    })
    return found
  }

  /** The `bytes` bytes of a raw block; undefined when it is malformed or has another size. */
  decode(block: Uint8Array, bytes: number): Uint8Array | undefined {
    const out = new Uint8Array(bytes + 1)
    return this.#decode(block, out, block.length, bytes) === bytes ? out.subarray(0, bytes) : undefined
  }

  /** @param level of compression for LZ4_compress_HC; LZ4_compress_default without */
  encode(data: Uint8Array, level?: number): Uint8Array {
    // An empty array is a null pointer, which the encoders do not survive.
    const from = data.length > 0 ? data : new Uint8Array(1)
    // LZ4_COMPRESSBOUND
    const out = new Uint8Array(data.length + Math.floor(data.length / 255) + 16)
    const call = level === undefined ? this.#encode : this.#encodeHigh
    const bytes = call(from, out, data.length, out.length, ...(level === undefined ? [] : [level]))
    if (bytes <= 0) throw new Error(`liblz4 did not encode ${data.length} bytes: ${bytes}`)
    return out.subarray(0, bytes)
  }
}
