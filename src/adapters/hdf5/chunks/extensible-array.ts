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
    const known: Blocks = new Map()
    await Promise.all(
      wanted.map(async ({ chunkIndex, coords }) => {
        const chunk = await this.#chunk(header, index, known, this.#findSlot(coords))
        if (chunk !== undefined) found.set(chunkIndex, chunk)
      }),
    )
    return found
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

  async #chunk(header: Header, index: Cursor, known: Blocks, place: number): Promise<ChunkRange | undefined> {
    const { form, inIndex, minPointers, groups } = header
    const { offsets } = this.#set.file.sizes
    if (place < inIndex) {
      index.at = place * form.bytes
      return readEntry(index, form, this.#set)
    }
    const located = locate(groups, place - inIndex)
    if (located === undefined) return damaged(`chunk ${place} is not in the chunk index`, index.start, place)
    const { group, block } = located
    const inBlock = 2 * Math.log2(minPointers)
    const first = inIndex * form.bytes
    if (group < inBlock) {
      index.at = first + (groups[group]!.firstBlock + block) * offsets
      const address = index.address()
      return address === undefined ? undefined : this.#entry(header, known, address, located)
    }
    index.at = first + 2 * (minPointers - 1) * offsets + (group - inBlock) * offsets
    const address = index.address()
    return address === undefined ? undefined : this.#inGroup(header, known, address, located)
  }

  /** Finds an element through the block that lists the data blocks of a group. */
  async #inGroup(header: Header, known: Blocks, address: number, located: Located): Promise<ChunkRange | undefined> {
    const { file } = this.#set
    const { blocks, blockEntries } = header.groups[located.group]!
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
    const block = cursor.skip(located.block * file.sizes.offsets).address()
    if (block === undefined) return undefined
    if (pages === 0) return this.#entry(header, known, block, located)
    const page = Math.floor(located.at / header.pageEntries)
    if (!hasBit(bits, located.block * pages + page)) return undefined
    const pageBytes = header.pageEntries * header.form.bytes
    const start = block + prefix + 4 + page * (pageBytes + 4)
    const entries = await readBlock(known, start, () => readPage(this.#set, start, pageBytes))
    entries.at = (located.at % header.pageEntries) * header.form.bytes
    return readEntry(entries, header.form, this.#set)
  }

  /** Reads an element of a data block without pages. */
  async #entry(header: Header, known: Blocks, address: number, { group, at }: Located): Promise<ChunkRange | undefined> {
    const { file } = this.#set
    const bytes = header.groups[group]!.blockEntries * header.form.bytes
    const prefix = 6 + file.sizes.offsets + Math.ceil(header.maxBits / 8)
    const what = 'a data block of an extensible array'
    const block = await readBlock(known, address, () => file.checked(address, prefix + bytes + 4, what))
    block.at = 0
    block.signature('EADB').skip(prefix - 4 + at * header.form.bytes)
    return readEntry(block, header.form, this.#set)
  }
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
