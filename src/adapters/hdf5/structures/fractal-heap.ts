import { readOnce } from '../../../core/kept.ts'
import { Cursor, damaged, numberBytes } from '../cursor.ts'
import { type FileBytes, Walk } from '../file-bytes.ts'
import type { Filter } from '../filters/index.ts'
import { LIMITS } from '../limits.ts'
import { checkSum } from '../lookup3.ts'
import { parseFilters } from '../messages/filters.ts'
import { allRecords } from './btree2.ts'

/** Decodes a filtered block of a heap. */
export type HeapDecoder = (
  filters: readonly Filter[],
  mask: number,
  bytes: Uint8Array,
  decodedBytes: number,
) => Promise<Uint8Array>

interface HeapHeader {
  readonly idBytes: number
  readonly hasChecksums: boolean
  readonly maxManaged: number
  readonly hugeTree: number | undefined
  readonly width: number
  readonly startBytes: number
  readonly maxDirect: number
  readonly heapBits: number
  readonly root: number | undefined
  /** Rows of the root block; 0 if it is a direct block. */
  readonly rows: number
  readonly filters: readonly Filter[]
  /** Stored size and filter mask of a filtered direct root block. */
  readonly rootStored: Stored | undefined
}

interface Stored {
  readonly bytes: number
  readonly mask: number
}

/** A direct block: the range of the heap that it holds, and its bytes. */
interface DirectBlock {
  readonly start: number
  readonly bytes: Uint8Array
  readonly position: number
}

/** A fractal heap: variable-length objects by ids. */
export class FractalHeap {
  readonly #file: FileBytes
  readonly #header: HeapHeader
  readonly #decode: HeapDecoder
  readonly #blocks = new Map<number, Promise<DirectBlock>>()
  readonly #huge = readOnce(() => allRecords(this.#file, this.#header.hugeTree!))

  static async open(file: FileBytes, address: number, decode: HeapDecoder): Promise<FractalHeap> {
    return new FractalHeap(file, await readHeader(file, address), decode)
  }

  private constructor(file: FileBytes, header: HeapHeader, decode: HeapDecoder) {
    this.#file = file
    this.#header = header
    this.#decode = decode
  }

  /** Bytes of an id. */
  get idBytes(): number {
    return this.#header.idBytes
  }

  /** Returns the object of an id. */
  async object(id: Uint8Array): Promise<Cursor> {
    const cursor = new Cursor(id, this.#file.sizes, 0)
    const kind = (cursor.u8() >> 4) & 3
    if (kind === 0) return this.#managed(cursor)
    if (kind === 1) return this.#hugeObject(cursor)
    if (kind === 2) return this.#tiny(cursor, id)
    return damaged(`a heap has no objects of kind ${kind}`, 0, kind)
  }

  async #managed(id: Cursor): Promise<Cursor> {
    const { heapBits, maxDirect, maxManaged } = this.#header
    const offset = id.uint(Math.ceil(heapBits / 8))
    const length = id.uint(Math.min(Math.ceil(Math.log2(maxDirect) / 8), numberBytes(maxManaged)))
    const { start, bytes, position } = await this.#blockAt(offset)
    const at = offset - start
    if (at + length > bytes.length) damaged(`an object of ${length} bytes at ${at} of a block of ${bytes.length}`, position)
    return new Cursor(bytes.subarray(at, at + length), this.#file.sizes, position + at)
  }

  #tiny(cursor: Cursor, id: Uint8Array): Cursor {
    const isExtended = this.#header.idBytes - 1 > 16
    const length = 1 + (isExtended ? ((id[0]! & 15) << 8) | cursor.u8() : id[0]! & 15)
    return cursor.part(length)
  }

  async #hugeObject(id: Cursor): Promise<Cursor> {
    const { idBytes, filters, hugeTree } = this.#header
    const { offsets, lengths } = this.#file.sizes
    const isFiltered = filters.length > 0
    const direct = offsets + lengths + (isFiltered ? 4 + lengths : 0)
    if (direct <= idBytes - 1) return this.#hugeAt(id)
    const key = id.uint(Math.min(lengths, idBytes - 1))
    if (hugeTree === undefined) return damaged('a heap has no table of large objects', 0)
    for (const record of await this.#huge()) {
      const copy = new Cursor(record.bytes, record.sizes, record.start)
      if (copy.skip(direct).length() === key) return this.#hugeAt(new Cursor(record.bytes, record.sizes, record.start))
    }
    return damaged(`a heap has no large object ${key}`, this.#file.position(hugeTree), key)
  }

  async #hugeAt(cursor: Cursor): Promise<Cursor> {
    const address = cursor.definedAddress('a large object of a heap')
    const length = cursor.length()
    const stored = await this.#file.cursor(address, length)
    if (this.#header.filters.length === 0) return stored
    const mask = cursor.u32()
    const decoded = await this.#decode(this.#header.filters, mask, stored.bytes, cursor.length())
    return new Cursor(decoded, this.#file.sizes, stored.start)
  }

  /** Returns the direct block that holds an offset of the heap. */
  async #blockAt(offset: number): Promise<DirectBlock> {
    const { root, rows, startBytes, rootStored } = this.#header
    if (root === undefined) return damaged('an object of an empty heap', 0)
    if (rows === 0) return this.#direct(root, 0, startBytes, rootStored)
    const walk = new Walk('blocks of a heap')
    let block = { address: root, start: 0, rows }
    for (;;) {
      walk.visit(block.address)
      const found = await this.#child(block, offset)
      if (found.rows === 0) return this.#direct(found.address, found.start, found.bytes, found.stored)
      block = found
    }
  }

