import type { MetadataPages } from '../../engine/metadata-pages.ts'
import { Cursor, damaged, type Sizes } from './cursor.ts'
import { LIMITS } from './limits.ts'
import { checkSum } from './lookup3.ts'

/** Metadata of a file, by addresses. */
export class FileBytes {
  readonly size: number
  /** Position of the superblock, which all addresses count from. */
  base = 0
  sizes: Sizes = { offsets: 8, lengths: 8 }
  readonly #pages: MetadataPages

  constructor(pages: MetadataPages) {
    this.size = pages.size
    this.#pages = pages
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
    return this.#pages.read(start, length)
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
