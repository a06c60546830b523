import { joinBytes } from '../../core/bytes.ts'
import { HyperslabError, within } from '../../core/errors.ts'
import { LazyMap } from '../../core/lazy-map.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { Signal } from '../../core/signal.ts'
import type { BlockOrigin, BlockRef } from '../../engine/block.ts'
import { checkCrc } from '../../engine/integrity.ts'
import type { SegmentChecksums } from '../../engine/segment-checksums.ts'
import type { BlockSegments } from '../../engine/segments.ts'
import { crc32cOf } from '../../kernels/crc32c.ts'
import type { Absences } from '../../store/absences.ts'
import { type ByteRange, type ObjectInfo, type ReadOptions, readTail, type Store } from '../../store/store.ts'
import {
  CHECKSUM_CODEC,
  type Checksums,
  checksumBytes,
  checksumsAtEnd,
  isExtensionBlock,
  RESIZED_CODEC,
  SEGMENT_CHECKSUMS_CODEC,
  SEGMENTS_CODEC,
} from '../format/extension-blocks.ts'
import { type ArrayList, type ArrayMeta, FOOTER_MAGIC, type Footer, isVersion6, TRAILER_BYTES } from '../format/footer.ts'
import { payloadBytes } from '../format/footer-trailer.ts'
import { foreignId, type Identity, identityIn } from '../format/identity.ts'
import type { Limits } from '../format/limits.ts'
import { readFooter } from '../format/read-footer.ts'
import type { SegmentTable } from './segment-table.ts'

/** Bytes of the first read, at the end of a file: enough for most footers. */
const TAIL_BYTES = 64 * 1024
/** Least bytes of an entry in the table of blocks. */
const BLOCK_META_BYTES = 56

export interface LayerOptions extends ReadOptions {
  /** Absences of files that the server has not proved. */
  readonly absences?: Absences | undefined
  /** Cache of the ends of files. */
  readonly cache?: { endsOf(store: Store): Store } | undefined
  /** Bytes that remain for the footers of layers that are opened together. */
  readonly room?: { bytes: number }
  /** Called with a file of footer version 6 if its footer is larger than these bytes. */
  readonly onSealed?: (info: ObjectInfo) => void
}

/** Facts about a file beyond its footer. */
export interface LayerFacts {
  readonly footerBytes: number
  /** Segment tables larger than the limit for footers are not read. */
  readonly limits: Required<Limits>
  /** Checksums of its blocks, in order. Undefined if they are unknown. */
  readonly crcs?: ArrayLike<number> | undefined
  /** CRC-32C of the footer. Identifies only files without an identity. */
  readonly footerCrc?: number
  /** The bytes in front of the footer, as far as they were read. */
  readonly end?: Pick<LayerEnd, 'before' | 'dataBytes'>
}

/** Count of layers that only this process can distinguish. */
let unnamed = 0

/** One `.af` file of a container, pinned to the version it was opened on. */
export class Layer implements BlockOrigin {
  /** 0 for the base, N for `{stem}.N.af`. */
  readonly number: number
  readonly key: string
  readonly file: string
  readonly info: ObjectInfo
  readonly footer: Footer
  /** Size of the footer as stored, in bytes. */
  readonly footerBytes: number
  /** The newest entry of each name. */
  readonly arrays: ReadonlyMap<string, ArrayMeta>
  readonly blocks: ReadonlyMap<number, BlockRef>
  readonly recycle: BlockOrigin['recycle']
  readonly readMany: BlockOrigin['readMany']
  readonly cacheKey: string
  /**
   * Distinguishes this file from all others, ever. Derived from size and footer if another program wrote the
   * file.
   */
  readonly identity: Identity
  /** Whether another program, or a version of this one without identities, wrote the file. */
  readonly foreign: boolean
  readonly local: BlockOrigin['local']
  readonly segmentsOf: BlockOrigin['segmentsOf']
  readonly checksumsOf: BlockOrigin['checksumsOf']
  /**
   * Whether the file marks changes of shapes: a layer with such a change, or a base compacted from such
   * layers.
   */
  readonly resizes: boolean
  readonly #store: Store
  readonly #limits: Required<Limits>

