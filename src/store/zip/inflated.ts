import { ByteCache } from '../../core/byte-cache.ts'
import { HyperslabError, isHyperslabError, messageOf } from '../../core/errors.ts'
import { Limiter } from '../../core/limiter.ts'
import { Pace } from '../../core/pace.ts'
import type { Signal } from '../../core/signal.ts'
import { SingleFlight } from '../../core/single-flight.ts'
import { checkEntry } from './check-entry.ts'
import type { ZipEntry } from './directory.ts'

/** Maximum number of entries inflated concurrently. */
const AT_ONCE = 4
/** Number of stored bytes passed on at a time. They inflate to at most 64 MiB. */
const PIECE_BYTES = 64 * 1024
/** Maximum ratio of inflated to stored bytes in Deflate. */
const MOST_RATIO = 1032
/**
 * Returns the maximum stored size. An empty block takes 5 bytes, and incompressible data grow by one such
 * block for each 16 KiB at most.
 */
const mostStored = (size: number): number => size + 5 * Math.ceil(size / 2 ** 14) + 1024

/** Cache of the most recently read contents of compressed entries, each as a whole. */
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
   * Returns the content of an entry. All callers share it, so they copy it and never change it.
   * @param read returns the stored bytes, or undefined if the archive no longer exists
   * @throws TooLargeError for an entry above the limit; FormatError and CodecError for damaged content;
   *   IntegrityError for a wrong checksum
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
      await checkEntry(entry, content, shared)
      this.#cache.set(entry, content)
      return content
    }
    const bytes = entry.size + entry.storedSize
    return this.#flights.share(entry, (shared) => this.#limiter.run(bytes, () => inflate(shared), shared), signal)
  }

  /** Refuses impossible sizes before anything is allocated. */
  #checkSizes({ size, storedSize }: ZipEntry): void {
    if (size > MOST_RATIO * storedSize || storedSize > mostStored(size)) {
      const text = `${storedSize} compressed bytes are announced for ${size}, which deflate never makes: the archive is damaged`
      throw new HyperslabError('FormatError', text, { actual: storedSize, expected: size })
    }
    if (this.#cache.fits(size)) return
    const text = `the file is compressed, and its ${size} bytes are more than \`maxInflatedBytes\`, ${this.#maxBytes}; \
pack the archive without compression (zip -0), or unpack it`
    throw new HyperslabError('TooLargeError', text, { actual: size, expected: this.#maxBytes, limit: 'maxInflatedBytes' })
  }
}

/** Receives the inflated bytes, piece by piece. */
type Take = (piece: Uint8Array) => void

/** Inflates a raw deflate stream to exactly `size` bytes. */
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

/** The used members of a `DecompressionStream`, whose type needs the DOM library. */
interface InflatingStream {
  readonly writable: {
    getWriter(): { write(bytes: Uint8Array): Promise<void>; close(): Promise<void>; abort(reason?: unknown): Promise<void> }
  }
  readonly readable: {
    getReader(): { read(): Promise<{ done: boolean; value?: Uint8Array }>; cancel(reason?: unknown): Promise<void> }
  }
}

declare const DecompressionStream: (new (format: string) => object) | undefined

/** Returns the platform's stream; undefined if it has none for raw deflate. */
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
    for (const piece of walkPieces(stored)) await writer.write(piece)
    await writer.close()
  }
  const written = write()
  // A failure is reported by the reading side.
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
  for (const piece of walkPieces(stored)) {
    signal.throwIfAborted()
    end += piece.length
    stream.push(piece, end === stored.length)
    if (pace.due()) await pace.turn()
  }
}

function* walkPieces(bytes: Uint8Array): Generator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}
