import type { PartialAggregate, Reduction } from '../aggregate/reduction.ts'
import type { RemoteCodec } from '../codec/codec.ts'
import type { Signal } from '../core/signal.ts'
import type { BoxTable } from '../kernels/boxes.ts'
import type { ElementBytes } from '../kernels/copy.ts'
import type { StoredElements } from '../kernels/in-place.ts'
import type { LocalRange } from '../store/fs/local-file.ts'

/** A block that is compressed, or elements that are not. */
export interface PackedBlock {
  /** Its bytes, or the file in which workers find them. */
  readonly input: Uint8Array | FilePart
  readonly decodedBytes: number
  /** What decodes it; the package's own LZ4 when left out. */
  readonly codec?: RemoteCodec | undefined
  /**
   * The elements, where they are not compressed: the bytes are those of all reads, one after another; of a
   * file, its range does not count.
   */
  readonly stored?: StoredElements | undefined
}

export interface FilePart extends LocalRange {
  /** CRC-32C of the bytes, if it is known. */
  readonly crc: number | undefined
  /** The u32 that the bytes have to begin with. Optional. */
  readonly size?: number | undefined
}

/**
 * What is wanted of a block, as data that other threads understand; offsets count from the start of the
 * decoded block.
 */
export type Task =
  /** All of it; to `keep`, or only to be looked at. */
  | { readonly kind: 'decode'; readonly keep: boolean }
  /** Some boxes, dense, one after another. */
  | { readonly kind: 'gather'; readonly elementBytes: ElementBytes; readonly table: BoxTable }
  /** What boxes come to, in pieces: each with its own cells, of this shape. */
  | { readonly kind: 'reduce'; readonly reduction: Reduction; readonly pieces: readonly ReducePiece[] }

export interface ReducePiece {
  readonly table: BoxTable
  readonly shape: readonly number[]
}

/** What becomes of a task: bytes, or of a reduction a part for each piece. */
export interface TaskResult {
  readonly bytes: Uint8Array
  readonly parts: readonly PartialAggregate[]
}

/** Somebody who decodes blocks on other threads. */
export interface WorkerPool {
  /** Number of threads; 0 where everything has to be done here. */
  readonly size: number
  /** True when they know a codec, by identity: a user's own may have the same name. */
  decodes(codec: unknown): boolean
  /**
   * Does a task. `use` gets the answer, whose bytes are valid during the call only, unless the task was to
   * keep them. The result is undefined where nobody took the task on, or a worker could not read the file, or
   * not what was written to it: it has to be done here, where it is told what is wrong.
   * @throws CodecError as decoding here does; OutOfMemoryError; the reason of the signal, at once
   */
  run<T>(packed: PackedBlock, task: Task, use: (answer: TaskResult) => T, signal?: Signal): Promise<T | undefined>
}