  /** @param info version of the file with this footer */
  constructor(
    store: Store,
    key: string,
    number: number,
    info: ObjectInfo,
    footer: Footer,
    { footerBytes, limits, crcs = [], footerCrc = 0, end }: LayerFacts,
  ) {
    this.#store = store
    this.footerBytes = footerBytes
    this.#limits = limits
    this.number = number
    this.key = key
    this.file = store.describe(key)
    this.info = info
    this.footer = footer
    this.arrays = footer.stored === undefined ? byName(footer.arrays) : storedByName(footer.stored)
    const blocks = new Map<number, BlockRef>()
    footer.blocks.forEach((block, i) => {
      const { id, fileOffset, compressedBytes, uncompressedBytes, codec } = block
      if (blocks.has(id)) return
      // Without spread syntax, which takes ten times as long: noticeable with a million blocks.
      blocks.set(id, {
        id,
        fileOffset,
        compressedBytes,
        uncompressedBytes,
        codec: codec ?? 'none',
        crc: crcs[i],
        // The crate relies on this size, so both sizes must agree in files of version 6.
        sizeInFront: footer.version === 6 && codec === 'lz4',
        origin: this,
      })
    })
    this.blocks = blocks
    this.resizes = footer.blocks.some(({ codec }) => codec === RESIZED_CODEC)
    this.local = store.files?.localPath && { path: store.files.localPath(key), etag: info.etag }
    this.cacheKey = store.identify?.(key, info.etag) ?? `#${++unnamed}`
    const own = identityIn(footer.blocks)
    this.foreign = own === undefined
    this.identity = own ?? { id: foreignId(info.size, footerCrc), kind: number === 0 ? 'base' : 'layer' }
    this.segmentsOf = this.#table<BlockSegments>(SEGMENTS_CODEC, end)
    this.checksumsOf = this.#table<SegmentChecksums>(SEGMENT_CHECKSUMS_CODEC, end)
    this.recycle = store.files?.recycle
    // Present only if the store combines ranges into fewer requests.
    if (store.getRanges !== undefined) this.readMany = (ranges, signal) => this.#readMany(ranges, signal)
  }

  /**
   * Opens a layer with at most two range requests; returns `undefined` if the file does not exist.
   * @throws FormatError if the file is not an `.af` file, or is damaged
   */
  static async open(
    store: Store,
    key: string,
    number: number,
    limits: Required<Limits>,
    options: LayerOptions = {},
  ): Promise<Layer | undefined> {
    return within({ file: store.describe(key) }, async () => {
      const end = await readEnd(options.cache?.endsOf(store) ?? store, key, limits, options)
      if (end === undefined) return undefined
      const { info, payload, before, dataBytes } = end
      const footer = await readFooter(payload, dataBytes, limits.typeDepth)
      const checksums = checksumsIn(footer, before)
      if (checksums !== undefined) checkCrc('the footer', payload, checksums.footer)
      const footerCrc = checksums?.footer ?? crc32cOf(payload)
      const facts = { footerBytes: payload.length, limits, crcs: checksums?.blocks, footerCrc, end }
      return new Layer(store, key, number, info, footer, facts)
    })
  }

