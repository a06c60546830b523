import { HyperslabError } from '../../core/errors.ts'
import { kept } from '../../core/kept.ts'
import type { MetadataPages } from '../../engine/metadata-pages.ts'
import { damagedTiff, refuseTiff } from './errors.ts'
import { TIFF_LIMITS } from './limits.ts'

/** Bytes of the header of BigTIFF, the longer one. */
const HEADER_BYTES = 16

/** Sizes of the numbers of a directory, in bytes. */
interface Sizes {
  /** Number of entries. */
  readonly countBytes: number
  readonly entryBytes: number
  /** Counts and offsets. */
  readonly offsetBytes: number
}

const CLASSIC: Sizes = { countBytes: 2, entryBytes: 12, offsetBytes: 4 }
const BIG: Sizes = { countBytes: 8, entryBytes: 20, offsetBytes: 8 }

/** Bytes of a TIFF or BigTIFF file, and how its numbers are stored. */
export class TiffBytes {
  readonly size: number
  readonly isBigEndian: boolean
  readonly isBig: boolean
  readonly sizes: Sizes
  /** Position of the first directory. */
  readonly first: number
  readonly #pages: MetadataPages
  /** Views that are kept, by position and length. */
  readonly #kept = new Map<string, Promise<DataView>>()
  #keptBytes = 0

  /**
   * Reads the header.
   * @throws FormatError if it is not that of TIFF
   */
  static async open(pages: MetadataPages): Promise<TiffBytes> {
    return new TiffBytes(pages, await pages.read(0, Math.min(HEADER_BYTES, pages.size)))
  }

  private constructor(pages: MetadataPages, head: Uint8Array) {
    const { size } = pages
    this.size = size
    this.#pages = pages
    const mark = String.fromCharCode(...head.subarray(0, 2))
    if (head.length < 8) damagedTiff(`the file has ${size} bytes, fewer than the 8 of a header`, size)
    if (mark !== 'II' && mark !== 'MM') {
      const text = `not a TIFF file: it begins with ${JSON.stringify(mark)} instead of II or MM`
      throw new HyperslabError('FormatError', text, { actual: mark, expected: ['II', 'MM'] })
    }
    this.isBigEndian = mark === 'MM'
    const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
    const version = this.uint(view, 2, 2)
    if (version !== 42 && version !== 43) damagedTiff(`the version is ${version}`, version, [42, 43])
    this.isBig = version === 43
    this.sizes = this.isBig ? BIG : CLASSIC
    if (this.isBig && head.length < 16) damagedTiff(`the file has ${size} bytes, fewer than the 16 of a header of BigTIFF`, size)
    const offsetBytes = this.isBig ? this.uint(view, 4, 2) : 4
    if (this.isBig && offsetBytes !== 8)
      refuseTiff(`offsets of ${offsetBytes} bytes in BigTIFF are not supported`, offsetBytes, 8)
    this.first = this.uint(view, this.isBig ? 8 : 4, this.sizes.offsetBytes)
  }

  /**
   * Reads metadata that are kept. Directories may share them.
   * @param what structure that the error names
   * @throws FormatError if the bytes are not in the file, or all that is kept is too much
   */
  async keep(offset: number, length: number, what: string): Promise<DataView> {
    const read = async (): Promise<DataView> => {
      this.count(length)
      return copied(await this.view(offset, length, what))
    }
    return kept(this.#kept, `${offset} ${length}`, read, Infinity)
  }

  /**
   * Counts bytes that are kept.
   * @throws FormatError if they are too many
   */
  count(bytes: number): void {
    this.#keptBytes += bytes
    const most = TIFF_LIMITS.keptBytes
    if (this.#keptBytes > most) damagedTiff(`the directories and their tags have more than ${most} bytes`, this.#keptBytes, most)
  }

  /** Returns an unsigned number, which above 2^53 is not exact. */
  number(view: DataView, at: number, bytes: number): number {
    const little = !this.isBigEndian
    if (bytes === 2) return view.getUint16(at, little)
    if (bytes === 4) return view.getUint32(at, little)
    return bytes === 8 ? Number(view.getBigUint64(at, little)) : view.getUint8(at)
  }

  /** @throws FormatError for numbers above 2^53 */
  uint(view: DataView, at: number, bytes: number): number {
    const value = this.number(view, at, bytes)
    if (!Number.isSafeInteger(value)) damagedTiff(`an offset or count of ${value} exceeds 2^53`, value)
    return value
  }

  /**
   * Reads metadata.
   * @param what structure that the error names
   * @throws FormatError if the bytes are not in the file
   */
  async view(offset: number, length: number, what: string): Promise<DataView> {
    if (!(offset >= 0 && length >= 0 && offset + length <= this.size))
      damagedTiff(`${what} extends to byte ${offset + length}, but the file has ${this.size} bytes`, offset + length, this.size)
    if (length === 0) return new DataView(new ArrayBuffer(0))
    const bytes = await this.#pages.read(offset, length)
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }
}

/** Returns a view of its own bytes: others hold a page of the file. */
const copied = (view: DataView): DataView =>
  view.byteLength === view.buffer.byteLength
    ? view
    : new DataView(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength))
