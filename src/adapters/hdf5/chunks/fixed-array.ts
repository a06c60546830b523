import { readOnce } from '../../../core/kept.ts'
import { Cursor, damaged } from '../cursor.ts'
import { checkSum } from '../lookup3.ts'
import { type EntryForm, entryForm, readEntry } from './entries.ts'
import { type ChunkFinder, type ChunkRange, type ChunkSet, linearPlace, type WantedChunk } from './table.ts'

interface Header {
  readonly form: EntryForm
  readonly pageEntries: number
  readonly entries: number
  readonly block: number | undefined
}

/** Fixed array: one element for each chunk, in pages if there are many. */
export class FixedArray implements ChunkFinder {
  readonly #set: ChunkSet
  readonly #findSlot: (coords: readonly number[]) => number
  readonly #header = readOnce(() => this.#readHeader())

  constructor(set: ChunkSet) {
    this.#set = set
    this.#findSlot = linearPlace(set)
  }

  async find(wanted: readonly WantedChunk[]): Promise<ReadonlyMap<number, ChunkRange>> {
    const { address } = this.#set
    const found = new Map<number, ChunkRange>()
    if (address === undefined) return found
    const header = await this.#header()
    const pages = new Map<number, { place: number; chunkIndex: number }[]>()
    for (const { chunkIndex, coords } of wanted) {
      const place = this.#findSlot(coords)
      if (place >= header.entries) damaged(`chunk ${place} of an index of ${header.entries}`, this.#set.file.position(address))
      const page = Math.floor(place / header.pageEntries)
      const chunks = pages.get(page) ?? []
      chunks.push({ place: place % header.pageEntries, chunkIndex })
      pages.set(page, chunks)
    }
    await Promise.all(
      [...pages].map(async ([page, chunks]) => {
        const entries = await this.#page(header, page)
        for (const { place, chunkIndex } of entries === undefined ? [] : chunks) {
          entries!.at = place * header.form.bytes
          const chunk = readEntry(entries!, header.form, this.#set)
          if (chunk !== undefined) found.set(chunkIndex, chunk)
        }
      }),
    )
    return found
  }

  async #readHeader(): Promise<Header> {
    const { file, address } = this.#set
    const cursor = await file.checked(address!, 12 + file.sizes.lengths + file.sizes.offsets, 'the header of a fixed array')
    cursor.signature('FAHD').version('a fixed array', [0])
    const form = entryForm(this.#set, cursor.u8(), cursor.u8(), cursor.start)
    const pageBits = cursor.u8()
    if (pageBits > 30) damaged(`pages of 2^${pageBits} elements`, cursor.start, pageBits)
    return { form, pageEntries: 2 ** pageBits, entries: cursor.length(), block: cursor.address() }
  }

  /** Returns the elements of a page; undefined if none was written. */
  async #page({ form, pageEntries, entries, block }: Header, page: number): Promise<Cursor | undefined> {
    const { file } = this.#set
    if (block === undefined) return undefined
    const prefix = 6 + file.sizes.offsets
    if (entries <= pageEntries) {
      const whole = await file.checked(block, prefix + entries * form.bytes + 4, 'a block of a fixed array')
      return whole
        .signature('FADB')
        .skip(prefix - 4)
        .part(entries * form.bytes)
    }
    const bitmap = Math.ceil(Math.ceil(entries / pageEntries) / 8)
    const head = (await file.checked(block, prefix + bitmap + 4, 'a block of a fixed array')).signature('FADB')
    const bits = head.skip(prefix - 4).slice(bitmap)
    if (!hasBit(bits, page)) return undefined
    const bytes = Math.min(pageEntries, entries - page * pageEntries) * form.bytes
    return readPage(this.#set, block + prefix + bitmap + 4 + page * (pageEntries * form.bytes + 4), bytes)
  }
}

/** Whether a bit is set; the first is the highest of the first byte. */
export const hasBit = (bytes: Uint8Array, at: number): boolean => (bytes[at >> 3]! & (0x80 >> (at & 7))) !== 0

/** Reads elements that are followed by their checksum. */
export async function readPage({ file }: ChunkSet, address: number, bytes: number): Promise<Cursor> {
  const cursor = await file.cursor(address, bytes + 4)
  checkSum(cursor.bytes, cursor.start, 'a page of a chunk index')
  return new Cursor(cursor.bytes.subarray(0, bytes), cursor.sizes, cursor.start)
}
