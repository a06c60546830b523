import { HyperslabError } from '../../core/errors.ts'
import { showKey, wrongKey } from '../../core/foreign-key.ts'

/** A file in an archive, as described by the central directory. */
export interface ZipEntry {
  readonly name: string
  readonly nameBytes: Uint8Array
  /** Size of the content in bytes. */
  readonly size: number
  readonly storedSize: number
  readonly crc: number
  readonly flags: number
  /** Compression method; 0 means stored. */
  readonly method: number
  /** Number of the part of a split archive. */
  readonly disk: number
  /** Offset of its local header in the file. */
  readonly headerOffset: number
}

/** Position of the central directory. */
export interface DirectoryPlace {
  readonly offset: number
  readonly length: number
  readonly entries: number
  /** Modulus of the stored number of entries, which wraps around at 16 bits. */
  readonly modulus: number
  /**
   * Bytes in front of the archive, such as a program that unpacks it. Offsets in the archive do not count
   * them.
   */
  readonly prefix: number
}

const END = { signature: 0x06054b50, bytes: 22 }
const LOCATOR = { signature: 0x07064b50, bytes: 20 }
const END64 = { signature: 0x06064b50, bytes: 56 }
const ENTRY = { signature: 0x02014b50, bytes: 46 }
const LOCAL = { signature: 0x04034b50, bytes: 30 }
const MAX_COMMENT_BYTES = 0xffff

/** Largest number of bytes after the central directory. */
export const ZIP_TAIL_BYTES = END64.bytes + LOCATOR.bytes + END.bytes + MAX_COMMENT_BYTES
export const LOCAL_HEADER_BYTES = LOCAL.bytes

/** Value of a field of 32 bits (16 bits) whose real value is in a field of 64 (32) bits. */
const ELSEWHERE = 0xffffffff
const ELSEWHERE16 = 0xffff
const ZIP64_EXTRA = 1

/**
 * Finds the central directory from the last bytes of an archive of `size` bytes, where there is
 *
 *     +0 u32 PK56 | +4 u16 disk | +6 u16 disk of the directory | +8 u16 entries on this disk | +10 u16 entries
 *     +12 u32 bytes of the directory | +16 u32 offset of it | +20 u16 bytes of the comment | +22 comment, to the end of the file
 *
 * and in front of it, in archives that need larger numbers, a Zip64 record (below) with its locator:
 *
 *     +0 u32 PK67 | +4 u32 disk of the record | +8 u64 offset of the record | +16 u32 disks
 *
 * @param tail the last {@link ZIP_TAIL_BYTES} bytes, or all there are
 * @throws FormatError, UnsupportedError for archives in several parts
 */
export function findDirectory(tail: Uint8Array, size: number): DirectoryPlace {
  const view = viewOf(tail)
  const at = findEnd(view)
  const tailOffset = size - tail.length
  const locator = at - LOCATOR.bytes
  if (locator >= 0 && view.getUint32(locator, true) === LOCATOR.signature) return findDirectory64(view, locator, tailOffset)
  const disks = [view.getUint16(at + 4, true), view.getUint16(at + 6, true)]
  const [here, entries] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)]
  if (disks.some((disk) => disk > 0) || here !== entries) throw severalDisks()
  const [length, offset] = [view.getUint32(at + 12, true), view.getUint32(at + 16, true)]
  return placeOf({ entries, modulus: 2 ** 16, length, offset }, tailOffset + at)
}

/**
 * Finds the last record whose comment ends exactly at the end of the file. A comment may contain the
 * signature.
 */
function findEnd(view: DataView): number {
  for (let at = view.byteLength - END.bytes; at >= 0; at--) {
    const found = view.getUint32(at, true) === END.signature
    if (found && at + END.bytes + view.getUint16(at + 20, true) === view.byteLength) return at
  }
  const text = `no end of a central directory in the last ${view.byteLength} bytes: not a zip archive, or a truncated one`
  throw new HyperslabError('FormatError', text, { actual: view.byteLength })
}

