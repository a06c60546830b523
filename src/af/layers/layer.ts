import { joinBytes } from '../../core/bytes.ts'
import { HyperslabError, within } from '../../core/errors.ts'
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
  isExtra,
  RESIZED_CODEC,
  SEGMENT_CHECKSUMS_CODEC,
  SEGMENTS_CODEC,
} from '../format/extras.ts'
import { type ArrayMeta, FOOTER_MAGIC, type Footer, readTrailer, TRAILER_BYTES } from '../format/footer.ts'
import { foreignId, type Identity, identityIn } from '../format/identity.ts'
import type { Limits } from '../format/limits.ts'
import { readFooter } from '../format/read-footer.ts'
import type { SegmentTable } from './segment-table.ts'

/** Read from the end of a file at once: enough for the footers of most. */
const TAIL_BYTES = 64 * 1024
/** An entry of the table of blocks has at least as many. */
const BLOCK_META_BYTES = 56

export interface LayerOptions extends ReadOptions {
  /** Absences of files that the server has not proved. */
  readonly absences?: Absences | undefined
  /** Keeps the ends of files. */
  readonly cache?: { endsOf(store: Store): Store } | undefined
  /** Bytes that footers of layers which are opened together may still have. */
  readonly room?: { bytes: number }
}

/** What is known of a file beside its footer. */
export interface LayerFacts {
  readonly footerBytes: number
  /** Tables of segments with more bytes than footers may have are not read. */
  readonly limits: Required<Limits>
  /** Of its blocks, in order; left out where they are not known. */
  readonly crcs?: ArrayLike<number> | undefined
  /** CRC-32C of the footer; only files without an identity are told by it. */
  readonly footerCrc?: number
  /** The bytes in front of the footer, as far as they were read. */
  readonly end?: Pick<LayerEnd, 'before' | 'dataBytes'>
}

/** Layers so far that only this process can tell apart. */
let unnamed = 0

/** One `.af` file of a container, pinned to the version it was opened on. */
export class Layer implements BlockOrigin {
  /** 0 for the base, N for `{stem}.N.af`. */
  readonly number: number
  readonly key: string
  readonly file: string
  readonly info: ObjectInfo
  readonly footer: Footer
  /** Of the footer, as stored. */
  readonly footerBytes: number
  /** The newest entry of each name. */
  readonly arrays: ReadonlyMap<string, ArrayMeta>
  readonly blocks: ReadonlyMap<number, BlockRef>
  readonly recycle: BlockOrigin['recycle']
  readonly readMany: BlockOrigin['readMany']
  readonly cacheKey: string
  /** Tells this file from all others, ever; made up of its size and footer where another program wrote it. */
  readonly identity: Identity
  /** Whether another program, or a version of this one without identities, wrote the file. */
  readonly foreign: boolean
  readonly local: BlockOrigin['local']
  readonly segmentsOf: BlockOrigin['segmentsOf']
  readonly checksumsOf: BlockOrigin['checksumsOf']
  /** Has the mark of layers that change the shape of an array, or of a base compacted of such. */
  readonly resizes: boolean
  readonly #store: Store
  readonly #limits: Required<Limits>

