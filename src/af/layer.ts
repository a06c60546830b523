import { HyperslabError, within } from '../core/errors.js'
import type { Signal } from '../core/signal.js'
import { type ByteRange, type ObjectInfo, readTail, type Store, type StoreOptions, type Tail } from '../store/store.js'
import type { BlockOrigin, BlockRef } from './block.js'
import { type Checksums, checkCrc, decodeChecksums } from './checksums.js'
import { type ChunkStatsTable, decodeChunkStats } from './chunk-stats-table.js'
import { CHECKSUM_CODEC, isExtra, STATS_CODEC } from './extras.js'
import { type ArrayMeta, decodeFooter, FOOTER_MAGIC, type Footer, readTrailer, TRAILER_BYTES } from './footer.js'
import { checkFooter } from './footer-check.js'
import type { Limits } from './limits.js'

/** Read from the end of a file at once: enough for the footers of most. */
const TAIL_BYTES = 64 * 1024

/** One `.af` file of a container, pinned to the version it was opened on. */
export class Layer implements BlockOrigin {
  /** 0 for the base, N for `{stem}.N.af`. */
  readonly number: number
  readonly key: string
  readonly file: string
  readonly info: ObjectInfo
  readonly footer: Footer
  /** The newest entry of each name. */
  readonly arrays: ReadonlyMap<string, ArrayMeta>
  readonly blocks: ReadonlyMap<number, BlockRef>
  readonly readMany: BlockOrigin['readMany']
  readonly local: BlockOrigin['local']
  readonly #store: Store

  #chunkStats: Promise<ReadonlyMap<number, ChunkStatsTable>> | undefined

  /**
   * @param info the version of the file that has this footer
   * @param crcs of its blocks, in order; empty where they are not known
   */
  constructor(store: Store, key: string, number: number, info: ObjectInfo, footer: Footer, crcs: ArrayLike<number> = []) {
    this.#store = store
    this.number = number
    this.key = key
    this.file = store.describe(key)
    this.info = info
    this.footer = footer
    this.arrays = new Map(footer.arrays.map((meta) => [meta.name, meta]))
    const blocks = new Map<number, BlockRef>()
    footer.blocks.forEach(({ codec, ...block }, i) => {
      if (!blocks.has(block.id)) blocks.set(block.id, { ...block, codec: codec ?? 'none', crc: crcs[i], origin: this })
    })
    this.blocks = blocks
    this.local = store.localPath && { path: store.localPath(key), etag: info.etag }
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
    options: StoreOptions = {},
  ): Promise<Layer | undefined> {
    return within({ file: store.describe(key) }, async () => {
      const tail = await readTail(store, key, TAIL_BYTES, options)
      if (tail === undefined) return undefined
      const info = { size: tail.size, etag: tail.etag }
      const { payload, before } = await footerIn(store, key, tail, limits.footerBytes, options)
      const footer = decodeFooter(payload, limits.typeDepth)
      const dataBytes = info.size - TRAILER_BYTES - payload.length
      checkFooter(footer, dataBytes)
      const checksums = checksumsIn(footer, before, dataBytes)
      if (checksums !== undefined) checkCrc('the footer', payload, checksums.footer)
      return new Layer(store, key, number, info, footer, checksums?.blocks)
    })
  }

  async read(offset: number, length: number, signal?: Signal): Promise<Uint8Array> {
    return present(await this.#store.getRange(this.key, offset, length, { signal, ifMatch: this.info.etag }), this.file)
  }

  async #readMany(ranges: readonly ByteRange[], signal?: Signal): Promise<Uint8Array[]> {
    return present(await this.#store.getRanges!(this.key, ranges, { signal, ifMatch: this.info.etag }), this.file)
  }

  get version(): string {
    return `${this.key}\0${this.info.etag}`
  }

  /** The blocks that chunks are in. */
  get dataBlocks(): BlockRef[] {
    return [...this.blocks.values()].filter((block) => !isExtra(block))
  }

  /**
   * Statistics of the chunks this layer stores, by index of their array in the footer; none where the file has none. Read once.
   * @throws FormatError, IntegrityError when they are damaged
   */
  chunkStats(signal?: Signal): Promise<ReadonlyMap<number, ChunkStatsTable>> {
    this.#chunkStats ??= this.#readChunkStats(signal).catch((error: unknown) => {
      this.#chunkStats = undefined
      throw error
    })
    return this.#chunkStats
  }

  async #readChunkStats(signal?: Signal): Promise<ReadonlyMap<number, ChunkStatsTable>> {
    return within({ file: this.file }, async () => {
      const block = [...this.blocks.values()].find(({ codec }) => codec === STATS_CODEC)
      if (block === undefined) return new Map<number, ChunkStatsTable>()
      const bytes = await this.read(block.fileOffset, block.compressedBytes, signal)
      if (block.crc !== undefined) checkCrc('the statistics of chunks', bytes, block.crc)
      return decodeChunkStats(bytes, this.footer.arrays)
    })
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

/** The payload in front of the trailer, which is the last thing in the file, and what was read of the bytes before it. */
async function footerIn(
  store: Store,
  key: string,
  { bytes, size, etag }: Tail,
  limit: number,
  options: StoreOptions,
): Promise<{ payload: Uint8Array; before: Uint8Array }> {
  const end = bytes.length - TRAILER_BYTES
  const footerBytes = readTrailer(bytes.subarray(Math.max(0, end)), FOOTER_MAGIC, size)
  if (footerBytes > limit) {
    const text = `a footer of ${footerBytes} bytes is more than limits.footerBytes, ${limit}`
    throw new HyperslabError('FormatError', text, { actual: footerBytes, expected: limit })
  }
  if (footerBytes <= end) return { payload: bytes.subarray(end - footerBytes, end), before: bytes.subarray(0, end - footerBytes) }
  // Checksums lie right before the footer.
  const start = Math.max(0, size - TRAILER_BYTES - footerBytes - TAIL_BYTES)
  const length = size - bytes.length - start
  const missing = present(await store.getRange(key, start, length, { ...options, ifMatch: etag }), store.describe(key))
  const whole = new Uint8Array(length + end)
  whole.set(missing)
  whole.set(bytes.subarray(0, end), length)
  return { payload: whole.subarray(whole.length - footerBytes), before: whole.subarray(0, whole.length - footerBytes) }
}

/** The checksums, where the file has them and `before`, which ends at `dataBytes`, reaches back to them: those of 16 000 blocks always do. */
function checksumsIn({ blocks }: Footer, before: Uint8Array, dataBytes: number): Checksums | undefined {
  const index = blocks.findIndex(({ codec }) => codec === CHECKSUM_CODEC)
  if (index < 0) return undefined
  const { fileOffset, compressedBytes } = blocks[index]!
  const at = fileOffset - (dataBytes - before.length)
  return at < 0 ? undefined : decodeChecksums(before.subarray(at, at + compressedBytes), index)
}

function present<T>(bytes: T | undefined, file: string): T {
  if (bytes === undefined) throw new HyperslabError('NotFoundError', 'the file is gone', { file })
  return bytes
}
