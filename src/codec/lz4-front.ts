import { joinBytes } from '../core/bytes.ts'
import { isHyperslabError } from '../core/errors.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { lz4Position, lz4Resume, lz4State } from '../kernels/lz4.ts'
import { checkPrefix, PREFIX_BYTES } from './lz4.ts'

/** Largest distance of a match. */
const WINDOW_BYTES = 65_535
/** Least number of bytes decoded per step, so that the fixed cost of a step is negligible. */
const STEP_BYTES = 256 * 1024

/**
 * A partially decoded block of the codec lz4: its decoded prefix and, until it is complete, its stored bytes.
 */
export class Lz4PrefixDecoder {
  readonly #decodedBytes: number
  #stored: Uint8Array | undefined
  #position = { read: 0, written: 0 }
  /**
   * Append-only pieces, so that continuing copies little. The last piece contains the bytes that the previous
   * step decoded beyond its request. The next step merges them into its own piece, so that bytes requested
   * step by step stay in one piece.
   */
  readonly #pieces: Uint8Array[] = [new Uint8Array(0)]

  /**
   * @param stored must not be changed afterwards
   * @throws CodecError if the block is too short for its size prefix
   */
  constructor(stored: Uint8Array, decodedBytes: number) {
    checkPrefix(stored.length)
    this.#stored = stored
    this.#decodedBytes = decodedBytes
  }

  /** Bytes in memory: stored and decoded. */
  get byteLength(): number {
    return (this.#stored?.buffer.byteLength ?? 0) + this.#position.written
  }

  /**
   * Decodes until the first `bytes` bytes are available. Once all are decoded, the block is checked to its
   * end. After an error, the bytes decoded before remain available.
   * @throws CodecError if the block is malformed or has another size; OutOfMemoryError if kernel memory is
   *   exhausted
   */
  decode(bytes: number): void {
    const { written } = this.#position
    if (this.#stored === undefined || (bytes <= written && bytes < this.#decodedBytes)) return
    const wanted = Math.min(Math.max(bytes, written + STEP_BYTES), this.#decodedBytes)
    withArena((arena) => this.#resume(arena, this.#stored!, wanted))
    if (wanted === this.#decodedBytes) this.#stored = undefined
  }

  /** Returns decoded bytes, which must not be changed. */
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
    // The stored bytes are hardly longer than the decoded ones, unless a run of literals extends far beyond
    // them.
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