  /** Finds the block of an indirect block that holds an offset. */
  async #child(
    block: { readonly address: number; readonly start: number; readonly rows: number },
    offset: number,
  ): Promise<{ address: number; start: number; rows: number; bytes: number; stored: Stored | undefined }> {
    const { width, startBytes, maxDirect, heapBits, filters } = this.#header
    const { offsets, lengths } = this.#file.sizes
    const rowBytes = (row: number): number => startBytes * 2 ** Math.max(0, row - 1)
    const rowStart = (row: number): number => (row === 0 ? 0 : width * startBytes * 2 ** (row - 1))
    const directRows = Math.min(block.rows, Math.log2(maxDirect) - Math.log2(startBytes) + 2)
    const entry = offsets + (filters.length > 0 ? lengths + 4 : 0)
    const head = 5 + offsets + Math.ceil(heapBits / 8)
    const size = head + width * (directRows * entry + (block.rows - directRows) * offsets) + 4
    const cursor = await this.#file.cursor(block.address, size)
    checkSum(cursor.bytes, cursor.start, 'a block of a heap')
    cursor.signature('FHIB')
    const inside = offset - block.start
    let row = 0
    while (row < block.rows && inside >= rowStart(row) + width * rowBytes(row)) row++
    if (row === block.rows || inside < 0) damaged(`offset ${offset} is not in the heap`, cursor.start, offset)
    const column = Math.floor((inside - rowStart(row)) / rowBytes(row))
    const start = block.start + rowStart(row) + column * rowBytes(row)
    const isDirect = row < directRows
    const before = isDirect
      ? (row * width + column) * entry
      : width * directRows * entry + ((row - directRows) * width + column) * offsets
    const found = new Cursor(cursor.bytes, cursor.sizes, cursor.start).skip(head + before)
    const address = found.definedAddress('a block of a heap')
    const stored = isDirect && filters.length > 0 ? { bytes: found.length(), mask: found.u32() } : undefined
    const rows = isDirect ? 0 : Math.log2(rowBytes(row)) - Math.log2(startBytes * width) + 1
    if (rows > LIMITS.depth * 8) damaged(`a block of a heap has ${rows} rows`, cursor.start, rows)
    return { address, start, rows, bytes: rowBytes(row), stored }
  }

  #direct(address: number, start: number, bytes: number, stored: Stored | undefined): Promise<DirectBlock> {
    const known = this.#blocks.get(address)
    if (known !== undefined) return known
    const block = this.#readDirect(address, start, bytes, stored)
    this.#blocks.set(address, block)
    block.catch(() => this.#blocks.delete(address))
    return block
  }

  async #readDirect(address: number, start: number, bytes: number, stored: Stored | undefined): Promise<DirectBlock> {
    const { filters, hasChecksums, heapBits } = this.#header
    const cursor = await this.#file.cursor(address, stored?.bytes ?? bytes)
    const decoded = stored === undefined ? cursor.bytes : await this.#decode(filters, stored.mask, cursor.bytes, bytes)
    const block = new Cursor(decoded, this.#file.sizes, cursor.start).signature('FHDB')
    if (hasChecksums) {
      // The checksum is in the middle, and counts as zeros.
      const at = 5 + this.#file.sizes.offsets + Math.ceil(heapBits / 8)
      const checked = new Uint8Array(decoded.length + 4)
      checked.set(decoded)
      checked.fill(0, at, at + 4)
      checked.set(decoded.subarray(at, at + 4), decoded.length)
      checkSum(checked, block.start, 'a block of a heap')
    }
    return { start, bytes: decoded, position: block.start }
  }
}

async function readHeader(file: FileBytes, address: number): Promise<HeapHeader> {
  const { offsets, lengths } = file.sizes
  const fixed = 26 + 12 * lengths + 3 * offsets
  const start = (await file.cursor(address, 9)).signature('FRHP')
  start.version('a fractal heap', [0])
  const idBytes = start.u16()
  const filterBytes = start.u16()
  const size = fixed + (filterBytes > 0 ? lengths + 4 + filterBytes : 0)
  const cursor = (await file.checked(address, size, 'the header of a heap')).skip(9)
  const flags = cursor.u8()
  const maxManaged = cursor.u32()
  cursor.skip(lengths)
  const hugeTree = cursor.address()
  cursor.skip(lengths + offsets + 8 * lengths)
  const width = cursor.u16()
  const [startBytes, maxDirect] = [cursor.length(), cursor.length()]
  const heapBits = cursor.u16()
  cursor.skip(2)
  const root = cursor.address()
  const rows = cursor.u16()
  const isPower = (value: number): boolean => value > 0 && Number.isInteger(Math.log2(value))
  if (![width, startBytes, maxDirect].every(isPower) || maxDirect > LIMITS.structureBytes || heapBits > 64 || rows > 256)
    damaged(`a heap of blocks of ${startBytes} to ${maxDirect} bytes, ${width} a row`, cursor.start)
  const isFiltered = filterBytes > 0
  const rootStored = isFiltered ? { bytes: cursor.length(), mask: cursor.u32() } : undefined
  const filters = isFiltered ? parseFilters(cursor.part(filterBytes)) : []
  const hasChecksums = (flags & 2) !== 0
  return { idBytes, hasChecksums, maxManaged, hugeTree, width, startBytes, maxDirect, heapBits, root, rows, filters, rootStored }
}
