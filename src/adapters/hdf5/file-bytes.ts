import { joinBytes } from '../../core/bytes.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { ByteRange, ObjectStart } from '../../store/store.ts'
import { Cursor, damaged, type Sizes } from './cursor.ts'
import { readOnce } from './kept.ts'
import { LIMITS } from './limits.ts'
import { checkSum } from './lookup3.ts'

/** Metadata is read and kept in pages of this size. */
const PAGE_BYTES = 8 * 1024
/** Pages that are kept, beside the head of the file. */
const MAX_PAGES = 8192
/** Longest request of metadata, in pages. */
const MOST_JOINED = 128
/** Distance of pages that are read together, in pages: about as expensive as another request. */
const MOST_GAP = 4

/** Files up to this size are read with one more request as soon as their ends are not enough. */
const SMALL_BYTES = 1024 * 1024

/** Pages that are waited for. */
type Waiting = Map<number, { resolve(bytes: Uint8Array): void; reject(error: unknown): void }>

/** Reads exactly these bytes of one version of the file. */
export type RangeReader = (offset: number, length: number) => Promise<Uint8Array>

/**
 * Metadata of a file, read in pages. Reads that are made in one turn of the event loop become few requests:
 * pages that are near each other are read together.
 */
export class FileBytes {
  readonly size: number
  /** Position of the superblock, which all addresses count from. */
  base = 0
  sizes: Sizes = { offsets: 8, lengths: 8 }
  #head: Uint8Array
  readonly #tail: Uint8Array
  readonly #readRange: RangeReader
  readonly #pages = new Map<number, Promise<Uint8Array>>()
  #waiting: Waiting = new Map()

  /** Reads the bytes between the ends of the file, which then holds it whole. */
  readonly #readRest = readOnce(async () => {
    const offset = this.#head.length
    const rest = await this.#readRun({ offset, length: this.size - this.#tail.length - offset })
    this.#head = joinBytes([this.#head, rest, this.#tail])
  })

  /** @param start first bytes of the file, and last bytes if they are known */
  constructor({ size, bytes, tail = new Uint8Array() }: ObjectStart, readRange: RangeReader) {
    this.size = size
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
    if (this.size > SMALL_BYTES || end > this.size) return undefined
    return this.#readRest().then(() => this.#head.subarray(start, end))
  }

  /** Returns the position of an address in the file. */
  position(address: number): number {
    return address + this.base
  }

  /**
   * Reads metadata. The result must not be changed.
   * @param address counts from the superblock
   * @throws FormatError if the bytes are not in the file
   */
  read(address: number, length: number): Promise<Uint8Array> | Uint8Array {
    const start = this.position(address)
    const end = start + length
    if (length > LIMITS.structureBytes) damaged(`a structure has ${length} bytes`, start, length)
    if (start < 0 || end > this.size) damaged(`a structure of ${length} bytes ends behind the file of ${this.size} bytes`, start)
    return this.held(start, length) ?? this.#readPages(start, end)
  }

  async cursor(address: number, length: number): Promise<Cursor> {
    return new Cursor(await this.read(address, length), this.sizes, this.position(address))
  }

  /** Reads at most `length` bytes, fewer at the end of the file. */
  async cursorUpTo(address: number, length: number): Promise<Cursor> {
    return this.cursor(address, Math.max(0, Math.min(length, this.size - this.position(address))))
  }

  /**
   * Reads a structure that ends with its checksum.
   * @throws IntegrityError if the checksum differs
   */
  async checked(address: number, length: number, what: string): Promise<Cursor> {
    const cursor = await this.cursor(address, length)
    checkSum(cursor.bytes, cursor.start, what)
    return new Cursor(cursor.bytes.subarray(0, length - 4), this.sizes, cursor.start)
  }

  async #readPages(start: number, end: number): Promise<Uint8Array> {
    const first = Math.floor(start / PAGE_BYTES)
    const last = Math.floor((end - 1) / PAGE_BYTES)
    const pages = await Promise.all(Array.from({ length: last - first + 1 }, (_, i) => this.#page(first + i)))
    const from = start - first * PAGE_BYTES
    if (pages.length === 1) return pages[0]!.subarray(from, from + end - start)
    return joinBytes(pages).subarray(from, from + end - start)
  }

  #page(number: number): Promise<Uint8Array> {
    const known = this.#pages.get(number)
    if (known !== undefined) {
      // Least recently used first.
      this.#pages.delete(number)
      this.#pages.set(number, known)
      return known
    }
    if (this.#waiting.size === 0) setTimeout(() => this.#request(), 0)
    return this.#expectPage(number, this.#waiting)
  }

  /** Keeps a page that is about to be read. */
  #expectPage(number: number, waiting: Waiting): Promise<Uint8Array> {
    const page = new Promise<Uint8Array>((resolve, reject) => waiting.set(number, { resolve, reject }))
    page.catch(() => this.#pages.delete(number))
    this.#pages.set(number, page)
    if (this.#pages.size > MAX_PAGES) this.#pages.delete(this.#pages.keys().next().value!)
    return page
  }

  /**
   * Adds the pages before and behind a run of pages, unless they are known: structures end behind the page
   * that they begin in, and lie near the next ones. Another round trip is more expensive.
   */
  #addNeighbours(run: number[], waiting: Waiting): void {
    const isLacking = (page: number): boolean => {
      const start = page * PAGE_BYTES
      const end = Math.min(this.size, start + PAGE_BYTES)
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
    const waiting = this.#waiting
    this.#waiting = new Map()
    const numbers = [...waiting.keys()].sort((a, b) => a - b)
    for (let i = 0; i < numbers.length; ) {
      const run = [numbers[i++]!]
      while (i < numbers.length && numbers[i]! - run.at(-1)! <= MOST_GAP && numbers[i]! - run[0]! < MOST_JOINED)
        run.push(numbers[i++]!)
      this.#addNeighbours(run, waiting)
      const offset = run[0]! * PAGE_BYTES
      const range = { offset, length: Math.min(this.size, (run.at(-1)! + 1) * PAGE_BYTES) - offset }
      void this.#readRun(range).then(
        (bytes) => {
          for (const page of run) {
            const at = page * PAGE_BYTES - offset
            waiting.get(page)!.resolve(bytes.slice(at, at + PAGE_BYTES))
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
    const text = `reading ${length} bytes at byte ${offset} gave ${bytes.length}`
    throw new HyperslabError('FormatError', text, { actual: bytes.length, expected: length })
  }
}

/** Counts the nodes of one walk through linked structures, and refuses to visit one twice. */
export class Walk {
  readonly #what: string
  readonly #visited = new Set<number>()

  constructor(what: string) {
    this.#what = what
  }

  /** @throws FormatError for a node that was visited before, or for too many of them */
  visit(address: number): void {
    if (this.#visited.has(address)) damaged(`${this.#what} lead in a circle`, address)
    if (this.#visited.size >= LIMITS.nodes) damaged(`${this.#what} are more than ${LIMITS.nodes}`, address)
    this.#visited.add(address)
  }
}
