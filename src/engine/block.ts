import { type Codec, decodeWith, type KernelCodec, type SharedCodec } from '../codec/codec.ts'
import type { Lz4PrefixDecoder } from '../codec/lz4-front.ts'
import type { Segment } from '../codec/lz4-segments.ts'
import type { CodecSet } from '../codec/registry.ts'
import { HyperslabError, isHyperslabError, rethrowWithin } from '../core/errors.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import type { Signal } from '../core/signal.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import type { Arena } from '../kernels/arena.ts'
import { putWithCrc } from '../kernels/crc32c.ts'
import type { PackedBlock, Task, TaskResult, WorkerPool } from '../pool/task.ts'
import type { ByteRange } from '../store/store.ts'
import { checkCrc, compareCrc } from './integrity.ts'

/** Where blocks lie: a committed layer or the stage of the one being written. */
export interface BlockOrigin {
  /** For error messages. */
  readonly file: string
  /** Equal only for the same bytes. */
  readonly version: string
  /** A name that no other bytes have, in this process; undefined where bytes may still change. */
  readonly cacheKey?: string | undefined
  /** The bytes as a file of this machine, for threads that read by themselves. */
  readonly local?: { readonly path: string; readonly etag: string } | undefined
  /** @param length Infinity for all that there is */
  read(offset: number, length: number, signal?: Signal): Promise<Uint8Array>
  /** Takes back what `read` gave and nobody reads any more, to read others into its memory. */
  readonly recycle?: ((bytes: Uint8Array) => void) | undefined
  /** Reads several ranges; where the store makes fewer requests of them. */
  readonly readMany?: ((ranges: readonly ByteRange[], signal?: Signal) => Promise<Uint8Array[]>) | undefined
  /**
   * The segments of a block, where it has any; left out where no block has. The budget holds the table of
   * them while it is read.
   * @throws FormatError, IntegrityError when the table of them is damaged, or too large
   */
  readonly segmentsOf?: TableLookup<SegmentedBlock> | undefined
  /**
   * The checksums of a block that is not compressed in segments, where there are any; left out where no block
   * has.
   * @throws FormatError, IntegrityError when the table of them is damaged, or too large
   */
  readonly checksumsOf?: TableLookup<CheckedBlock> | undefined
  /** Whether a read found that there is no such object. Optional: objects that always exist omit it. */
  isAbsent?(): boolean
}

type TableLookup<T> = (block: BlockRef, signal?: Signal, budget?: MemoryBudget) => Promise<T | undefined>

/**
 * A compressed run of chunks. Two references to one block are the same object, which is what caches key on.
 */
export interface BlockRef {
  readonly origin: BlockOrigin
  readonly id: number
  readonly fileOffset: number
  /** Infinity for a block that is a whole object, the size of which only fetching it tells. */
  readonly compressedBytes: number
  /** Infinity where only decoding it tells: the codec bounds it then. */
  readonly uncompressedBytes: number
  readonly codec: string
  /** CRC-32C of the block as stored; undefined where the file does not tell. */
  readonly crc: number | undefined
  /** Whether the stored bytes begin with their decoded size, a u32 that has to equal that of the block. */
  readonly sizeInFront?: boolean | undefined
  /** Of a segment, which counts as a block of its own. */
  readonly part?: SegmentPart | undefined
}

/** A part of a block that can be decoded by itself. */
export interface SegmentPart {
  readonly whole: BlockRef
  readonly number: number
  /** Position in the decoded block. */
  readonly start: number
  /** The block that it is by itself, of what it is stored as. */
  standalone(stored: Uint8Array): Uint8Array
}

/** Where the bytes of one stored chunk are. */
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
 * Chunks by the block they lie in, with the parts that are to be fetched of one that is not compressed and of
 * which not all is needed.
 */
export type Groups<C> = Iterable<readonly [BlockRef, readonly C[], Parts?]>

/** Parts of a block as stored in which some chunks lie. */
export interface Parts {
  /** In the file. */
  readonly ranges: readonly ByteRange[]
  /** Number of the part in which each chunk lies. */
  readonly partOf: readonly number[]
  /**
   * @throws IntegrityError with file and block when the part of that number is not what was written, as far
   *   as the file tells
   */
  check?(part: number, bytes: Uint8Array): void
}

/** A block in segments that can be read by themselves. */
export interface SegmentedBlock {
  readonly refs: readonly Segment[]
  /** Chunks of the block by the segments they lie in; undefined where the whole block had better be read. */
  split<C extends Stored>(chunks: readonly C[]): [BlockRef, readonly C[]][] | undefined
}

/** A block that is not compressed, of which segments can be checked by themselves. */
export interface CheckedBlock {
  /** The segments that some chunks of the block lie in, each once; undefined where one lies in several. */
  partsOf(chunks: readonly Stored[]): Parts | undefined
}

