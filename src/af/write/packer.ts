import { attempt, decodeWith, inKernel } from '../../codec/codec.ts'
import { lz4, PREFIX_BYTES } from '../../codec/lz4.ts'
import { cutSegments, encodeLz4, encodeSegments } from '../../codec/lz4-encode.ts'
import type { Segment } from '../../codec/lz4-segments.ts'
import { none } from '../../codec/none.ts'
import type { Codecs, Encoder } from '../../codec/registry.ts'
import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import {
  type BlockOrigin,
  type BlockRef,
  type ChunkAddress,
  checkStoredBytes,
  chunkPart,
  decodeBlock,
  decodeOutsideKernels,
  findCodec,
} from '../../engine/block.ts'
import { type CheckedSegment, SegmentChecksums } from '../../engine/segment-checksums.ts'
import { withArena } from '../../kernels/arena.ts'
import { crc32cOf } from '../../kernels/crc32c.ts'
import type { Stage } from '../../store/store.ts'
import { MAX_U32 } from '../format/definition.ts'
import type { BlockMeta } from '../format/footer.ts'
import { PendingChunk } from '../layers/pending-chunk.ts'

export interface PackerOptions {
  /** Named in error messages. */
  readonly file: string
  readonly codecs: Codecs
  /** Codec of new blocks. */
  readonly codec: string
  /** Size of a block before compression, in bytes: a block is closed once it has this size. */
  readonly targetBytes: number
  /**
   * Largest size of a block, except for a single larger chunk. Default: the largest that the format can
   * store.
   */
  readonly maxBytes?: number
  /**
   * Size of the segments of LZ4 blocks before compression, in bytes. Undefined: blocks have no segments.
   * Segments of uncompressed blocks have at most 4 KiB.
   */
  readonly segmentBytes?: number
  /** Blocks that are decoded and compared with their input before they are written. */
  readonly verifyWrites?: VerifyWrites
  readonly openStage: () => Promise<Stage>
}

/** `true`: all blocks; `false`: none; `'foreign'`: those of codecs other than this package's own kernels. */
export type VerifyWrites = boolean | 'foreign'

/** Blocks of a layer: the stage that contains their bytes, and their CRC-32C. */
export interface PackedBlocks {
  readonly stage: Stage
  readonly blocks: BlockMeta[]
  readonly crcs: readonly number[]
  /** Segments of blocks with more than one, by id. */
  readonly segments: ReadonlyMap<number, readonly Segment[]>
  /** Segments of uncompressed blocks with more than one, by id. */
  readonly checkedSegments: ReadonlyMap<number, readonly CheckedSegment[]>
}

/**
 * Size of the segments of uncompressed blocks, in bytes; each has a checksum. Disks read at least this many
 * bytes, so smaller segments would not make reads cheaper. A file has no more segments than chunks, and each
 * takes about eight bytes in the table, so the table is small compared with the footer.
 */
const CHECKED_BYTES = 4096

/** A block to be appended to the stage. */
interface Encoded {
  readonly bytes: Uint8Array
  readonly uncompressedBytes: number
  readonly crc?: number | undefined
  readonly segments?: readonly Segment[] | undefined
  readonly checkedSegments?: readonly CheckedSegment[] | undefined
}

/**
 * Packs chunks into blocks in the order of their arrival. Writes each block once it is full, so at most one
 * block of chunks is in memory. Replacing a chunk before it is packed is free. Replacing it later leaves a
 * hole in its block, which `finish` closes.
 */
export class BlockPacker implements BlockOrigin {
  readonly file: string
  readonly version = 'pending'
  readonly #options: PackerOptions
  readonly #encoder: Encoder
  #stage: Stage | undefined
  /** Written blocks in order, with the chunks in each that were not replaced since. */
  #blocks = new Map<BlockRef, Set<PendingChunk>>()
  #segments = new Map<number, readonly Segment[]>()
  #checkedSegments = new Map<number, readonly CheckedSegment[]>()
  readonly #buffered = new Set<PendingChunk>()
  #bufferedBytes = 0

  /** @throws CodecError if the codec is unknown or cannot encode */
  constructor(options: PackerOptions) {
    this.#encoder = options.codecs.encoder(options.codec)
    this.file = options.file
    this.#options = options
  }

  /** Sets the contents of a chunk. The packer owns the bytes from then on. */
  async put(chunk: PendingChunk, bytes: Uint8Array): Promise<void> {
    this.drop(chunk)
    chunk.bytes = bytes
    this.#buffered.add(chunk)
    this.#bufferedBytes += bytes.length
    await this.settle()
  }