/**
 *     +0 u32 PK66 | +4 u64 bytes that follow | +12 u16, u16 versions | +16 u32 disk | +20 u32 disk of the directory
 *     +24 u64 entries on this disk | +32 u64 entries | +40 u64 bytes of the directory | +48 u64 offset of it
 */
function findDirectory64(view: DataView, locator: number, tailOffset: number): DirectoryPlace {
  // The record directly precedes its locator. The offset in the locator does not count bytes in front of the
  // archive.
  const at = locator - END64.bytes
  if (at < 0 || view.getUint32(at, true) !== END64.signature)
    throw new HyperslabError('FormatError', 'there is no Zip64 record in front of its locator: the archive is damaged')
  const disks = [view.getUint32(at + 16, true), view.getUint32(at + 20, true), view.getUint32(locator + 4, true)]
  const [here, entries] = [bigAt(view, at + 24), bigAt(view, at + 32)]
  if (disks.some((disk) => disk > 0) || view.getUint32(locator + 16, true) > 1 || here !== entries) throw severalDisks()
  const [length, offset] = [bigAt(view, at + 40), bigAt(view, at + 48)]
  return placeOf({ entries, modulus: Number.POSITIVE_INFINITY, length, offset }, tailOffset + at)
}

/**
 * Returns the position of the directory. It ends at `end`, where the records begin. Its stored offset does
 * not count bytes in front of the archive.
 */
function placeOf(place: Omit<DirectoryPlace, 'prefix'>, end: number): DirectoryPlace {
  const prefix = end - place.length - place.offset
  if (prefix >= 0) return { ...place, offset: end - place.length, prefix }
  const text = `the central directory of ${place.length} bytes at ${place.offset} does not fit in front of byte ${end}`
  throw new HyperslabError('FormatError', `${text}: the archive is truncated or damaged`, {
    actual: place.offset + place.length,
    expected: end,
  })
}

/**
 * Reads the central directory. Each entry contains:
 *
 *     +0 u32 PK12 | +4 u16, u16 versions | +8 u16 flags | +10 u16 method | +12 u16, u16 time, date | +16 u32 CRC-32
 *     +20 u32 stored bytes | +24 u32 bytes | +28 u16 bytes of the name | +30 of extra fields | +32 of the comment
 *     +34 u16 disk | +36 u16, u32 attributes | +42 u32 offset of the local header | +46 name | extra fields | comment
 *
 * @returns the files by name; the last entry of a name counts, and folders are omitted
 * @throws FormatError for a damaged directory, and for names that would lead out of the folder they are
 *   unpacked to
 */
export function readDirectory(bytes: Uint8Array, { entries, modulus, prefix }: DirectoryPlace): Map<string, ZipEntry> {
  const view = viewOf(bytes)
  const found = new Map<string, ZipEntry>()
  let count = 0
  for (let at = 0; at < bytes.length; count++) {
    const fits = at + ENTRY.bytes <= bytes.length && view.getUint32(at, true) === ENTRY.signature
    const lengths = fits ? [28, 30, 32].map((field) => view.getUint16(at + field, true)) : []
    const end = lengths.reduce((sum, length) => sum + length, at + ENTRY.bytes)
    if (!fits || end > bytes.length) throw damaged(`there is no entry ${count} at byte ${at}`, at, bytes.length)
    const entry = readEntry(view, at, lengths[0]!, lengths[1]!, prefix)
    const wrong = wrongKey(entry.name.endsWith('/') ? entry.name.slice(0, -1) : entry.name)
    if (wrong !== undefined) throw wrongEntry(entry.name, wrong)
    if (!entry.name.endsWith('/')) found.set(entry.name, entry)
    at = end
  }
  if (count % modulus !== entries) throw damaged(`it has ${count} entries, announced are ${entries}`, count, entries)
  return found
}

