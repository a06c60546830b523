import { decodeText } from '../../core/characters.ts'
import { damagedTiff } from './errors.ts'
import { TIFF_LIMITS } from './limits.ts'
import { OPENED } from './tags.ts'
import type { TiffBytes } from './tiff-bytes.ts'

/** Sizes of the types of values by their numbers. */
const TYPE_BYTES = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8]
/** Bytes of a directory that are read at once. */
const WINDOW_BYTES = 4096

/** A tag of a directory: type and count of its values, and where they are. */
export interface Entry {
  readonly tag: number
  readonly type: number
  readonly count: number
  /** Size of a value in bytes; 0 for unknown types. */
  readonly valueBytes: number
  readonly offset: number
}

/** A directory of tags, which describes one image. */
export interface Directory {
  /** Position in the file. */
  readonly offset: number
  /** The directory as it is stored, with the values that fit in its entries. */
  readonly bytes: ArrayBuffer
  readonly entries: ReadonlyMap<number, Entry>
  /** Position of the next directory; 0 if there is none. */
  readonly next: number
}

/**
 * Reads a directory. Values that do not fit in their entries are not read.
 * @throws FormatError if it is not in the file
 */
export async function readImageDirectory(file: TiffBytes, offset: number): Promise<Directory> {
  const { countBytes, entryBytes, offsetBytes } = file.sizes
  const headBytes = Math.min(WINDOW_BYTES, file.size - offset)
  const head = await file.view(offset, Math.max(countBytes, headBytes), 'a directory')
  const count = file.uint(head, 0, countBytes)
  if (count === 0 || count > TIFF_LIMITS.entries)
    damagedTiff(`the directory at byte ${offset} has ${count} entries`, count, TIFF_LIMITS.entries)
  const length = countBytes + count * entryBytes + offsetBytes
  file.count(length)
  const view = length <= head.byteLength ? head : await file.view(offset, length, `a directory of ${count} entries`)
  const entries = new Map<number, Entry>()
  for (let i = 0, at = countBytes; i < count; i++, at += entryBytes) {
    const entry = readEntry(file, view, at, offset + at)
    // If a tag occurs twice, the first entry is used, as in other readers.
    if (!entries.has(entry.tag)) entries.set(entry.tag, entry)
  }
  // Copied, because the view holds pages of the file.
  const bytes = view.buffer.slice(view.byteOffset, view.byteOffset + length) as ArrayBuffer
  return { offset, bytes, entries, next: file.uint(view, length - offsetBytes, offsetBytes) }
}

function readEntry(file: TiffBytes, view: DataView, at: number, position: number): Entry {
  const { offsetBytes } = file.sizes
  const type = file.uint(view, at + 2, 2)
  const count = file.uint(view, at + 4, offsetBytes)
  const valueBytes = TYPE_BYTES[type] ?? 0
  const isInline = valueBytes * count <= offsetBytes
  const inside = 4 + offsetBytes
  return {
    tag: file.uint(view, at, 2),
    type,
    count,
    valueBytes,
    // Numbers above 2^53 are reported when the values are read.
    offset: isInline ? position + inside : file.number(view, at + inside, offsetBytes),
  }
}

/** Value of a tag, as it is stored. */
interface ReadValue {
  readonly entry: Entry
  readonly view: DataView
}

async function readApart(file: TiffBytes, { tag, offset }: Entry, length: number): Promise<DataView> {
  const most = TIFF_LIMITS.valueBytes
  if (length > most) damagedTiff(`the tag ${tag} has ${length} bytes, more than ${most}`, length, most)
  return file.keep(offset, length, `the tag ${tag}`)
}

/** Values of the tags of a directory. */
export class TagValues {
  readonly #file: TiffBytes
  readonly #values: ReadonlyMap<number, ReadValue>

  /**
   * Reads the values of the tags that opening needs, all at once.
   * @throws FormatError for values that are not in the file, or too many
   */
  static async read(file: TiffBytes, { offset: start, bytes, entries }: Directory): Promise<TagValues> {
    const values = new Map<number, ReadValue>()
    const apart: Promise<void>[] = []
    for (const entry of entries.values()) {
      const { tag, count, valueBytes, offset } = entry
      if (valueBytes === 0 || !OPENED.has(tag)) continue
      const length = count * valueBytes
      // A file may have 60 000 directories, so values within them are not awaited.
      if (offset >= start && offset + length <= start + bytes.byteLength)
        values.set(tag, { entry, view: new DataView(bytes, offset - start, length) })
      else
        apart.push(
          readApart(file, entry, length).then((view) => {
            values.set(tag, { entry, view })
          }),
        )
    }
    if (apart.length > 0) await Promise.all(apart)
    return new TagValues(file, values)
  }

  private constructor(file: TiffBytes, values: ReadonlyMap<number, ReadValue>) {
    this.#file = file
    this.#values = values
  }

  /** Returns the numbers of a tag; undefined if there is none. */
  numbers(tag: number): number[] | undefined {
    const found = this.#values.get(tag)
    if (found === undefined || found.entry.count === 0) return undefined
    const { entry, view } = found
    return Array.from({ length: entry.count }, (_, i) => this.#number(entry, view, i * entry.valueBytes))
  }

  /** Returns the only, or the first, number of a tag. */
  number(tag: number): number | undefined {
    const found = this.#values.get(tag)
    return found === undefined || found.entry.count === 0 ? undefined : this.#number(found.entry, found.view, 0)
  }

  /** Returns the text of a tag, without the NUL at its end; undefined if there is none. */
  text(tag: number): string | undefined {
    const bytes = this.bytes(tag)
    if (bytes === undefined) return undefined
    let end = bytes.length
    while (end > 0 && bytes[end - 1] === 0) end--
    return decodeText(bytes.subarray(0, end))
  }

  bytes(tag: number): Uint8Array | undefined {
    const view = this.#values.get(tag)?.view
    return view && new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
  }

  #number({ type, valueBytes, tag }: Entry, view: DataView, at: number): number {
    const little = !this.#file.isBigEndian
    if (type === 5) return view.getUint32(at, little) / view.getUint32(at + 4, little)
    if (type === 10) return view.getInt32(at, little) / view.getInt32(at + 4, little)
    if (type === 11) return view.getFloat32(at, little)
    if (type === 12) return view.getFloat64(at, little)
    if (type === 6) return view.getInt8(at)
    if (type === 8) return view.getInt16(at, little)
    if (type === 9) return view.getInt32(at, little)
    if (type === 17) return Number(view.getBigInt64(at, little))
    if (type === 2) damagedTiff(`the tag ${tag} is text instead of numbers`, 'text', 'numbers')
    return this.#file.uint(view, at, valueBytes)
  }
}
