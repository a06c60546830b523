import { HyperslabError, within } from '../core/errors.js'
import type { Signal } from '../core/signal.js'
import type { ObjectInfo, Store, StoreOptions } from '../store/store.js'
import type { BlockOrigin, BlockRef } from './block.js'
import { type ArrayMeta, decodeFooter, FOOTER_MAGIC, type Footer, readTrailer, TRAILER_BYTES } from './footer.js'
import { checkFooter } from './footer-check.js'

/** Read from the end of a file at once: enough for the footers of most. */
const TAIL_BYTES = 64 * 1024
/** A footer describes chunks in some 40 bytes each; more than this is damage, not data. */
const MAX_FOOTER_BYTES = 2 ** 31

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
  }

  /**
   * Opens a layer in two range reads at most.
   * @throws FormatError when the file is not an `.af` file or damaged; NotFoundError when there is none
   */
  static async open(store: Store, key: string, number: number, options: StoreOptions = {}): Promise<Layer> {
    const file = store.describe(key)
    return within({ file }, async () => {
      const info = await store.stat(key, options)
      if (info === undefined) throw new HyperslabError('NotFoundError', 'there is no such file')
      const payload = await readFooter(store, key, info, options)
      const footer = decodeFooter(payload)
      checkFooter(footer, info.size - TRAILER_BYTES - payload.length)
      return new Layer(store, key, number, info, footer)
    })
  }

  async read(offset: number, length: number, signal?: Signal): Promise<Uint8Array> {
    const bytes = await this.#store.getRange(this.key, offset, length, { signal, ifMatch: this.info.etag })
    if (bytes === undefined) throw new HyperslabError('NotFoundError', 'the file is gone', { file: this.file })
    return bytes
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
async function readFooter(store: Store, key: string, info: ObjectInfo, options: StoreOptions): Promise<Uint8Array> {
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    const bytes = await store.getRange(key, offset, length, { ...options, ifMatch: info.etag })
    if (bytes === undefined) throw new HyperslabError('NotFoundError', 'the file is gone')
    return bytes
  }
  const tailBytes = Math.min(info.size, TAIL_BYTES)
  const tail = await read(info.size - tailBytes, tailBytes)
  const inTail = Math.max(0, tailBytes - TRAILER_BYTES)
  const footerBytes = readTrailer(tail.subarray(inTail), FOOTER_MAGIC, info.size)
  if (footerBytes > MAX_FOOTER_BYTES) {
    throw new HyperslabError(
      'FormatError',
      `a footer of ${footerBytes} bytes is more than the ${MAX_FOOTER_BYTES} this package takes on`,
      {
        actual: footerBytes,
      },
    )
  }
  if (footerBytes <= inTail) return tail.subarray(inTail - footerBytes, inTail)
  const footer = new Uint8Array(footerBytes)
  footer.set(await read(info.size - TRAILER_BYTES - footerBytes, footerBytes - inTail))
  footer.set(tail.subarray(0, inTail), footerBytes - inTail)
  return footer
}