  /**
   * Replaces the contents of a chunk that is not packed. Writes nothing before the next `put` or `settle`.
   */
  replace(chunk: PendingChunk, bytes: Uint8Array): void {
    this.#bufferedBytes += bytes.length - chunk.bytes!.length
    chunk.bytes = bytes
  }

  /** Packs chunks while at least `bytes` of them are not packed. Default: a full block. */
  async settle(bytes = this.#options.targetBytes): Promise<void> {
    while (this.#buffered.size > 0 && this.#bufferedBytes >= bytes) await this.#closeBlock()
  }

  /**
   * Whether a block of `chunks` chunks can be copied as stored. It must have the right codec. Its size, and
   * that of the chunks that are not packed yet and become a block before it, must be similar to the sizes of
   * new blocks.
   */
  takes({ codec, compressedBytes, uncompressedBytes }: BlockRef, chunks: number): boolean {
    const { codec: own, targetBytes } = this.#options
    const least = targetBytes / 2
    if (codec !== own || (codec === 'none' && compressedBytes !== uncompressedBytes)) return false
    if (uncompressedBytes < least || (chunks > 1 && uncompressedBytes > 2 * targetBytes)) return false
    return this.#buffered.size === 0 || this.#bufferedBytes >= least
  }

  /**
   * Copies a block as it is stored.
   * @param chunks all chunks in it, as new ones
   * @param segments of the block
   * @throws IntegrityError if its checksum does not match
   */
  async adopt(
    block: BlockRef,
    chunks: readonly { chunk: PendingChunk; address: ChunkAddress }[],
    segments?: readonly Segment[],
  ): Promise<void> {
    const stored = await block.origin.read(block.fileOffset, block.compressedBytes)
    checkStoredBytes(block, stored)
    const { bytes, crc } = withSizeInFront(block, stored)
    await this.settle(0)
    const checkedSegments =
      block.codec === 'none'
        ? checkedIn(
            bytes,
            chunks.map(({ address }) => address.size),
            this.#options.segmentBytes,
          )
        : undefined
    const own = await this.#append({ ...block, bytes, crc, segments, checkedSegments })
    for (const { chunk, address } of chunks) chunk.address = { ...address, block: own }
    this.#blocks.set(own, new Set(chunks.map(({ chunk }) => chunk)))
  }

  /** Removes a chunk. */
  drop(chunk: PendingChunk): void {
    if (this.#buffered.delete(chunk)) this.#bufferedBytes -= chunk.bytes!.length
    if (chunk.address !== undefined) this.#blocks.get(chunk.address.block)?.delete(chunk)
    chunk.bytes = undefined
    chunk.address = undefined
  }

  /**
   * Packs the remaining chunks and closes holes. Returns the finished blocks, which lie in the stage one
   * after another from its start.
   */
  async finish(): Promise<PackedBlocks> {
    if (this.#stage?.broken) await this.#restage()
    await this.settle(0)
    if ([...this.#blocks].some(([block, chunks]) => hasHoles(block, chunks))) await this.#repack()
    const refs = [...this.#blocks.keys()]
    const blocks = refs.map(({ id, fileOffset, compressedBytes, uncompressedBytes, codec }) => {
      return { id, fileOffset, compressedBytes, uncompressedBytes, codec: codec === 'none' ? null : codec }
    })
    const [segments, checkedSegments] = [this.#segments, this.#checkedSegments]
    return { stage: await this.#staged(), blocks, crcs: refs.map(({ crc }) => crc!), segments, checkedSegments }
  }

  async discard(): Promise<void> {
    await this.#stage?.discard()
    this.#stage = undefined
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    return (await this.#staged()).read(offset, length)
  }

  async checksumsOf(block: BlockRef): Promise<SegmentChecksums | undefined> {
    const segments = this.#checkedSegments.get(block.id)
    return (
      segments &&
      new SegmentChecksums(
        block,
        segments.flatMap(({ bytes, crc }) => [bytes, crc]),
      )
    )
  }

  async #staged(): Promise<Stage> {
    this.#stage ??= await this.#options.openStage()
    return this.#stage
  }

  async #closeBlock(): Promise<void> {
    const chunks: { chunk: PendingChunk; bytes: Uint8Array }[] = []
    let uncompressedBytes = 0
    const { maxBytes = MAX_U32 } = this.#options
    for (const chunk of this.#buffered) {
      const bytes = chunk.bytes!
      // Offsets in a block have 32 bits, and so has its size.
      if (chunks.length > 0 && uncompressedBytes + bytes.length > maxBytes) break
      chunks.push({ chunk, bytes })
      uncompressedBytes += bytes.length
    }
    const block = await this.#append(await this.#encode(chunks, uncompressedBytes))
    const packed = new Set<PendingChunk>()
    let offset = 0
    for (const { chunk, bytes } of chunks) {
      // A chunk that was dropped or replaced during the write leaves a hole.
      if (chunk.bytes === bytes) {
        this.drop(chunk)
        chunk.address = { block, offset, size: bytes.length }
        packed.add(chunk)
      }
      offset += bytes.length
    }
    this.#blocks.set(block, packed)
  }

  /**
   * Copies chunks one after another into kernel memory, calls `onPack` of each, and encodes them as one
   * block.
   * @throws CodecError that names file, codec and block if encoding fails or the result decodes to other
   *   bytes
   */
  async #encode(chunks: readonly { chunk: PendingChunk; bytes: Uint8Array }[], total: number): Promise<Encoded> {
    const encoder = this.#encoder
    const { segmentBytes = Number.POSITIVE_INFINITY } = this.#options
    const sizes = chunks.map(({ bytes }) => bytes.length)
    const lengths = cutSegments(sizes, segmentBytes)
    const { bytes, segments } = withArena((arena): Omit<Encoded, 'uncompressedBytes'> => {
      const pointer = arena.alloc(total)
      let end = 0
      for (const { chunk, bytes } of chunks) {
        const at = { pointer: pointer + end, size: bytes.length }
        arena.bytes(at.pointer, at.size).set(bytes)
        withArena((inner) => chunk.onPack?.(inner, at))
        end += at.size
      }
      if (encoder !== lz4) return { bytes: arena.bytes(pointer, total).slice() }
      return lengths.length > 1 ? encodeSegments(arena, pointer, lengths) : { bytes: encodeLz4(arena, pointer, total) }
    })
    const block = this.#blocks.size
    try {
      const encoded = inKernel(encoder)
        ? bytes
        : await attempt(`codec '${encoder.name}' does not encode ${bytes.length} bytes`, () => encoder.encode(bytes))
      if (this.#verifies) await this.#verify(encoded, chunks, total)
      const checkedSegments = encoder === none ? checkedIn(encoded, sizes, segmentBytes) : undefined
      return { bytes: encoded, uncompressedBytes: total, segments, checkedSegments }
    } catch (error) {
      if ('reset' in encoder) await encoder.reset?.()
      if (!isHyperslabError(error, 'CodecError')) throw error
      const text = `block ${block}: ${error.message}; nothing was published, and the changes are kept`
      throw new HyperslabError('CodecError', text, { ...error.details, file: this.file })
    }
  }

  get #verifies(): boolean {
    const { verifyWrites = 'foreign' } = this.#options
    return verifyWrites === true || (verifyWrites === 'foreign' && !inKernel(this.#encoder))
  }

  /** @throws CodecError if a block does not decode to the chunks in it */
  async #verify(encoded: Uint8Array, chunks: readonly { readonly bytes: Uint8Array }[], total: number): Promise<void> {
    const codec = this.#encoder
    const decoded = inKernel(codec)
      ? withArena((arena) => {
          const pointer = codec.decodeIn(arena, arena.put(encoded), encoded.length, total)
          return arena.bytes(pointer, total).slice()
        })
      : await decodeWith(codec, encoded, total)
    let start = 0
    for (const { bytes } of chunks) {
      const at = firstDifference(bytes, decoded.subarray(start, start + bytes.length))
      if (at >= 0) {
        const text = `what codec '${codec.name}' made of ${total} bytes decodes to others from byte ${start + at} on`
        throw new HyperslabError('CodecError', text, { actual: decoded[start + at], expected: bytes[at] })
      }
      start += bytes.length
    }
  }

  async #append({ bytes, uncompressedBytes, crc = crc32cOf(bytes), segments, checkedSegments }: Encoded): Promise<BlockRef> {
    const stage = await this.#staged()
    const fileOffset = stage.size
    await stage.append(bytes)
    const { codec } = this.#options
    const id = this.#blocks.size
    if (segments !== undefined && segments.length > 1) this.#segments.set(id, segments)
    if (checkedSegments !== undefined && checkedSegments.length > 1) this.#checkedSegments.set(id, checkedSegments)
    return { origin: this, id, fileOffset, compressedBytes: bytes.length, uncompressedBytes, codec, crc }
  }

  /**
   * Copies all blocks to another stage, because the store is no longer sure of the contents of this one.
   * @throws IntegrityError if the checksum of a block does not match; everything stays as it was
   */
  async #restage(): Promise<void> {
    const next = await this.#options.openStage()
    try {
      for (const block of this.#blocks.keys()) {
        const bytes = await this.read(block.fileOffset, block.compressedBytes)
        checkStoredBytes(block, bytes)
        await next.append(bytes)
      }
    } catch (error) {
      await next.discard()
      throw error
    }
    await this.discard()
    this.#stage = next
  }

  /** Packs all chunks anew into another stage. Until that is complete, everything stays as it was. */
  async #repack(): Promise<void> {
    const next = new BlockPacker(this.#options)
    const moved: { chunk: PendingChunk; copy: PendingChunk }[] = []
    try {
      for (const [block, chunks] of this.#blocks) {
        for (const [chunk, bytes] of await this.#unpack(block, chunks)) {
          const copy = new PendingChunk()
          await next.put(copy, bytes)
          moved.push({ chunk, copy })
        }
      }
      await next.settle(0)
    } catch (error) {
      await next.discard()
      throw error
    }
    await this.discard()
    this.#stage = next.#stage
    this.#segments = next.#segments
    this.#checkedSegments = next.#checkedSegments
    const chunkByCopy = new Map(moved.map(({ chunk, copy }) => [copy, chunk]))
    this.#blocks = new Map()
    for (const [block, copies] of next.#blocks) {
      const own = { ...block, origin: this }
      this.#blocks.set(own, new Set([...copies].map((copy) => chunkByCopy.get(copy)!)))
      for (const copy of copies) chunkByCopy.get(copy)!.address = { ...copy.address!, block: own }
    }
  }

  async #unpack(block: BlockRef, chunks: ReadonlySet<PendingChunk>): Promise<[PendingChunk, Uint8Array][]> {
    const bytes = await this.read(block.fileOffset, block.compressedBytes)
    checkStoredBytes(block, bytes)
    const codec = findCodec(this.#options.codecs, block)
    if (!inKernel(codec)) {
      const decoded = await decodeOutsideKernels(codec, block, bytes)
      return [...chunks].map((chunk) => [chunk, chunkPart(decoded, chunk.address!).slice()])
    }
    return withArena((arena) => {
      const pointer = decodeBlock(arena, this.#options.codecs, block, bytes)
      return [...chunks].map((chunk) => {
        const { offset, size } = chunk.address!
        return [chunk, arena.bytes(pointer + offset, size).slice()]
      })
    })
  }
}

/**
 * Returns a block as it is to be stored. LZ4 blocks begin with their size. Readers of footer version 6 rely
 * on it, but other programs may have stored a wrong one, because earlier versions do not read it.
 */
function withSizeInFront(
  { codec, uncompressedBytes, crc }: BlockRef,
  stored: Uint8Array,
): { readonly bytes: Uint8Array; readonly crc: number | undefined } {
  const sizeIn = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView => new DataView(buffer, byteOffset, byteLength)
  if (codec !== 'lz4' || stored.length < PREFIX_BYTES || sizeIn(stored).getUint32(0, true) === uncompressedBytes)
    return { bytes: stored, crc }
  const bytes = new Uint8Array(stored)
  sizeIn(bytes).setUint32(0, uncompressedBytes, true)
  return { bytes, crc: undefined }
}

/** Returns the segments of an uncompressed block with chunks of the given sizes. */
function checkedIn(bytes: Uint8Array, sizes: readonly number[], segmentBytes = CHECKED_BYTES): CheckedSegment[] {
  let start = 0
  return cutSegments(sizes, Math.min(segmentBytes, CHECKED_BYTES)).map((length) => {
    const crc = crc32cOf(bytes.subarray(start, start + length))
    start += length
    return { bytes: length, crc }
  })
}

function hasHoles({ uncompressedBytes }: BlockRef, chunks: ReadonlySet<PendingChunk>): boolean {
  let bytes = 0
  for (const { address } of chunks) bytes += address!.size
  return bytes < uncompressedBytes
}

/**
 * Returns the position of the first difference between two byte sequences of one length; -1 if they are
 * equal.
 */
function firstDifference(a: Uint8Array, b: Uint8Array): number {
  let at = 0
  if (a.byteOffset % 4 === 0 && b.byteOffset % 4 === 0) {
    const [x, y] = [a, b].map(({ buffer, byteOffset, length }) => new Int32Array(buffer, byteOffset, length >> 2)) as [
      Int32Array,
      Int32Array,
    ]
    let word = 0
    while (word < x.length && x[word] === y[word]) word++
    at = 4 * word
  }
  while (at < a.length && a[at] === b[at]) at++
  return at < a.length ? at : -1
}
