import { type Codec, decodeWith, type KernelCodec, type SharedCodec } from '../codec/codec.ts'
import type { Lz4PrefixDecoder } from '../codec/lz4-front.ts'
import type { Segment } from '../codec/lz4-segments.ts'
import type { CodecSet } from '../codec/registry.ts'
import type { DType } from '../core/dtype.ts'
import { HyperslabError, isHyperslabError, rethrowWithin } from '../core/errors.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import type { Signal } from '../core/signal.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import type { Arena } from '../kernels/arena.ts'
import { putWithCrc } from '../kernels/crc32c.ts'
import type { PackedBlock, Task, TaskResult, WorkerPool } from '../pool/task.ts'
import type { ByteRange, QuickRanges } from '../store/store.ts'
import { checkCrc, compareCrc } from './integrity.ts'

/** Location of blocks: a committed layer, or the stage of the layer being written. */
export interface BlockOrigin {
  /** For error messages. */
  readonly file: string
  /** Version of the bytes; equal only if the bytes are. */
  readonly version: string
  /** Name of these bytes, unique within the process; undefined if they may still change. */
  readonly cacheKey?: string | undefined
  /** The local file that contains the bytes, for threads that read by themselves. */
  readonly local?: { readonly path: string; readonly etag: string } | undefined
  /**
   * @param length Infinity reads to the end
   * @param into memory for the bytes. An origin that can read into it returns it; others ignore it
   */
  read(offset: number, length: number, signal?: Signal, into?: Uint8Array): Promise<Uint8Array>
  /** Returns reads of a local file that complete before they return; undefined if reads have to wait. */
  quickReads?(): QuickRanges | undefined
  /** Takes back a buffer from `read` that has no more readers, to reuse its memory. */
  readonly recycle?: ((bytes: Uint8Array) => void) | undefined
  /** Reads several ranges. Optional: only stores that merge them into fewer requests have it. */
  readonly readMany?: ((ranges: readonly ByteRange[], signal?: Signal) => Promise<Uint8Array[]>) | undefined
  /**
   * Returns the segments of a block, if it has any. Optional: origins without segments omit it. The budget
   * accounts for the segment table while it is read.
   * @throws FormatError, IntegrityError if the segment table is damaged or too large
   */
  readonly segmentsOf?: TableLookup<SegmentedBlock> | undefined
  /**
   * Returns the checksums of the segments of an uncompressed block, if there are any. Optional: origins
   * without such checksums omit it.
   * @throws FormatError, IntegrityError if the table of checksums is damaged or too large
   */
  readonly checksumsOf?: TableLookup<CheckedBlock> | undefined
  /** Whether a read found that there is no such object. Optional: objects that always exist omit it. */
  isAbsent?(): boolean
}

type TableLookup<T> = (block: BlockRef, signal?: Signal, budget?: MemoryBudget) => Promise<T | undefined>

/**
 * Reference to a compressed run of chunks. Each block has one reference object, because caches use it as a
 * key.
 */
export interface BlockRef {
  readonly origin: BlockOrigin
  readonly id: number
  readonly fileOffset: number
  /** Infinity for a block that is a whole object; its size is unknown until it is fetched. */
  readonly compressedBytes: number
  /** Infinity if the size is unknown until the block is decoded; the codec limits it then. */
  readonly uncompressedBytes: number
  readonly codec: string
  /** CRC-32C of the stored bytes; undefined if the file does not contain it. */
  readonly crc: number | undefined
  /** Whether the stored bytes begin with the decoded size, a u32 that must equal `uncompressedBytes`. */
  readonly sizeInFront?: boolean | undefined
  /** Set if this is a segment, which counts as a block of its own. */
  readonly part?: SegmentPart | undefined
}

/** A part of a block that can be decoded by itself. */
export interface SegmentPart {
  readonly whole: BlockRef
  readonly number: number
  /** Position in the decoded block. */
  readonly start: number
  /** Converts the stored bytes to a block that decodes by itself. */
  standalone(stored: Uint8Array): Uint8Array
}

/** Location of the bytes of one stored chunk. */
export interface ChunkAddress {
  readonly block: BlockRef
  /** Position in the decoded block. */
  readonly offset: number
  readonly size: number
}

export interface Stored {
  readonly address: ChunkAddress
}

/**
 * Chunks grouped by block. The optional parts list what to fetch of an uncompressed block that is read
 * partially.
 */
export type Groups<C> = Iterable<readonly [BlockRef, readonly C[], Parts?]>

