import type { Cursor } from '../cursor.ts'
import { damaged } from '../cursor.ts'
import type { ChunkRange, ChunkSet } from './table.ts'

/** Form of the elements of fixed and extensible arrays. */
export interface EntryForm {
  readonly isFiltered: boolean
  /** Bytes of an element. */
  readonly bytes: number
}

/** Parses client and size of elements. */
export function entryForm({ file }: ChunkSet, client: number, bytes: number, position: number): EntryForm {
  const isFiltered = client === 1
  const least = file.sizes.offsets + (isFiltered ? 5 : 0)
  if (client > 1 || (isFiltered ? bytes < least || bytes > least + 7 : bytes !== least))
    damaged(`a chunk index of class ${client} with elements of ${bytes} bytes`, position, bytes)
  return { isFiltered, bytes }
}

/** Reads an element; undefined for a chunk that is not stored. */
export function readEntry(cursor: Cursor, { isFiltered, bytes }: EntryForm, { chunkBytes }: ChunkSet): ChunkRange | undefined {
  const { sizes } = cursor
  const address = cursor.address()
  if (!isFiltered) return address === undefined ? undefined : { address, bytes: chunkBytes, mask: 0 }
  const size = cursor.uint(bytes - sizes.offsets - 4)
  const mask = cursor.u32()
  return address === undefined ? undefined : { address, bytes: size, mask }
}