  async read(offset: number, length: number, signal?: Signal, into?: Uint8Array): Promise<Uint8Array> {
    const options = { signal, ifMatch: this.info.etag, into }
    return present(await this.#store.getRange(this.key, offset, length, options), this.file)
  }

  async #readMany(ranges: readonly ByteRange[], signal?: Signal): Promise<Uint8Array[]> {
    return present(await this.#store.getRanges!(this.key, ranges, { signal, ifMatch: this.info.etag }), this.file)
  }

  /** Whether the file has footer version 6. Such a file is never changed and has no layers. */
  get immutable(): boolean {
    return this.footer.version === 6
  }

  get version(): string {
    return `${this.key}\0${this.info.etag}`
  }

  /** The blocks that contain chunks. */
  get dataBlocks(): BlockRef[] {
    return [...this.blocks.values()].filter((block) => !isExtensionBlock(block))
  }

  /** Returns a reader of a segment table; undefined if the file has no such table. */
  #table<T>(
    name: string,
    before: Pick<LayerEnd, 'before' | 'dataBytes'> | undefined,
  ): ((block: BlockRef, signal?: Signal, budget?: MemoryBudget) => Promise<T | undefined>) | undefined {
    const table = this.extensionBlock(name)
    if (table === undefined) return undefined
    let stored = before && partBefore(before, table)
    let segments: SegmentTable<T> | undefined
    return async (block, signal, budget) => {
      if (segments === undefined) {
        const { SegmentTable } = await import('./segment-table.ts')
        segments ??= new SegmentTable<T>(table, this.blocks, stored, this.#limits.footerBytes)
        stored = undefined
      }
      return segments.of(block, signal, budget)
    }
  }

  /** Returns the extension block with a codec. Only this package reads extension blocks. */
  extensionBlock(name: string): BlockRef | undefined {
    for (const block of this.blocks.values()) if (block.codec === name) return block
    return undefined
  }

  /** Bytes of the blocks, as stored and decoded. */
  get blockBytes(): { compressed: number; uncompressed: number } {
    let compressed = 0
    let uncompressed = 0
    for (const block of this.dataBlocks) {
      compressed += block.compressedBytes
      uncompressed += block.uncompressedBytes
    }
    return { compressed, uncompressed }
  }
}

function byName(metas: readonly ArrayMeta[]): Map<string, ArrayMeta> {
  const arrays = new Map<string, ArrayMeta>()
  for (const meta of metas) {
    // An array that was deleted and defined anew takes the position of its new definition.
    arrays.delete(meta.name)
    arrays.set(meta.name, meta)
  }
  return arrays
}

const storedByName = (stored: ArrayList): LazyMap<ArrayMeta> =>
  new LazyMap(stored.indices, (name) => stored.at(stored.indices.get(name)!))

/** The end of a file, read with at most two range requests. */
export interface LayerEnd {
  readonly info: ObjectInfo
  /** The bytes in front of the trailer, which ends the file. */
  readonly payload: Uint8Array
  /** Number of bytes in front of the payload. */
  readonly dataBytes: number
  /** The last of these bytes. They include the checksums. */
  readonly before: Uint8Array
}

/**
 * Returns a copy of a block if it lies in the bytes that were read. A copy, so that the other bytes can be
 * freed.
 */
function partBefore({ before, dataBytes }: Pick<LayerEnd, 'before' | 'dataBytes'>, block: BlockRef): Uint8Array | undefined {
  const start = block.fileOffset - (dataBytes - before.length)
  return start < 0 ? undefined : new Uint8Array(before.subarray(start, start + block.compressedBytes))
}

/**
 * @returns `undefined` if the file does not exist
 * @throws FormatError for an invalid trailer, or one that claims more bytes than the file or the limits allow
 */
export async function readEnd(
  store: Store,
  key: string,
  limits: Required<Limits>,
  options: LayerOptions,
): Promise<LayerEnd | undefined> {
  const { absences } = options
  const tail = await readTail(store, key, TAIL_BYTES, options)
  if (tail === undefined) return undefined
  const { bytes, size, etag } = tail
  const end = bytes.length - TRAILER_BYTES
  const trailer = bytes.subarray(Math.max(0, end))
  const footerBytes =
    payloadBytes(trailer, FOOTER_MAGIC, size) ??
    (await import('../format/trailer-faults.ts')).readTrailer(trailer, FOOTER_MAGIC, size)
  // A login page never becomes the known object, because it has no trailer.
  absences?.known(key, tail)
  const { room = { bytes: limits.footerBytes } } = options
  if (footerBytes > room.bytes) {
    if (isVersion6(bytes.subarray(0, end))) options.onSealed?.({ size, etag })
    const text = `a footer of ${footerBytes} bytes is more than \`limits.footerBytes\` leaves, ${room.bytes}`
    throw new HyperslabError('FormatError', text, { actual: footerBytes, expected: room.bytes, limit: 'limits.footerBytes' })
  }
  room.bytes -= footerBytes
  const dataBytes = size - TRAILER_BYTES - footerBytes
  // Checksums lie directly in front of the footer, for at most as many blocks as the footer can list.
  const start = Math.max(0, dataBytes - checksumBytes(Math.ceil(footerBytes / BLOCK_META_BYTES)))
  let whole = bytes.subarray(0, end)
  const missing = size - bytes.length - start
  if (missing > 0) {
    const first = present(await store.getRange(key, start, missing, { ...options, ifMatch: etag }), store.describe(key))
    whole = joinBytes([first, whole])
  }
  const footerAt = whole.length - footerBytes
  return { info: { size, etag }, payload: whole.subarray(footerAt), dataBytes, before: whole.subarray(0, footerAt) }
}

/**
 * Returns the checksums in front of the footer; undefined if the file has none. They cover all blocks except
 * their own, which is the last. They are recognised by their own checksum, not only by the name of their
 * block. Otherwise, damage to that name or to the number of blocks would disable all checks.
 * @param before the bytes in front of the footer
 * @throws IntegrityError if they are damaged
 */
export function checksumsIn({ blocks }: Footer, before: Uint8Array): Checksums | undefined {
  const named = blocks.some(({ codec }) => codec === CHECKSUM_CODEC)
  for (const count of [blocks.length - 1, blocks.length, blocks.length + 1]) {
    const found = checksumsAtEnd(before, count)
    if (found !== undefined && (named || !isTrivial(found))) return found
  }
  if (!named) return undefined
  throw new HyperslabError('IntegrityError', 'the checksums themselves have changed')
}

/**
 * Whether data that are not checksums pass for them: the stored value -1 is the checksum of itself, and of
 * itself followed by zeros.
 */
const isTrivial = ({ footer, blocks }: Checksums): boolean => footer === 0xffffffff && blocks.every((crc) => crc === 0)

function present<T>(bytes: T | undefined, file: string): T {
  if (bytes !== undefined) return bytes
  const text = 'the file is gone: another writer has compacted the container; refresh it, or open it again'
  throw new HyperslabError('ConflictError', text, { file })
}
