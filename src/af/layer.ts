import { HyperslabError, within } from '../core/errors.js'
import type { Signal } from '../core/signal.js'
import { type ByteRange, type ObjectInfo, readTail, type Store, type StoreOptions, type Tail } from '../store/store.js'
import type { BlockOrigin, BlockRef } from './block.js'
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
  readonly #store: Store

  /** @param info the version of the file that has this footer */
  constructor(store: Store, key: string, number: number, info: ObjectInfo, footer: Footer) {
    this.#store = store
    this.number = number
    this.key = key
    this.file = store.describe(key)
    this.info = info
    this.footer = footer
    this.arrays = new Map(footer.arrays.map((meta) => [meta.name, meta]))
    const blocks = new Map<number, BlockRef>()
    for (const { codec, ...block } of footer.blocks) {
      if (!blocks.has(block.id)) blocks.set(block.id, { ...block, codec: codec ?? 'none', origin: this })
    }
    this.blocks = blocks
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
      const payload = await footerIn(store, key, tail, limits.footerBytes, options)
      const footer = decodeFooter(payload, limits.typeDepth)
      checkFooter(footer, info.size - TRAILER_BYTES - payload.length)
      return new Layer(store, key, number, info, footer)
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

  /** Bytes of blocks, stored and decoded. */
  get blockBytes(): { compressed: number; uncompressed: number } {
    let compressed = 0
    let uncompressed = 0
    for (const block of this.blocks.values()) {
      compressed += block.compressedBytes
      uncompressed += block.uncompressedBytes
    }
    return { compressed, uncompressed }
  }
}

/** The payload in front of the trailer, which is the last thing in the file. */
async function footerIn(
  store: Store,
  key: string,
  { bytes, size, etag }: Tail,
  limit: number,
  options: StoreOptions,
): Promise<Uint8Array> {
  const inTail = Math.max(0, bytes.length - TRAILER_BYTES)
  const footerBytes = readTrailer(bytes.subarray(inTail), FOOTER_MAGIC, size)
  if (footerBytes > limit) {
    const text = `a footer of ${footerBytes} bytes is more than limits.footerBytes, ${limit}`
    throw new HyperslabError('FormatError', text, { actual: footerBytes, expected: limit })
  }
  if (footerBytes <= inTail) return bytes.subarray(inTail - footerBytes, inTail)
  const offset = size - TRAILER_BYTES - footerBytes
  const missing = await store.getRange(key, offset, footerBytes - inTail, { ...options, ifMatch: etag })
  const footer = new Uint8Array(footerBytes)
  footer.set(present(missing, store.describe(key)))
  footer.set(bytes.subarray(0, inTail), footerBytes - inTail)
  return footer
}

function present<T>(bytes: T | undefined, file: string): T {
  if (bytes === undefined) throw new HyperslabError('NotFoundError', 'the file is gone', { file })
  return bytes
}
