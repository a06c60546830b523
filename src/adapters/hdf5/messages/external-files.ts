import { type Cursor, damaged } from '../cursor.ts'
import type { FileBytes } from '../file-bytes.ts'
import { nameAt, readLocalHeap } from '../structures/symbol-table.ts'

/** A run of bytes in another file. */
export interface RawPart {
  readonly name: string
  readonly offset: number
  /** Infinity for all bytes from `offset`. */
  readonly bytes: number
}

/** Parses the list of the files that hold the elements of an array, one after another. */
export async function readExternalFiles(file: FileBytes, cursor: Cursor): Promise<RawPart[]> {
  cursor.version('the list of external files', [1])
  const allocated = cursor.skip(3).u16()
  const count = cursor.u16()
  if (count > allocated || count === 0) damaged(`a list of ${count} external files, of ${allocated}`, cursor.start, count)
  const names = await readLocalHeap(file, cursor.definedAddress('the names of external files'))
  return Array.from({ length: count }, () => {
    const name = nameAt(names, cursor.length())
    return { name, offset: cursor.length(), bytes: cursor.maxLength() ?? Infinity }
  })
}
