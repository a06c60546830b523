import { joinBytes } from '../core/bytes.ts'
import { HyperslabError } from '../core/errors.ts'
import { readOnce } from '../core/kept.ts'
import { yieldToEventLoop } from '../core/pace.ts'
import type { ByteRange, ObjectStart } from '../store/store.ts'

/** Bytes of pages that are kept, beside the ends of the file. */
const MOST_BYTES = 64 * 1024 * 1024
/** Longest request of metadata, in bytes. */
const MOST_JOINED_BYTES = 1024 * 1024
/** Distance of pages that are read together, in bytes: about as expensive as another request. */
const GAP_BYTES = 32 * 1024

/** Pages that are waited for. */
type Waiting = Map<number, { resolve(bytes: Uint8Array): void; reject(error: unknown): void }>

/** Reads exactly these bytes of one version of the file. */
export type RangeReader = (offset: number, length: number) => Promise<Uint8Array>

/** Sizes by which the metadata of a format are read. */
export interface PageOptions {
  /** Metadata is read and kept in pages of this size. */
  readonly pageBytes: number
  /** Files up to this size are read with one more request as soon as their ends are not enough. */
  readonly smallBytes: number
  /**
   * Whether the pages before and behind requested ones are read with them. For formats whose structures refer
   * to others near them.
   */
  readonly withNeighbours: boolean
}

/**
 * Metadata of a file, read in pages. Reads that are made in one turn of the event loop become few requests:
 * pages that are near each other are read together.
 */
export class MetadataPages {
  readonly size: number
  #head: Uint8Array
  readonly #tail: Uint8Array
  readonly #readRange: RangeReader
  readonly #options: PageOptions
  readonly #pages = new Map<number, Promise<Uint8Array>>()
  #waiting: Waiting = new Map()

  /** Reads the bytes between the ends of the file, which then holds it whole. */
  readonly #readRest = readOnce(async () => {
    const offset = this.#head.length
    const rest = await this.#readRun({ offset, length: this.size - this.#tail.length - offset })
    this.#head = joinBytes([this.#head, rest, this.#tail])
  })

  /** @param start first bytes of the file, and last bytes if they are known */
  constructor({ size, bytes, tail = new Uint8Array() }: ObjectStart, readRange: RangeReader, options: PageOptions) {
    this.size = size
    this.#options = options
    this.#readRange = readRange
    this.#tail = tail
    const overlap = bytes.length + tail.length - size
    this.#head = overlap < 0 || bytes.length === size ? bytes : joinBytes([bytes, tail.subarray(overlap)])
  }

  /**
   * Returns bytes that the first answers had, or that come with the rest of a small file. Undefined for
   * others, which need a request of their own. The result must not be changed.
   */
  held(start: number, length: number): Uint8Array | Promise<Uint8Array> | undefined {
    const end = start + length
    if (end <= this.#head.length) return this.#head.subarray(start, end)
    const tailStart = this.size - this.#tail.length
    if (start >= tailStart && end <= this.size) return this.#tail.subarray(start - tailStart, end - tailStart)
    if (this.size > this.#options.smallBytes || end > this.size) return undefined
    return this.#readRest().then(() => this.#head.subarray(start, end))
  }

  /** Reads bytes of the file, which must have them. The result must not be changed. */
  read(start: number, length: number): Promise<Uint8Array> | Uint8Array {
    return this.held(start, length) ?? this.#readPages(start, start + length)
  }

  async #readPages(start: number, end: number): Promise<Uint8Array> {
    const { pageBytes } = this.#options
    const first = Math.floor(start / pageBytes)
    const last = Math.floor((end - 1) / pageBytes)
    const pages = await Promise.all(Array.from({ length: last - first + 1 }, (_, i) => this.#page(first + i)))
    const from = start - first * pageBytes
    if (pages.length === 1) return pages[0]!.subarray(from, from + end - start)
    const bytes = new Uint8Array(end - start)
    pages.forEach((page, i) => {
      const at = i * pageBytes - from
      bytes.set(page.subarray(Math.max(0, -at), end - start - at), Math.max(0, at))
    })
    return bytes
  }

  #page(number: number): Promise<Uint8Array> {
    const known = this.#pages.get(number)
    if (known !== undefined) {
      // Least recently used first.
      this.#pages.delete(number)
      this.#pages.set(number, known)
      return known
    }
    // Other readers of this turn join the request. A timer would wait for 1 to 4 ms.
    if (this.#waiting.size === 0) void yieldToEventLoop().then(() => this.#request())
    return this.#expectPage(number, this.#waiting)
  }

  /** Keeps a page that is about to be read. */
  #expectPage(number: number, waiting: Waiting): Promise<Uint8Array> {
    const page = new Promise<Uint8Array>((resolve, reject) => waiting.set(number, { resolve, reject }))
    page.catch(() => this.#pages.delete(number))
    this.#pages.set(number, page)
    if (this.#pages.size > MOST_BYTES / this.#options.pageBytes) this.#pages.delete(this.#pages.keys().next().value!)
    return page
  }

  /**
   * Adds the pages before and behind a run of pages, unless they are known: structures end behind the page
   * that they begin in, and lie near the next ones. Another round trip is more expensive.
   */
  #addNeighbours(run: number[], waiting: Waiting): void {
    const { pageBytes } = this.#options
    const isLacking = (page: number): boolean => {
      const start = page * pageBytes
      const end = Math.min(this.size, start + pageBytes)
      return (
        start < end && page >= 0 && end > this.#head.length && start < this.size - this.#tail.length && !this.#pages.has(page)
      )
    }
    const [before, behind] = [run[0]! - 1, run.at(-1)! + 1]
    if (isLacking(before)) run.unshift(before)
    if (isLacking(behind)) run.push(behind)
    for (const page of [before, behind]) if (run.includes(page)) void this.#expectPage(page, waiting)
  }

  /** Requests all pages that are waited for. */
  #request(): void {
    const { pageBytes, withNeighbours } = this.#options
    const [mostGap, mostJoined] = [GAP_BYTES / pageBytes, MOST_JOINED_BYTES / pageBytes]
    const waiting = this.#waiting
    this.#waiting = new Map()
    const numbers = [...waiting.keys()].sort((a, b) => a - b)
    for (let i = 0; i < numbers.length; ) {
      const run = [numbers[i++]!]
      while (i < numbers.length && numbers[i]! - run.at(-1)! <= mostGap && numbers[i]! - run[0]! < mostJoined)
        run.push(numbers[i++]!)
      if (withNeighbours) this.#addNeighbours(run, waiting)
      const offset = run[0]! * pageBytes
      const range = { offset, length: Math.min(this.size, (run.at(-1)! + 1) * pageBytes) - offset }
      void this.#readRun(range).then(
        (bytes) => {
          for (const page of run) {
            const at = page * pageBytes - offset
            waiting.get(page)!.resolve(bytes.slice(at, at + pageBytes))
          }
        },
        (error) => {
          for (const page of run) waiting.get(page)!.reject(error)
        },
      )
    }
  }

  async #readRun({ offset, length }: ByteRange): Promise<Uint8Array> {
    const bytes = await this.#readRange(offset, length)
    if (bytes.length === length) return bytes
    const text = `reading ${length} bytes at byte ${offset} returned ${bytes.length}`
    throw new HyperslabError('FormatError', text, { actual: bytes.length, expected: length })
  }
}