/**
 * A chunk that somebody wrote: its bytes, where they are at hand, or where they lie, in a block that is
 * decoded as a whole or as they are.
 */
export type StoredChunk = Uint8Array | ChunkAddress | StridedChunk

/**
 * A chunk whose elements lie in place in a file, uncompressed. Of such only the elements that are wanted are
 * read. Reductions and searches hold what they read at once, whole chunks some of them: a format that stores
 * an array as one piece gives it chunks of some MiB.
 */
export interface StridedChunk {
  readonly block?: undefined
  readonly layout: StridedLayout
  readonly shape: readonly number[]
  /** Of the first element, in the file. */
  readonly offset: number
}

export const isStrided = (found: StoredChunk | undefined): found is StridedChunk =>
  found !== undefined && !(found instanceof Uint8Array) && found.block === undefined

/** How elements lie in place; the same object for chunks that may be read together. */
export interface StridedLayout {
  readonly origin: BlockOrigin
  /** From one element to the next along each axis, in bytes, above 0: along the first the most. */
  readonly byteStrides: readonly number[]
  /** Bytes of an element as it is stored: as of its type, unless `payloadOf` makes elements of them. */
  readonly elementBytes: number
  /** Whether each is a number with its most significant byte first. */
  readonly bigEndian: boolean
  /**
   * What a chunk of so many elements is as other chunks are stored (`chunk-values.ts`), of elements that are
   * stored in another way, given one after another, during the call only.
   */
  readonly payloadOf?: ((stored: Uint8Array, count: number) => Uint8Array) | undefined
}

/** Where some chunks are, whatever is written meanwhile. */
export interface PinnedChunks {
  readonly grid: ChunkGrid
  /** Where a chunk is; undefined when nobody wrote it: then it is full of the fill value. */
  locate(chunkIndex: number): StoredChunk | undefined
  /** How many chunks are stored; versions of one chunk may each count. */
  readonly storedCount: number
  /** The indices of all chunks that are stored, in any order; some may come more than once. */
  stored(): Iterable<number>
}

/** A decoded chunk: in kernel memory, or in JavaScript's. */
export type ChunkBytes = { readonly pointer: number; readonly size: number } | Uint8Array

/** A decoded chunk as bytes; the view is valid until kernel memory is asked for again. */
export const chunkView = (arena: Arena, chunk: ChunkBytes): Uint8Array =>
  chunk instanceof Uint8Array ? chunk : arena.bytes(chunk.pointer, chunk.size)

/** The view of a chunk in its decoded block. */
export const chunkPart = (decoded: Uint8Array, { offset, size }: ChunkAddress): Uint8Array =>
  decoded.subarray(offset, offset + size)

/**
 * @throws IntegrityError with file and block when a whole block is not what was written, as far as the file
 *   tells
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

/** @throws CodecError with file and block when nobody knows the codec */
export function findCodec(codecs: CodecSet, block: BlockRef): Codec | KernelCodec {
  try {
    return codecs.find(block.codec)
  } catch (error) {
    return rethrowIn(error, block)
  }
}

/**
 * Decodes a block of a codec that does not work in kernel memory.
 * @throws CodecError with file and block when the block cannot be decoded
 */
export async function decodeOutsideKernels(codec: Codec, block: BlockRef, bytes: Uint8Array): Promise<Uint8Array> {
  try {
    return await decodeWith(codec, bytes, block.uncompressedBytes)
  } catch (error) {
    return rethrowIn(error, block)
  }
}

/**
 * Decodes a block of a codec that works in kernel memory; returns where.
 * @param check whether it was not checked yet: here that takes no copy
 * @throws CodecError with file and block when the block cannot be decoded; IntegrityError
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
 * Decodes a block as far as its first `bytes` bytes at least.
 * @throws CodecError with file and block when the block cannot be decoded
 */
export function decodeFront(front: Lz4PrefixDecoder, block: BlockRef, bytes: number): void {
  try {
    front.decode(bytes)
  } catch (error) {
    rethrowIn(error, block)
  }
}

/**
 * Has another thread decode a block and do something with it; undefined where none does.
 * @throws what {@link decodeBlock} throws
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

/** An error that names block and segment as well. */
export function prefixed(error: unknown, { id, part }: BlockRef): unknown {
  if (!isHyperslabError(error, 'CodecError', 'IntegrityError')) return error
  const place = part === undefined ? `block ${id}` : `block ${id}: segment ${part.number}`
  return new HyperslabError(error.tag, `${place}: ${error.message}`, error.details)
}

/** @throws CodecError when a block, or the part of it that is read, has more bytes decoded than `limit` */
export function checkBlockBytes({ origin, id }: BlockRef, bytes: number, limit: number): void {
  if (bytes <= limit || bytes === Infinity) return
  const text = `block ${id}: ${bytes} decoded bytes are more than limits.blockBytes, ${limit}`
  throw new HyperslabError('CodecError', text, { file: origin.file, actual: bytes, expected: limit })
}
