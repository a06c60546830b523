import { kept, readOnce } from '../../../core/kept.ts'
import { type Cursor, damaged } from '../cursor.ts'
import { type EntryForm, entryForm, readEntry } from './entries.ts'
import { hasBit, readPage } from './fixed-array.ts'
import { type ChunkFinder, type ChunkRange, type ChunkSet, linearPlace, type WantedChunk } from './table.ts'

/** Sizes of an extensible array: elements in the index block, then data blocks that double in groups. */
interface Header {
  readonly form: EntryForm
  readonly maxBits: number
  readonly inIndex: number
  readonly minElements: number
  readonly minPointers: number
  readonly pageEntries: number
  readonly block: number | undefined
  /** Groups of data blocks of equal size. */
  readonly groups: readonly Group[]
}

interface Group {
  /** First element, counted behind those of the index block. */
  readonly start: number
  readonly blocks: number
  readonly blockEntries: number
  /** Number of the first data block. */
  readonly firstBlock: number
}

/** An element in its data block. */
interface Located {
  readonly group: number
  /** Data block in its group. */
  readonly block: number
  readonly at: number
}

/** Extensible array, of arrays with one unlimited axis. */
export class ExtensibleArray implements ChunkFinder {
  readonly #set: ChunkSet
  readonly #findSlot: (coords: readonly number[]) => number
  readonly #header = readOnce(() => this.#readHeader())

  constructor(set: ChunkSet) {
    this.#set = set
    this.#findSlot = linearPlace(set, Math.max(0, set.maxShape.indexOf(undefined)))
  }

  async find(wanted: readonly WantedChunk[]): Promise<ReadonlyMap<number, ChunkRange>> {
    const { address } = this.#set
    const found = new Map<number, ChunkRange>()
    if (address === undefined) return found
    const header = await this.#header()
    if (header.block === undefined) return found
    const index = await this.#indexBlock(header, header.block)
    const units = new Map<number, Unit>()
    for (const { chunkIndex, coords } of wanted) {
      const place = this.#findSlot(coords)
      if (place < header.inIndex) keep(found, chunkIndex, this.#entry(header, index, place))
      else this.#addTo(units, header, place, chunkIndex)
    }
    const known: Blocks = new Map()
    await Promise.all(
      Array.from(units.values(), async ({ located, chunks }) => {
        const entries = await this.#entries(header, index, known, located)
        if (entries === undefined) return
        for (let i = 0; i < chunks.length; i += 2) keep(found, chunks[i]!, this.#entry(header, entries, chunks[i + 1]!))
      }),
    )
    return found
  }

  /** Adds a chunk to the data block or page that has its element. */
  #addTo(units: Map<number, Unit>, { groups, inIndex, pageEntries }: Header, place: number, chunkIndex: number): void {
    const element = place - inIndex
    const located = locate(groups, element)
    if (located === undefined)
      damaged(`chunk ${place} is not in the chunk index`, this.#set.file.position(this.#set.address!), place)
    const at = located.at % Math.min(groups[located.group]!.blockEntries, pageEntries)
    const unit = units.get(element - at) ?? { located, chunks: [] }
    unit.chunks.push(chunkIndex, at)
    units.set(element - at, unit)
  }

  #entry({ form }: Header, entries: Cursor, at: number): ChunkRange | undefined {
    entries.at = at * form.bytes
    return readEntry(entries, form, this.#set)
  }

  async #readHeader(): Promise<Header> {
    const { file, address } = this.#set
    const size = 16 + 6 * file.sizes.lengths + file.sizes.offsets
    const cursor = await file.checked(address!, size, 'the header of an extensible array')
    cursor.signature('EAHD').version('an extensible array', [0])
    const form = entryForm(this.#set, cursor.u8(), cursor.u8(), cursor.start)
    const [maxBits, inIndex, minElements, minPointers, pageBits] = [
      cursor.u8(),
      cursor.u8(),
      cursor.u8(),
      cursor.u8(),
      cursor.u8(),
    ]
    const block = cursor.skip(6 * file.sizes.lengths).address()
    const isPower = (value: number): boolean => value > 0 && Number.isInteger(Math.log2(value))
    if (maxBits > 64 || pageBits > 30 || !isPower(minElements) || !isPower(minPointers))
      damaged(`an extensible array of blocks of ${minElements} elements, ${minPointers} pointers`, cursor.start)
    const groups: Group[] = []
    for (let i = 0, start = 0, firstBlock = 0; i <= maxBits - Math.log2(minElements); i++) {
      const blocks = 2 ** Math.floor(i / 2)
      const blockEntries = minElements * 2 ** Math.floor((i + 1) / 2)
      groups.push({ start, blocks, blockEntries, firstBlock })
      start += blocks * blockEntries
      firstBlock += blocks
    }
    return { form, maxBits, inIndex, minElements, minPointers, pageEntries: 2 ** pageBits, block, groups }
  }

  async #indexBlock({ form, inIndex, minPointers, groups }: Header, address: number): Promise<Cursor> {
    const { file } = this.#set
    const { offsets } = file.sizes
    const pointers = 2 * (minPointers - 1) + Math.max(0, groups.length - 2 * Math.log2(minPointers))
    const size = 6 + offsets + inIndex * form.bytes + pointers * offsets + 4
    return (await file.checked(address, size, 'the index block of an extensible array'))
      .signature('EAIB')
      .skip(2 + offsets)
      .part(size - 10 - offsets)
  }

  /** Returns the elements of a data block, or of one page of it. Undefined if none was written. */
  async #entries(header: Header, index: Cursor, known: Blocks, { group, block, at }: Located): Promise<Cursor | undefined> {
    const { form, inIndex, minPointers, groups } = header
    const { offsets } = this.#set.file.sizes
    const inBlock = 2 * Math.log2(minPointers)
    const first = inIndex * form.bytes
    if (group < inBlock) {
      index.at = first + (groups[group]!.firstBlock + block) * offsets
      const address = index.address()
      return address === undefined ? undefined : this.#block(header, address, group)
    }
    index.at = first + 2 * (minPointers - 1) * offsets + (group - inBlock) * offsets
    const address = index.address()
    return address === undefined ? undefined : this.#inGroup(header, known, address, { group, block, at })
  }

