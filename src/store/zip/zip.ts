import { HyperslabError, isHyperslabError, within } from '../../core/errors.ts'
import { counted } from '../../core/inspect.ts'
import { KeyIndex } from '../../core/keys.ts'
import { type Checks, checkOptions, checkValue } from '../../core/options.ts'
import type { Signal } from '../../core/signal.ts'
import { SingleFlight } from '../../core/single-flight.ts'
import {
  type ByteRange,
  changed,
  endsBefore,
  type ListOptions,
  type ObjectInfo,
  type ObjectTail,
  type RangeOptions,
  readTail,
  type Store,
  type StoreOptions,
  type WholeOptions,
} from '../store.ts'
import { checkWhole } from '../whole.ts'
import { contentOffset, findDirectory, LOCAL_HEADER_BYTES, readDirectory, ZIP_TAIL_BYTES, type ZipEntry } from './directory.ts'
import type { InflatedEntries } from './inflated.ts'

/** Options of {@link ZipStore}. */
export interface ZipOptions {
  /** Store that contains the archive. */
  readonly store: Store
  /** Key of the archive in `store`. */
  readonly path: string
  /** Largest central directory that is read, in bytes. Default: 64 MiB. An entry takes about 100 bytes. */
  readonly maxDirectoryBytes?: number
  /**
   * Maximum size in bytes of compressed files that are kept inflated. Default: 256 MiB. A larger file is
   * refused. While files are inflated, up to twice as much memory is used.
   */
  readonly maxInflatedBytes?: number
}

const CHECKS: Checks<ZipOptions> = {
  store: 'Store',
  path: 'string',
  maxDirectoryBytes: 'number from 0',
  maxInflatedBytes: 'number from 0',
}

/** One version of the archive. */
interface Archive extends ObjectInfo {
  readonly entries: ReadonlyMap<string, ZipEntry>
  /** Names of the files in order. Created by the first listing. */
  keys?: KeyIndex
  readonly directoryOffset: number
  /** Offsets of the content of entries whose local header was read. */
  readonly offsets: Map<ZipEntry, number>
}

interface Content extends ObjectInfo {
  readonly entry: ZipEntry
  readonly file: string
  /** Offset in the archive. */
  readonly offset: number
  /** Version of the archive. */
  readonly version: string
  /** The whole content, if it had to be inflated. */
  readonly bytes?: Uint8Array
}

const MIB = 2 ** 20
/** Bytes for the extra fields of a local header, enough for most. Larger ones cost another read. */
const EXTRA_BYTES = 64
/** Number of times a read starts again after the archive was replaced. */
const VERSION_RETRIES = 3
const ENCRYPTED = 1
const DEFLATE = 8
const METHODS: Record<number, string> = { 9: 'deflate64', 12: 'bzip2', 14: 'lzma', 93: 'zstd', 95: 'xz' }

/**
 * Read-only store of the files in a zip archive, which is in another store. Keys are the names in the
 * archive. Files that are stored, not compressed (`zip -0`), are read in place: a range of a file is a range
 * of the archive. Deflated files are inflated as a whole, checked by their CRC-32, and kept up to
 * `maxInflatedBytes`; `warnings` reports this.
 *
 * The directory is read once, and again when a read, a `stat` or a `getTail` finds that the archive was
 * replaced. Until then, added files are not noticed. The version of a file is that of the archive. Stored
 * files are compared with their CRC-32 if they are read whole; ranges of them are not.
 *
 * Every read can throw NotFoundError (no archive), FormatError (not a zip archive, or a damaged one) and
 * UnsupportedError. UnsupportedError is for archives in several parts, for too large directories, and for
 * files that are encrypted or compressed by another method. Reads of whole files can throw IntegrityError,
 * and reads of deflated files CodecError and TooLargeError, too.
 */
export class ZipStore implements Store {
  readonly getRanges?: NonNullable<Store['getRanges']>
  readonly #store: Store
  readonly #path: string
  readonly #file: string
  readonly #maxDirectoryBytes: number
  readonly #opening = new SingleFlight<string, Archive>()
  readonly #locating = new SingleFlight<ZipEntry, number>()
  readonly #maxInflatedBytes: number
  #archive: Archive | undefined
  #inflated: InflatedEntries | undefined