/** Parts of a stored block that contain some chunks. */
export interface Parts {
  /** Ranges in the file. */
  readonly ranges: readonly ByteRange[]
  /** For each chunk, the number of the part that contains it. */
  readonly partOf: readonly number[]
  /**
   * Checks a part against its checksum, if the file has one.
   * @throws IntegrityError with file and block if the part has changed since it was written
   */
  check?(part: number, bytes: Uint8Array): void
}

/** A block in segments that decode by themselves. */
export interface SegmentedBlock {
  readonly refs: readonly Segment[]
  /** Groups chunks of the block by segment; undefined if reading the whole block is better. */
  split<C extends Stored>(chunks: readonly C[]): [BlockRef, readonly C[]][] | undefined
}

/** An uncompressed block whose segments have checksums of their own. */
export interface CheckedBlock {
  /** Returns the segments that contain some chunks, each once; undefined if a chunk spans several. */
  partsOf(chunks: readonly Stored[]): Parts | undefined
}

/** A stored chunk: its bytes if they are in memory, its address in a block, or its position in a file. */
export type StoredChunk = Uint8Array | ChunkAddress | StridedChunk

/**
 * A chunk whose elements are stored uncompressed in a file, so that only the requested elements are read.
 * Reductions and searches hold whole chunks at once. A format that stores an array as one piece therefore
 * divides it into chunks of some MiB.
 */
export interface StridedChunk {
  readonly block?: undefined
  readonly layout: StridedLayout
  /** Shape as it is stored: that of the grid of {@link PinnedChunks}, by `storedLength`. */
  readonly shape: readonly number[]
  /** Position of the first element in the file. */
  readonly offset: number
}

export const isStrided = (found: StoredChunk | undefined): found is StridedChunk =>
  found !== undefined && !(found instanceof Uint8Array) && found.block === undefined

/** Layout of uncompressed elements. Chunks that may be read together share one object. */
export interface StridedLayout {
  readonly origin: BlockOrigin
  /** Bytes from one element to the next along each axis, above 0 and largest along the first axis. */
  readonly byteStrides: readonly number[]
  /** Stored bytes of an element: those of its type, unless `payloadOf` converts them. */
  readonly elementBytes: number
  /** Whether elements are numbers with the most significant byte first. */
  readonly bigEndian: boolean
  /**
   * Converts `count` elements stored in another way, one after another, to the payload of a chunk
   * (`chunk-values.ts`). Its argument is valid during the call only.
   */
  readonly payloadOf?: ((stored: Uint8Array, count: number) => Uint8Array) | undefined
}

/** Locations of chunks at one moment, unaffected by later writes. */
export interface PinnedChunks {
  readonly grid: ChunkGrid
  /**
   * Returns the location of a chunk; undefined if it is unwritten, so that all its elements equal the fill
   * value.
   */
  locate(chunkIndex: number): StoredChunk | undefined
  /** Number of stored chunks; several versions of a chunk may each count. */
  readonly storedCount: number
  /** Returns the indices of all stored chunks, in any order and possibly repeated. */
  stored(): Iterable<number>
}

/** A decoded chunk, in kernel memory or in JavaScript memory. */
export type ChunkBytes = { readonly pointer: number; readonly size: number } | Uint8Array

/** Callbacks that turn the chunks of a block into a result. */
export interface BlockUse<C, R> {
  /**
   * Runs on this thread. The bytes of the chunks are valid during the call only. Chunks that are copied may
   * be of several blocks.
   */
  onThisThread(arena: Arena, chunks: readonly C[], bytesOf: (chunk: C) => ChunkBytes): R
  /**
   * Data type of the results that `onThisThread` copies chunks to unchanged. Optional: other uses omit it.
   * Bytes of such a chunk may be read straight into its result.
   */
  readonly copied?: DType
  /** Describes the same work as a task for a worker, and converts the worker's answer to the result. */
  inWorker?(chunks: readonly C[]): { readonly task: Task; result(answer: TaskResult): R }
}

/** Returns a decoded chunk as bytes; the view is valid until the next allocation in kernel memory. */
export const chunkView = (arena: Arena, chunk: ChunkBytes): Uint8Array =>
  chunk instanceof Uint8Array ? chunk : arena.bytes(chunk.pointer, chunk.size)

/** Returns the view of a chunk in its decoded block. */
export const chunkPart = (decoded: Uint8Array, { offset, size }: ChunkAddress): Uint8Array =>
  decoded.subarray(offset, offset + size)

