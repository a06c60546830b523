import { HyperslabError } from '../../core/errors.ts'
import { Cursor, damaged, refuse } from './cursor.ts'
import type { FileBytes } from './file-bytes.ts'
import { checkSum } from './lookup3.ts'

const SIGNATURE = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a]
/** Bytes of the longest superblock. */
const MOST_BYTES = 128

/** Part of a superblock that opening needs. Addresses count from it. */
export interface Superblock {
  readonly version: number
  /** Address of the object header of the root group. */
  readonly root: number
  /** Address of the object header that extends the superblock. */
  readonly extension: number | undefined
  readonly warnings: readonly string[]
}

/**
 * Finds the superblock, at byte 0, 512, 1024, 2048, …, and sets base address and sizes of the file.
 * @throws FormatError without a superblock, and for a truncated file; UnsupportedError for versions and
 *   drivers that are not read here
 */
export async function readSuperblock(file: FileBytes): Promise<Superblock> {
  for (let base = 0; base + 16 < file.size; base = base === 0 ? 512 : 2 * base) {
    const bytes = await file.read(base, Math.min(MOST_BYTES, file.size - base))
    if (!SIGNATURE.every((byte, i) => bytes[i] === byte)) continue
    file.base = base
    return parse(file, bytes)
  }
  throw new HyperslabError('FormatError', 'this is no HDF5 file: it has no superblock')
}

function parse(file: FileBytes, bytes: Uint8Array): Superblock {
  const start = new Cursor(bytes, file.sizes, file.base).skip(8)
  const version = start.version('the superblock', [0, 1, 2, 3])
  if (version < 2) start.skip(4)
  const [offsets, lengths] = [start.u8(), start.u8()]
  for (const size of [offsets, lengths])
    if (![2, 4, 8].includes(size)) damaged(`addresses of ${offsets} and lengths of ${lengths} bytes`, start.position, size)
  file.sizes = { offsets, lengths }
  const cursor = new Cursor(bytes, file.sizes, file.base).skip(start.at)
  return version < 2 ? parseOld(file, cursor, version) : parseNew(file, cursor, version)
}

function parseOld(file: FileBytes, cursor: Cursor, version: number): Superblock {
  cursor.skip(version === 1 ? 13 : 9)
  const base = cursor.address() ?? 0
  cursor.address()
  checkEnd(file, base, cursor)
  const driver = cursor.address()
  if (driver !== undefined)
    refuse('the file is a part of several (family, split or multi files), which are not read here; join them with h5repack')
  cursor.skip(cursor.sizes.offsets)
  const root = cursor.definedAddress('the root group')
  return { version, root, extension: undefined, warnings: [] }
}

function parseNew(file: FileBytes, cursor: Cursor, version: number): Superblock {
  const flags = cursor.u8()
  const base = cursor.address() ?? 0
  const extension = cursor.address()
  checkEnd(file, base, cursor)
  const root = cursor.definedAddress('the root group')
  checkSum(cursor.bytes.subarray(0, cursor.at + 4), file.base, 'the superblock')
  const isWritten = version === 3 && (flags & 5) !== 0
  const warning = 'the file is open for writing, or was not closed by its writer: its metadata may be incomplete'
  return { version, root, extension, warnings: isWritten ? [warning] : [] }
}

/** @throws FormatError if the file is shorter than the superblock says */
function checkEnd({ base, size }: FileBytes, storedBase: number, cursor: Cursor): void {
  const stored = cursor.address()
  if (stored === undefined) return
  // A user block that was added later moves the end, too.
  const end = stored - storedBase + base
  if (end <= size) return
  const text = `the file is truncated: it should have ${end} bytes, and has ${size}`
  throw new HyperslabError('FormatError', text, { actual: size, expected: end })
}
