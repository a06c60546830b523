import type { PartialAggregate, Reduction } from '../aggregate/reduction.ts'
import type { RemoteCodec } from '../codec/codec.ts'
import type { Signal } from '../core/signal.ts'
import type { BoxTable } from '../kernels/boxes.ts'
import type { ElementBytes } from '../kernels/copy.ts'
import type { StoredElements } from '../kernels/in-place.ts'
import type { LocalRange } from '../store/fs/local-file.ts'

/** A compressed block, or uncompressed elements. */
export interface PackedBlock {
  /** Its bytes, or the file range that workers read. */
  readonly input: Uint8Array | FilePart
  readonly decodedBytes: number
  /** Codec of the bytes; by default the built-in LZ4. */
  readonly codec?: RemoteCodec | undefined
  /**
   * Set for uncompressed elements. The input then contains the bytes of all reads, one after another; the
   * range of a file is ignored.
   */
  readonly stored?: StoredElements | undefined
}

export interface FilePart extends LocalRange {
  /** CRC-32C of the bytes, if it is known. */
  readonly crc: number | undefined
  /** The u32 that the bytes must begin with. Optional. */
  readonly size?: number | undefined
}

/**
 * Work on a decoded block, as data that can be sent to other threads. Offsets count from the start of the
 * decoded block.
 */
export type Task =
  /** Returns the whole block; `keep` transfers its memory to the caller. */
  | { readonly kind: 'decode'; readonly keep: boolean }
  /** Returns some boxes, dense, one after another. */
  | { readonly kind: 'gather'; readonly elementBytes: ElementBytes; readonly table: BoxTable }
  /** Reduces boxes in pieces, each with its own cells of this shape. */
  | { readonly kind: 'reduce'; readonly reduction: Reduction; readonly pieces: readonly ReducePiece[] }

export interface ReducePiece {
  readonly table: BoxTable
  readonly shape: readonly number[]
}

/** Result of a task: bytes, or for a reduction the parts of each piece. */
export interface TaskResult {
  readonly bytes: Uint8Array
  readonly parts: readonly (readonly PartialAggregate[])[]
}

/** A pool of worker threads. */
export interface WorkerPool {
  /** Number of threads; 0 if everything has to be done on the calling thread. */
  readonly size: number
  /**
   * Whether the workers know a codec. Compared by identity, because a user's codec may have the same name.
   */
  decodes(codec: unknown): boolean
  /**
   * Runs a task on a worker and passes the answer to `use`. Its bytes are valid during the call only, unless
   * the task keeps them. The result is undefined if no worker was available, or if a worker could not read
   * the expected bytes from the file. The caller then does the work itself, and reports the error in detail.
   * @throws CodecError as decoding on this thread does; OutOfMemoryError if kernel memory is exhausted; the
   *   reason of the signal, immediately
   */
  run<T>(packed: PackedBlock, task: Task, use: (answer: TaskResult) => T, signal?: Signal): Promise<T | undefined>
}