  /** Finds elements through the block that lists the data blocks of a group. */
  async #inGroup(header: Header, known: Blocks, address: number, { group, block, at }: Located): Promise<Cursor | undefined> {
    const { file } = this.#set
    const { blocks, blockEntries } = header.groups[group]!
    const pages = blockEntries > header.pageEntries ? blockEntries / header.pageEntries : 0
    const bitmap = blocks * Math.ceil(pages / 8)
    const prefix = 6 + file.sizes.offsets + Math.ceil(header.maxBits / 8)
    const size = prefix + bitmap + blocks * file.sizes.offsets + 4
    const cursor = await readBlock(known, address, () => file.checked(address, size, 'a block of an extensible array'))
    cursor.at = 0
    const bits = cursor
      .signature('EASB')
      .skip(prefix - 4)
      .slice(bitmap)
    const start = cursor.skip(block * file.sizes.offsets).address()
    if (start === undefined) return undefined
    if (pages === 0) return this.#block(header, start, group)
    const page = Math.floor(at / header.pageEntries)
    if (!hasBit(bits, block * pages + page)) return undefined
    const pageBytes = header.pageEntries * header.form.bytes
    return readPage(this.#set, start + prefix + 4 + page * (pageBytes + 4), pageBytes)
  }

  /** Reads the elements of a data block without pages. */
  async #block(header: Header, address: number, group: number): Promise<Cursor> {
    const { file } = this.#set
    const bytes = header.groups[group]!.blockEntries * header.form.bytes
    const prefix = 6 + file.sizes.offsets + Math.ceil(header.maxBits / 8)
    const block = await file.checked(address, prefix + bytes + 4, 'a data block of an extensible array')
    return block
      .signature('EADB')
      .skip(prefix - 4)
      .part(bytes)
  }
}

/** A data block, or a page of one, of which elements are wanted. */
interface Unit {
  /** One of the elements. */
  readonly located: Located
  /** Numbers of chunks, each followed by the position of its element. */
  readonly chunks: number[]
}

function keep(found: Map<number, ChunkRange>, chunkIndex: number, chunk: ChunkRange | undefined): void {
  if (chunk !== undefined) found.set(chunkIndex, chunk)
}

/** Blocks that one search has read and checked, by address. Searches set the position before they read. */
type Blocks = Map<number, Promise<Cursor>>

const readBlock = (known: Blocks, address: number, read: () => Promise<Cursor>): Promise<Cursor> =>
  kept(known, address, read, Number.POSITIVE_INFINITY)

function locate(groups: readonly Group[], element: number): Located | undefined {
  const group = groups.findLastIndex(({ start }) => start <= element)
  const found = groups[group]
  if (found === undefined || element >= found.start + found.blocks * found.blockEntries) return undefined
  const inside = element - found.start
  return { group, block: Math.floor(inside / found.blockEntries), at: inside % found.blockEntries }
}
