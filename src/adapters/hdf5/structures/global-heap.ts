import { kept } from '../../../core/kept.ts'
import { Cursor, damaged } from '../cursor.ts'
import type { FileBytes } from '../file-bytes.ts'

/** Collections that are kept parsed. */
const MAX_COLLECTIONS = 256
/** Bytes that are read at first. Larger collections take another read. */
const USUAL_BYTES = 16 * 1024

type Collection = ReadonlyMap<number, Cursor>

/** Values of variable length, in collections. Each collection is read once while it is kept. */
export class GlobalHeap {
  readonly #file: FileBytes
  readonly #collections = new Map<number, Promise<Collection>>()

  constructor(file: FileBytes) {
    this.#file = file
  }

  /** Returns an object of a collection. */
  async object(address: number, index: number): Promise<Cursor> {
    const found = (await this.#collection(address)).get(index)
    return found ?? damaged(`a global heap has no object ${index}`, this.#file.position(address), index)
  }

  /**
   * Returns the bytes of values, by their references: length u32, address, index u32. A value without length
   * is empty.
   * @param unit bytes of an element, which lengths count
   */
  async values(references: Cursor, count: number, unit: number): Promise<Uint8Array[]> {
    // All are parsed first: an error must not leave reads behind that nothing awaits.
    const parsed = Array.from({ length: count }, () => ({
      length: references.u32() * unit,
      address: references.address(),
      index: references.u32(),
    }))
    return Promise.all(parsed.map(({ length, address, index }) => this.#value(length, address, index)))
  }

  async #value(length: number, address: number | undefined, index: number): Promise<Uint8Array> {
    if (length === 0 || address === undefined || address === 0) return new Uint8Array(0)
    const { bytes, start } = await this.object(address, index)
    if (length > bytes.length) damaged(`a value of ${length} bytes in an object of ${bytes.length}`, start, length)
    return bytes.subarray(0, length)
  }

  #collection(address: number): Promise<Collection> {
    return kept(this.#collections, address, () => this.#read(address), MAX_COLLECTIONS)
  }

  async #read(address: number): Promise<Collection> {
    // Headers, of the collection and of each object, have a length at their end, and are padded to 8 bytes.
    const { lengths } = this.#file.sizes
    const padding = (8 - (lengths % 8)) % 8
    const headBytes = 8 + lengths + padding
    const head = (await this.#file.cursorUpTo(address, USUAL_BYTES)).signature('GCOL')
    head.version('a global heap', [1])
    const size = head.skip(3).length()
    const cursor = (await this.#file.cursor(address, size)).skip(headBytes)
    const objects = new Map<number, Cursor>()
    while (cursor.left >= headBytes) {
      const index = cursor.u16()
      const length = cursor.skip(6).length()
      // Object 0 is the free space at the end.
      if (index === 0) break
      cursor.skip(padding)
      objects.set(index, cursor.part(length))
      cursor.skip(Math.min(cursor.left, (8 - (length % 8)) % 8))
    }
    return objects
  }
}

/** Reads references of values, of which `count` follow one another in `bytes`. */
export const referencesIn = (file: FileBytes, bytes: Uint8Array): Cursor => new Cursor(bytes, file.sizes, 0)