/**
 * Checks a whole stored block against its checksum and size, if the file has them.
 * @throws IntegrityError with file and block if the block has changed since it was written
 */
export function checkStoredBytes(block: BlockRef, bytes: Uint8Array): void {
  try {
    if (block.crc !== undefined) checkCrc('the bytes as stored', bytes, block.crc)
    checkSizeInFront(block, bytes)
  } catch (error) {
    rethrowIn(error, block)
  }
}

/** @throws CodecError if the size in front of the bytes of a block differs from the size in the footer */
function checkSizeInFront({ sizeInFront, uncompressedBytes }: BlockRef, bytes: Uint8Array): void {
  if (!sizeInFront || bytes.length < 4) return
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true)
  if (size === uncompressedBytes) return
  const text = `the size in front of the block is ${size} bytes, but the file says ${uncompressedBytes}`
  throw new HyperslabError('CodecError', text, { actual: size, expected: uncompressedBytes })
}

/** @throws CodecError with file and block if the codec is unknown */
export function findCodec(codecs: CodecSet, block: BlockRef): Codec | KernelCodec {
  try {
    return codecs.find(block.codec)
  } catch (error) {
    return rethrowIn(error, block)
  }
}

/**
 * Decodes a block with a codec that works outside kernel memory.
 * @throws CodecError with file and block if the block cannot be decoded
 */
export async function decodeOutsideKernels(codec: Codec, block: BlockRef, bytes: Uint8Array): Promise<Uint8Array> {
  try {
    return await decodeWith(codec, bytes, block.uncompressedBytes)
  } catch (error) {
    return rethrowIn(error, block)
  }
}

/**
 * Decodes a block with a codec that works in kernel memory; returns its address there.
 * @param check whether to check the checksum while copying, if that was not done before
 * @throws CodecError with file and block if the block cannot be decoded; IntegrityError if its checksum
 *   differs
 */
export function decodeBlock(arena: Arena, codecs: CodecSet, block: BlockRef, bytes: Uint8Array, check = false): number {
  try {
    checkSizeInFront(block, bytes)
    const pointer = check && block.crc !== undefined ? putChecked(arena, bytes, block.crc) : arena.put(bytes)
    return (codecs.find(block.codec) as KernelCodec).decodeIn(arena, pointer, bytes.length, block.uncompressedBytes)
  } catch (error) {
    return rethrowIn(error, block)
  }
}

function putChecked(arena: Arena, bytes: Uint8Array, expected: number): number {
  const { pointer, crc } = putWithCrc(arena, bytes)
  compareCrc('the bytes as stored', crc, expected)
  return pointer
}

/**
 * Decodes at least the first `bytes` bytes of a block.
 * @throws CodecError with file and block if the block cannot be decoded
 */
export function decodeFront(front: Lz4PrefixDecoder, block: BlockRef, bytes: number): void {
  try {
    front.decode(bytes)
  } catch (error) {
    rethrowIn(error, block)
  }
}

/**
 * Decodes a block on a worker thread, which then runs the task; undefined if the pool declines.
 * @throws the errors of {@link decodeBlock}
 */
export async function decodeInWorker<T>(
  pool: WorkerPool,
  codec: SharedCodec,
  block: BlockRef,
  input: PackedBlock['input'],
  task: Task,
  use: (answer: TaskResult) => T,
  signal: Signal | undefined,
): Promise<T | undefined> {
  try {
    return await pool.run({ input, decodedBytes: block.uncompressedBytes, codec: codec.remote }, task, use, signal)
  } catch (error) {
    return rethrowIn(error, block)
  }
}

const rethrowIn = (error: unknown, block: BlockRef): never => rethrowWithin(prefixed(error, block), { file: block.origin.file })

/** Returns an error that also names block and segment. */
export function prefixed(error: unknown, { id, part }: BlockRef): unknown {
  if (!isHyperslabError(error, 'CodecError', 'IntegrityError')) return error
  const place = part === undefined ? `block ${id}` : `block ${id}: segment ${part.number}`
  return new HyperslabError(error.tag, `${place}: ${error.message}`, error.details)
}

/** @throws CodecError if a block, or the part of it that is read, exceeds `limit` decoded bytes */
export function checkBlockBytes({ origin, id }: BlockRef, bytes: number, limit: number): void {
  if (bytes <= limit || bytes === Infinity) return
  const text = `block ${id}: ${bytes} decoded bytes are more than \`limits.blockBytes\`, ${limit}`
  throw new HyperslabError('CodecError', text, { file: origin.file, actual: bytes, expected: limit })
}