  /** @param info the version of the file that has this footer */
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
    const arrays = new Map<string, ArrayMeta>()
    for (const meta of footer.arrays) {
      // An array that was deleted and defined anew comes where it was defined.
      arrays.delete(meta.name)
      arrays.set(meta.name, meta)
    }
    this.arrays = arrays
    const blocks = new Map<number, BlockRef>()
    footer.blocks.forEach((block, i) => {
      const { id, fileOffset, compressedBytes, uncompressedBytes, codec } = block
      if (blocks.has(id)) return
      // Not spread: that takes ten times as long, which counts with a million blocks.
      blocks.set(id, {
        id,
        fileOffset,
        compressedBytes,
        uncompressedBytes,
        codec: codec ?? 'none',
        crc: crcs[i],
        // The crate trusts this size, so in files of version 6 both sizes have to agree.
        sizeInFront: footer.version === 6 && codec === 'lz4',
        origin: this,
      })
    })
    this.blocks = blocks
    this.resizes = footer.blocks.some(({ codec }) => codec === RESIZED_CODEC)
    this.local = store.localPath && { path: store.localPath(key), etag: info.etag }
    this.cacheKey = store.identify?.(key, info.etag) ?? `#${++unnamed}`
    const own = identityIn(footer.blocks)
    this.foreign = own === undefined
    this.identity = own ?? { id: foreignId(info.size, footerCrc), kind: number === 0 ? 'base' : 'layer' }
    this.segmentsOf = this.#table<BlockSegments>(SEGMENTS_CODEC, end)
    this.checksumsOf = this.#table<SegmentChecksums>(SEGMENT_CHECKSUMS_CODEC, end)
    this.recycle = store.recycle?.bind(store)
    // Only where the store makes something of many ranges at once.
    if (store.getRanges !== undefined) this.readMany = (ranges, signal) => this.#readMany(ranges, signal)
  }

  /**
   * Opens a layer in two range reads at most; `undefined` when there is no such file.
   * @throws FormatError when the file is not an `.af` file or damaged
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

  async read(offset: number, length: number, signal?: Signal): Promise<Uint8Array> {
    return present(await this.#store.getRange(this.key, offset, length, { signal, ifMatch: this.info.etag }), this.file)
  }

  async #readMany(ranges: readonly ByteRange[], signal?: Signal): Promise<Uint8Array[]> {
    return present(await this.#store.getRanges!(this.key, ranges, { signal, ifMatch: this.info.etag }), this.file)
  }

  /** Whether the file has footer version 6, which is written once and has no layers. */
  get immutable(): boolean {
    return this.footer.version === 6
  }

  get version(): string {
    return `${this.key}\0${this.info.etag}`
  }

  /** The blocks that chunks are in. */
  get dataBlocks(): BlockRef[] {
    return [...this.blocks.values()].filter((block) => !isExtra(block))
  }

  /** What a table of segments says of a block; undefined where there is no such table. */
  #table<T>(
    name: string,
    before: Pick<LayerEnd, 'before' | 'dataBytes'> | undefined,
  ): ((block: BlockRef, signal?: Signal, budget?: MemoryBudget) => Promise<T | undefined>) | undefined {
    const table = this.extra(name)
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

  /** What only this package reads of the file, by its codec. */
  extra(name: string): BlockRef | undefined {
    for (const block of this.blocks.values()) if (block.codec === name) return block
    return undefined
  }

  /** Bytes of blocks, stored and decoded. */
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

/** The end of a file, read in two ranges at most. */
export interface LayerEnd {
  readonly info: ObjectInfo
  /** What lies in front of the trailer, which is the last thing in the file. */
  readonly payload: Uint8Array
  /** Bytes in front of that. */
  readonly dataBytes: number
  /** The last of those; checksums are among them. */
  readonly before: Uint8Array
}

/** A copy of a block, of which the rest may go, if it lies in what was read. */
function partBefore({ before, dataBytes }: Pick<LayerEnd, 'before' | 'dataBytes'>, block: BlockRef): Uint8Array | undefined {
  const start = block.fileOffset - (dataBytes - before.length)
  return start < 0 ? undefined : new Uint8Array(before.subarray(start, start + block.compressedBytes))
}

/**
 * @returns `undefined` when there is no such file
 * @throws FormatError when the trailer is none, or announces what is more than the file or the limits
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
  const footerBytes = readTrailer(bytes.subarray(Math.max(0, end)), FOOTER_MAGIC, size)
  // A login page never becomes the known object, because it has no trailer.
  absences?.known(key, tail)
  const { room = { bytes: limits.footerBytes } } = options
  if (footerBytes > room.bytes) {
    const text = `a footer of ${footerBytes} bytes is more than limits.footerBytes leaves, ${room.bytes}`
    throw new HyperslabError('FormatError', text, { actual: footerBytes, expected: room.bytes })
  }
  room.bytes -= footerBytes
  const dataBytes = size - TRAILER_BYTES - footerBytes
  // Checksums lie right before the footer, of as many blocks as it can have.
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
 * The checksums, where the file has them: right in front of the footer, for all blocks but their own, which
 * is the last. They are known by their own checksum, not by the name of their block alone: or damage to it,
 * or to the number of blocks, would turn all checks off.
 * @param before the bytes in front of the footer
 * @throws IntegrityError when they are damaged
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
 * Data that are their own checksum without being any: -1 as it is stored, which is the checksum of itself and
 * of itself followed by zeros.
 */
const isTrivial = ({ footer, blocks }: Checksums): boolean => footer === 0xffffffff && blocks.every((crc) => crc === 0)

function present<T>(bytes: T | undefined, file: string): T {
  if (bytes !== undefined) return bytes
  const text = 'the file is gone: another writer has compacted the container; refresh it, or open it again'
  throw new HyperslabError('ConflictError', text, { file })
}