function readEntry(view: DataView, at: number, nameLength: number, extraLength: number, prefix: number): ZipEntry {
  const nameBytes = new Uint8Array(view.buffer, view.byteOffset + at + ENTRY.bytes, nameLength)
  const name = decodeName(nameBytes)
  const long = zip64Fields(view, at + ENTRY.bytes + nameLength, extraLength)
  // The extra field contains only values that do not fit, in this order.
  const field = (offset: number): number => {
    const short = view.getUint32(at + offset, true)
    return short === ELSEWHERE && long !== undefined ? long(8, name) : short
  }
  const [size, storedSize, headerOffset] = [field(24), field(20), field(42)]
  const disk = view.getUint16(at + 34, true)
  return {
    name,
    nameBytes,
    size,
    storedSize,
    headerOffset: prefix + headerOffset,
    disk: disk === ELSEWHERE16 && long !== undefined ? long(4, name) : disk,
    crc: view.getUint32(at + 16, true),
    flags: view.getUint16(at + 8, true),
    method: view.getUint16(at + 10, true),
  }
}

/**
 * Returns a reader of consecutive fields in the extra field `+0 u16 1 | +2 u16 bytes | u64 … u32`, if it
 * exists.
 */
function zip64Fields(view: DataView, start: number, length: number): ((bytes: 4 | 8, name: string) => number) | undefined {
  for (let at = start; at + 4 <= start + length; at += 4 + view.getUint16(at + 2, true)) {
    if (view.getUint16(at, true) !== ZIP64_EXTRA) continue
    const end = Math.min(at + 4 + view.getUint16(at + 2, true), start + length)
    let next = at + 4
    return (bytes, name) => {
      if (next + bytes > end) throw damaged(`the Zip64 field of entry '${name}' is too short`, end - at, next + bytes - at)
      next += bytes
      return bytes === 8 ? bigAt(view, next - 8) : view.getUint32(next - 4, true)
    }
  }
  return undefined
}

/**
 * Bytes from the local header to the content. The header repeats the entry; but its extra fields may be
 * others, so it has to be read:
 *
 *     +0 u32 PK34 | +4 u16 version | +6 u16 flags | +8 u16 method | … | +26 u16 bytes of the name | +28 of extra fields | +30 name | …
 *
 * @param header the first {@link LOCAL_HEADER_BYTES} bytes and the name
 * @throws FormatError when this is not the header of `entry`
 */
export function contentOffset(header: Uint8Array, entry: ZipEntry): number {
  const view = viewOf(header)
  const same =
    view.getUint32(0, true) === LOCAL.signature &&
    view.getUint16(8, true) === entry.method &&
    view.getUint16(26, true) === entry.nameBytes.length &&
    entry.nameBytes.every((byte, i) => header[LOCAL.bytes + i] === byte)
  if (same) return LOCAL.bytes + entry.nameBytes.length + view.getUint16(28, true)
  const text = `there is no header of this entry at byte ${entry.headerOffset} of the archive, which is damaged`
  throw new HyperslabError('FormatError', text, { actual: entry.headerOffset })
}

/**
 * Decodes a name as UTF-8 or CP437. The flag for UTF-8 is ignored, because not all writers set it. CP437 text
 * is hardly ever valid UTF-8.
 */
function decodeName(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    return Array.from(bytes, (byte) => (byte < 128 ? String.fromCharCode(byte) : CP437[byte - 128])).join('')
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const CP437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■ '

/** Reads a number of 64 bits. Inexact numbers exceed the size of any file. */
const bigAt = (view: DataView, at: number): number => Number(view.getBigUint64(at, true))

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const damaged = (text: string, actual: number, expected: number): HyperslabError =>
  new HyperslabError('FormatError', `the central directory is damaged: ${text}`, { actual, expected })

function wrongEntry(name: string, reason: string): HyperslabError {
  const text = `the archive has an entry ${showKey(name)}, which is refused: ${reason}`
  return new HyperslabError('FormatError', text, { actual: name })
}

const severalDisks = (): HyperslabError =>
  new HyperslabError('UnsupportedError', 'an archive in several parts cannot be read; join them with zip -s 0')
