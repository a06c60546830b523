import { crc32 } from '../../codec/checksums.ts'
import { ByteCache } from '../../core/byte-cache.ts'
import { HyperslabError, isHyperslabError, messageOf } from '../../core/errors.ts'
import { Limiter } from '../../core/limiter.ts'
import { Pace } from '../../core/pace.ts'
import type { Signal } from '../../core/signal.ts'
import { SingleFlight } from '../../core/single-flight.ts'
import type { ZipEntry } from './directory.ts'

/** Entries that are inflated at the same time, at most. */
const AT_ONCE = 4
/** Stored bytes that are handed over at once: they come to 64 MiB at most. */
const PIECE_BYTES = 64 * 1024
/** Deflate makes at most 1032 bytes of one, and of nothing a few bits. */
const MOST_RATIO = 1032
/** An empty block takes 5 bytes: what does not compress is longer by one for each 16 KiB, at most. */
const mostStored = (size: number): number => size + 5 * Math.ceil(size / 2 ** 14) + 1024

/** The contents of compressed entries that were read last, each as a whole. */
export class InflatedEntries {
  readonly #maxBytes: number
  readonly #cache: ByteCache<ZipEntry, Uint8Array>
  readonly #flights = new SingleFlight<ZipEntry, Uint8Array | undefined>()
  readonly #limiter: Limiter

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#cache = new ByteCache(maxBytes)
    this.#limiter = new Limiter(AT_ONCE, maxBytes)
  }

  clear(): void {
    this.#cache.clear()
  }

  /**
   * The content of an entry, which all who ask share: to be copied, and never changed.
   * @param read gives the stored bytes, or undefined where the archive is gone
   * @throws TooLargeError for more than may be kept; FormatError and CodecError for what is no such content;
   *   IntegrityError for a content of another checksum
   */
  async get(
    entry: ZipEntry,
    read: (signal: Signal) => Promise<Uint8Array | undefined>,
    signal: Signal | undefined,
  ): Promise<Uint8Array | undefined> {
    const known = this.#cache.get(entry)
    if (known !== undefined) return known
    this.#checkSizes(entry)
    const inflate = async (shared: Signal): Promise<Uint8Array | undefined> => {
      const stored = await read(shared)
      if (stored === undefined) return undefined
      const content = await inflated(stored, entry.size, shared)
      const actual = crc32(content)
      if (actual !== entry.crc) {
        const text = `its CRC-32 is ${hex(actual)}, that of the directory is ${hex(entry.crc)}: the archive is damaged`
        throw new HyperslabError('IntegrityError', text, { actual, expected: entry.crc })
      }
      this.#cache.set(entry, content)
      return content
    }
    const bytes = entry.size + entry.storedSize
    return this.#flights.share(entry, (shared) => this.#limiter.run(bytes, () => inflate(shared), shared), signal)
  }

  /** Nothing is allocated by sizes that cannot be true. */
  #checkSizes({ size, storedSize }: ZipEntry): void {
    if (size > MOST_RATIO * storedSize || storedSize > mostStored(size)) {
      const text = `${storedSize} compressed bytes are announced for ${size}, which deflate never makes: the archive is damaged`
      throw new HyperslabError('FormatError', text, { actual: storedSize, expected: size })
    }
    if (this.#cache.fits(size)) return
    const text = `the file is compressed, and its ${size} bytes are more than maxInflatedBytes, ${this.#maxBytes}; \
pack the archive without compression (zip -0), or unpack it`
    throw new HyperslabError('TooLargeError', text, { actual: size, expected: this.#maxBytes, limit: 'maxInflatedBytes' })
  }
}

const hex = (sum: number): string => sum.toString(16).padStart(8, '0')

/** Takes what is inflated, piece by piece. */
type Take = (piece: Uint8Array) => void

/** Exactly `size` bytes, of a stream of deflate without a frame. */
async function inflated(stored: Uint8Array, size: number, signal: Signal): Promise<Uint8Array> {
  const content = new Uint8Array(size)
  let length = 0
  const take: Take = (piece) => {
    if (length + piece.length > size) {
      const text = `the file inflates to more than the ${size} bytes that the directory announces: the archive is damaged`
      throw new HyperslabError('FormatError', text, { expected: size })
    }
    content.set(piece, length)
    length += piece.length
  }
  try {
    const stream = platformStream()
    await (stream === undefined ? inflatePortably(stored, take, signal) : inflateBy(stream, stored, take, signal))
  } catch (cause) {
    signal.throwIfAborted()
    if (isHyperslabError(cause)) throw cause
    throw new HyperslabError('CodecError', `malformed deflate stream: ${messageOf(cause)}`, { cause })
  }
  if (length === size) return content
  const text = `the file inflates to ${length} bytes, the directory announces ${size}: the archive is damaged`
  throw new HyperslabError('FormatError', text, { actual: length, expected: size })
}

/** What is used of a `DecompressionStream`, whose type needs the DOM library. */
interface InflatingStream {
  readonly writable: {
    getWriter(): { write(bytes: Uint8Array): Promise<void>; close(): Promise<void>; abort(reason?: unknown): Promise<void> }
  }
  readonly readable: {
    getReader(): { read(): Promise<{ done: boolean; value?: Uint8Array }>; cancel(reason?: unknown): Promise<void> }
  }
}

declare const DecompressionStream: (new (format: string) => object) | undefined

/** Undefined where the platform has none, or none without a frame. */
function platformStream(): InflatingStream | undefined {
  if (typeof DecompressionStream === 'undefined') return undefined
  try {
    return new DecompressionStream('deflate-raw') as InflatingStream
  } catch {
    return undefined
  }
}

async function inflateBy({ writable, readable }: InflatingStream, stored: Uint8Array, take: Take, signal: Signal): Promise<void> {
  const writer = writable.getWriter()
  const reader = readable.getReader()
  const write = async (): Promise<void> => {
    for (const piece of piecesOf(stored)) await writer.write(piece)
    await writer.close()
  }
  const written = write()
  // A failure is reported by the side that reads.
  written.catch(() => undefined)
  try {
    for (;;) {
      signal.throwIfAborted()
      const { done, value } = await reader.read()
      if (done) break
      take(value!)
    }
    await written
  } catch (error) {
    reader.cancel(error).catch(() => undefined)
    writer.abort(error).catch(() => undefined)
    throw error
  }
}

async function inflatePortably(stored: Uint8Array, take: Take, signal: Signal): Promise<void> {
  const { Inflate } = await import('fflate')
  const stream = new Inflate(take)
  const pace = new Pace()
  let end = 0
  for (const piece of piecesOf(stored)) {
    signal.throwIfAborted()
    end += piece.length
    stream.push(piece, end === stored.length)
    if (pace.due()) await pace.turn()
  }
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}