  /** @throws InvalidArgumentError for invalid options */
  constructor(options: ZipOptions) {
    checkOptions('ZipStore', options, CHECKS)
    checkValue('ZipStore', 'store', Object(options).store, 'Store')
    checkValue('ZipStore', 'path', options.path, 'string')
    const { store, path, maxDirectoryBytes = 64 * MIB, maxInflatedBytes = 256 * MIB } = options
    this.#store = store
    this.#path = path
    this.#file = store.describe(path)
    this.#maxDirectoryBytes = maxDirectoryBytes
    this.#maxInflatedBytes = maxInflatedBytes
    // Only useful if the archive's store reads several ranges together.
    if (store.getRanges !== undefined) this.getRanges = (...args) => this.#getRanges(...args)
  }

  describe(key: string): string {
    return `${this.#file}/${key}`
  }

  async stat(key: string, { signal }: StoreOptions = {}): Promise<ObjectInfo | undefined> {
    const known = this.#archive
    if (known !== undefined) {
      const now = await this.#store.stat(this.#path, { signal })
      if (now?.etag !== known.etag) this.#forget(known)
    }
    const archive = await this.#open(signal)
    const entry = this.#find(archive, key)
    return entry && entryInfo(archive, entry)
  }

  async getRange(key: string, offset: number, length: number, options: RangeOptions = {}): Promise<Uint8Array | undefined> {
    return (await this.#getRanges(key, [{ offset, length }], options))?.[0]
  }

  async getTail(key: string, length: number, options: StoreOptions = {}): Promise<ObjectTail | undefined> {
    return this.#read(key, options, async ({ entry, size, etag, offset, version, bytes: content }) => {
      const wanted = Math.min(length, size)
      if (content !== undefined) return { size, etag, bytes: content.slice(size - wanted) }
      const pinned = { signal: options.signal, ifMatch: version }
      const bytes = await this.#store.getRange(this.#path, offset + size - wanted, wanted, pinned)
      if (bytes !== undefined && wanted === size) await this.#checked(entry, bytes, options.signal)
      return bytes && { size, etag, bytes }
    })
  }

  /** Reads local header and content together, unless the content is further away. */
  async get(key: string, { maxBytes, signal }: WholeOptions = {}): Promise<ObjectTail | undefined> {
    return this.#readEntry(key, { signal }, async (archive, entry) => {
      const { size, etag } = entryInfo(archive, entry)
      checkWhole(this.describe(key), size, maxBytes)
      if (entry.method === DEFLATE) {
        const content = await this.#inflate(archive, entry, signal)
        return content && { size, etag, bytes: content.slice() }
      }
      const content = await this.#readStored(archive, entry, signal)
      return content && { size, etag, bytes: await this.#checked(entry, content, signal) }
    })
  }

  /**
   * Returns the content of a stored file, after it was compared with its checksum.
   * @throws IntegrityError
   */
  async #checked(entry: ZipEntry, content: Uint8Array, signal: Signal | undefined): Promise<Uint8Array> {
    const { checkEntry } = await import('./check-entry.ts')
    await within({ file: this.describe(entry.name) }, () => checkEntry(entry, content, signal))
    return content
  }

  /** Reads the stored bytes of a file. */
  async #readStored(archive: Archive, entry: ZipEntry, signal: Signal | undefined): Promise<Uint8Array | undefined> {
    const { storedSize, nameBytes, headerOffset } = entry
    const pinned = { signal, ifMatch: archive.etag }
    const start = archive.offsets.get(entry) ?? headerOffset
    const most = LOCAL_HEADER_BYTES + nameBytes.length + EXTRA_BYTES + storedSize
    const end = start === headerOffset ? Math.min(start + most, archive.directoryOffset) : start + storedSize
    const read = await this.#store.getRange(this.#path, start, end - start, pinned)
    if (read === undefined || start !== headerOffset) return read
    const offset = await within({ file: this.describe(entry.name) }, async () => this.#contentStart(archive, entry, read))
    return offset + storedSize <= end
      ? read.slice(offset - start, offset - start + storedSize)
      : this.#store.getRange(this.#path, offset, storedSize, pinned)
  }

  /** Returns the content of a deflated file, which other callers share. */
  async #inflate(archive: Archive, entry: ZipEntry, signal: Signal | undefined): Promise<Uint8Array | undefined> {
    const { InflatedEntries } = await import('./inflated.ts')
    this.#inflated ??= new InflatedEntries(this.#maxInflatedBytes)
    const inflated = this.#inflated
    return within({ file: this.describe(entry.name) }, () =>
      inflated.get(entry, (shared) => this.#readStored(archive, entry, shared), signal),
    )
  }

  /** Returns a warning with the cost of reading compressed files below a prefix, if there are any. */
  async warnings(prefix: string, { signal }: StoreOptions = {}): Promise<string[]> {
    const { entries } = await this.#open(signal)
    let [files, compressed, bytes, largest] = [0, 0, 0, 0]
    for (const { name, method, size } of entries.values()) {
      if (!name.startsWith(prefix)) continue
      files++
      if (method === 0) continue
      compressed++
      bytes += size
      largest = Math.max(largest, size)
    }
    if (compressed === 0) return []
    return [
      `${this.#file} compresses ${compressed} of ${counted(files, 'file')} (${bytes} bytes, ${largest} the largest): to read any part of \
one, all of it is fetched and inflated. At most ${this.#maxInflatedBytes} bytes are kept, and what had to go is inflated again. \
Pack the archive without compression (zip -0) to read files in place`,
    ]
  }

  /** Lists keys. Compressed files are included, because ignoring existing files could give wrong values. */
  async list(prefix: string, { signal, shallow }: ListOptions = {}): Promise<string[]> {
    const archive = await this.#open(signal)
    archive.keys ??= new KeyIndex(archive.entries.keys())
    return archive.keys.below(prefix, shallow)
  }

  /** Closes the store that contains the archive. */
  async close(): Promise<void> {
    await this.#store.close?.()
  }

  #getRanges(key: string, ranges: readonly ByteRange[], options: RangeOptions = {}): Promise<Uint8Array[] | undefined> {
    return this.#read(key, options, async (content) => {
      const inArchive = rangesIn(content, ranges)
      const { bytes } = content
      if (bytes !== undefined) return ranges.map(({ offset, length }) => bytes.slice(offset, offset + length))
      const pinned = { signal: options.signal, ifMatch: content.version }
      const found = await this.#fetch(inArchive, pinned)
      // A range of the whole file can be compared with its checksum.
      for (const each of found ?? []) if (each.length === content.size) await this.#checked(content.entry, each, options.signal)
      return found
    })
  }

  /** Reads ranges of the archive, together where its store does that. */
  async #fetch(ranges: readonly ByteRange[], options: RangeOptions): Promise<Uint8Array[] | undefined> {
    if (ranges.length !== 1) return this.#store.getRanges!(this.#path, ranges, options)
    const bytes = await this.#store.getRange(this.#path, ranges[0]!.offset, ranges[0]!.length, options)
    return bytes && [bytes]
  }

  #read<T>(key: string, options: RangeOptions, read: (content: Content) => Promise<T | undefined>): Promise<T | undefined> {
    return this.#readEntry(key, options, async (archive, entry) => {
      const known = { ...entryInfo(archive, entry), entry, file: this.describe(key), version: archive.etag }
      if (entry.method !== DEFLATE) return read({ ...known, offset: await this.#locate(archive, entry, options.signal) })
      const bytes = await this.#inflate(archive, entry, options.signal)
      return bytes && read({ ...known, offset: 0, bytes })
    })
  }

  /** Runs `read` on one version of the archive: the version `ifMatch`, or else the newest. */
  async #readEntry<T>(
    key: string,
    { ifMatch, signal }: RangeOptions,
    read: (archive: Archive, entry: ZipEntry) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    for (let left = VERSION_RETRIES; ; left--) {
      const archive = await this.#open(signal)
      const entry = this.#find(archive, key)
      if (entry === undefined) return undefined
      const file = this.describe(key)
      if (ifMatch !== undefined && ifMatch !== entryInfo(archive, entry).etag) throw changed(file)
      try {
        const result = await read(archive, entry)
        if (result !== undefined) return result
        if (left === 0) throw this.#gone()
      } catch (error) {
        if (!isHyperslabError(error, 'ConflictError')) throw error
        if (ifMatch !== undefined || left === 0) throw changed(file)
      }
      this.#forget(archive)
    }
  }

  /**
   * Returns the entry of a name.
   * @throws UnsupportedError or FormatError if it cannot be read
   */
  #find({ entries, directoryOffset }: Archive, key: string): ZipEntry | undefined {
    const entry = entries.get(key)
    if (entry === undefined) return undefined
    const { flags, method, disk, size, storedSize, headerOffset } = entry
    const file = this.describe(key)
    const unsupported = (text: string): HyperslabError => new HyperslabError('UnsupportedError', text, { file, actual: method })
    if ((flags & ENCRYPTED) !== 0) throw unsupported('encrypted; decrypt it, and pack it without compression (zip -0)')
    if (method !== 0 && method !== DEFLATE)
      throw unsupported(`${METHODS[method] ?? `compression method ${method}`}; only stored and deflated entries can be read`)
    if (disk !== 0) throw unsupported('in another part of an archive in several parts; only one file can be read')
    if (method === 0 && size !== storedSize) {
      const text = `not compressed, but ${storedSize} bytes stored for ${size}: the archive is damaged`
      throw new HyperslabError('FormatError', text, { file, actual: storedSize, expected: size })
    }
    this.#checkEnd(key, headerOffset + LOCAL_HEADER_BYTES + entry.nameBytes.length + storedSize, directoryOffset)
    return entry
  }

  #checkEnd(key: string, end: number, directoryOffset: number): void {
    if (end <= directoryOffset) return
    const text = `ends at byte ${end} of the archive, but its directory begins at ${directoryOffset}: the archive is damaged`
    throw new HyperslabError('FormatError', text, { file: this.describe(key), actual: end, expected: directoryOffset })
  }

  /** Returns the archive with its directory, which concurrent callers read once. */
  async #open(signal: Signal | undefined): Promise<Archive> {
    this.#archive ??= await within({ file: this.#file }, () =>
      this.#opening.share('', (shared) => this.#readArchive(shared), signal),
    )
    return this.#archive
  }

  #forget(archive: Archive): void {
    if (this.#archive !== archive) return
    this.#archive = undefined
    this.#inflated?.clear()
  }

  async #readArchive(signal: Signal): Promise<Archive> {
    const tail = this.#present(await readTail(this.#store, this.#path, ZIP_TAIL_BYTES, { signal }))
    const { size, etag, bytes } = tail
    const place = findDirectory(bytes, size)
    const { offset, length } = place
    if (length > this.#maxDirectoryBytes) {
      const text = `a central directory of ${length} bytes is more than \`maxDirectoryBytes\`, ${this.#maxDirectoryBytes}`
      throw new HyperslabError('UnsupportedError', text, { actual: length, expected: this.#maxDirectoryBytes })
    }
    const inTail = offset - (size - bytes.length)
    const directory =
      inTail >= 0
        ? bytes.subarray(inTail, inTail + length)
        : this.#present(await this.#store.getRange(this.#path, offset, length, { signal, ifMatch: etag }))
    return { size, etag, directoryOffset: offset, entries: readDirectory(directory, place), offsets: new Map() }
  }

  #present<T>(bytes: T | undefined): T {
    if (bytes === undefined) throw this.#gone()
    return bytes
  }

  #gone(): HyperslabError {
    return new HyperslabError('NotFoundError', 'there is no such archive', { file: this.#file })
  }

  /** Returns the offset of the content of a file. The local header is read once. */
  async #locate(archive: Archive, entry: ZipEntry, signal: Signal | undefined): Promise<number> {
    const known = archive.offsets.get(entry)
    if (known !== undefined) return known
    const { name, nameBytes, headerOffset } = entry
    const locate = async (shared: Signal): Promise<number> => {
      const length = LOCAL_HEADER_BYTES + nameBytes.length
      const pinned = { signal: shared, ifMatch: archive.etag }
      const header = this.#present(await this.#store.getRange(this.#path, headerOffset, length, pinned))
      return this.#contentStart(archive, entry, header)
    }
    return within({ file: this.describe(name) }, () => this.#locating.share(entry, locate, signal))
  }

  /** @param header local header, maybe with further bytes */
  #contentStart(archive: Archive, entry: ZipEntry, header: Uint8Array): number {
    const offset = entry.headerOffset + contentOffset(header, entry)
    this.#checkEnd(entry.name, offset + entry.storedSize, archive.directoryOffset)
    archive.offsets.set(entry, offset)
    return offset
  }
}

const entryInfo = ({ etag }: Archive, { size, crc, headerOffset }: ZipEntry): ObjectInfo => ({
  size,
  etag: `${etag} ${crc.toString(16)}@${headerOffset}`,
})

/** @throws FormatError if a range exceeds the file */
function rangesIn({ file, size, offset: start }: Content, ranges: readonly ByteRange[]): ByteRange[] {
  const end = ranges.reduce((most, { offset, length }) => Math.max(most, offset + length), 0)
  if (end > size) throw endsBefore(file, size, end)
  return ranges.map(({ offset, length }) => ({ offset: start + offset, length }))
}
