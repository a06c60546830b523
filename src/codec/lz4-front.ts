import { joinBytes } from '../core/bytes.ts'
import { isHyperslabError } from '../core/errors.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { lz4Position, lz4Resume, lz4State } from '../kernels/lz4.ts'
import { checkPrefix, PREFIX_BYTES } from './lz4.ts'

/** How far back matches reach. */
const WINDOW_BYTES = 65_535
/** Decoded at a time, at least: what a step costs beside decoding must not count. */
const STEP_BYTES = 256 * 1024

/**
 * A block of the package's own LZ4 as far as it was needed: the bytes it is stored as, while there is more to
 * decode, and those decoded.
 */
export class Lz4PrefixDecoder {
  readonly #decodedBytes: number
  #stored: Uint8Array | undefined
  #position = { read: 0, written: 0 }
  /**
   * One behind another, so that going on moves nothing. The last is what a step had to decode beyond what was
   * asked for: with the next step it becomes part of its piece, and so what is asked for step by step is
   * never in two.
   */
  readonly #pieces: Uint8Array[] = [new Uint8Array(0)]

  /**
   * @param stored must not be changed from then on
   * @throws CodecError when there is not even a size prefix
   */
  constructor(stored: Uint8Array, decodedBytes: number) {
    checkPrefix(stored.length)
    this.#stored = stored
    this.#decodedBytes = decodedBytes
  }

  /** Bytes held, stored and decoded. */
  get byteLength(): number {
    return (this.#stored?.buffer.byteLength ?? 0) + this.#position.written
  }

  /**
   * Decodes on until the first `bytes` bytes are there; with all of them the block is checked to its end.
   * @throws CodecError when it is malformed or has another size; OutOfMemoryError. What was decoded before
   *   stays
   */
  decode(bytes: number): void {
    const { written } = this.#position
    if (this.#stored === undefined || (bytes <= written && bytes < this.#decodedBytes)) return
    const wanted = Math.min(Math.max(bytes, written + STEP_BYTES), this.#decodedBytes)
    withArena((arena) => this.#resume(arena, this.#stored!, wanted))
    if (wanted === this.#decodedBytes) this.#stored = undefined
  }

  /** Bytes that were decoded, to be looked at only. */
  bytes(offset: number, length: number): Uint8Array {
    const found: Uint8Array[] = []
    let start = offset
    for (const piece of this.#pieces) {
      const end = start + length
      if (start < piece.length && end > 0) found.push(piece.subarray(Math.max(start, 0), end))
      start -= piece.length
    }
    return joinBytes(found)
  }

  #resume(arena: Arena, stored: Uint8Array, wanted: number): void {
    const { read, written } = this.#position
    const pieceStart = written - this.#pieces.at(-1)!.length
    const before = Math.min(pieceStart, Math.max(written - WINDOW_BYTES, 0))
    const target = arena.alloc(this.#decodedBytes)
    const source = arena.alloc(stored.length)
    const state = lz4State(arena, this.#position)
    arena.bytes(target + before, written - before).set(this.bytes(before, written - before))
    const start = PREFIX_BYTES + read
    const decode = (stop: number): number => {
      arena.bytes(source + start, stop - start).set(stored.subarray(start, stop))
      return lz4Resume(arena, source + PREFIX_BYTES, stop - PREFIX_BYTES, target, this.#decodedBytes, state, wanted)
    }
    // What decodes to so many bytes is hardly longer, unless a run of literals goes far beyond them.
    const more = wanted - written
    const guess = start + more + (more >> 7) + 64
    let end: number
    try {
      end = decode(wanted < this.#decodedBytes ? Math.min(guess, stored.length) : stored.length)
    } catch (error) {
      if (!isHyperslabError(error, 'CodecError')) throw error
      end = decode(stored.length)
    }
    const copy = (from: number, to: number): Uint8Array => arena.bytes(target + from, to - from).slice()
    this.#pieces.splice(-1, 1, copy(pieceStart, wanted), copy(wanted, end))
    this.#position = lz4Position(arena, state)
  }
}
