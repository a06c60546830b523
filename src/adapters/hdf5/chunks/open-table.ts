import { refuse } from '../cursor.ts'
import type { IndexKind } from '../messages/layout.ts'
import { ChunkTree1 } from './btree1.ts'
import { ChunkTree2 } from './btree2.ts'
import { ExtensibleArray } from './extensible-array.ts'
import { FixedArray } from './fixed-array.ts'
import { type ChunkFinder, type ChunkRange, type ChunkSet, linearPlace } from './table.ts'

/** Returns the table of the chunks of an array. Reads nothing. */
export function openTable(index: IndexKind, set: ChunkSet): ChunkFinder {
  switch (index.kind) {
    case 'btree1':
      return new ChunkTree1(set)
    case 'single':
      return listed(set, (address) => ({ address, bytes: index.bytes ?? set.chunkBytes, mask: index.mask }))
    case 'implicit':
      if (set.isFiltered) refuse('chunks without an index have filters, which the specification does not have')
      return listed(set, (address, place) => ({ address: address + place * set.chunkBytes, bytes: set.chunkBytes, mask: 0 }))
    case 'fixed':
      return new FixedArray(set)
    case 'extensible':
      return new ExtensibleArray(set)
    case 'btree2':
      return new ChunkTree2(set)
  }
}

/** A table whose chunks follow one another. */
function listed(set: ChunkSet, chunkAt: (address: number, place: number) => ChunkRange): ChunkFinder {
  const findSlot = linearPlace(set)
  return {
    find: async (wanted) => {
      const { address } = set
      if (address === undefined) return new Map()
      return new Map(wanted.map(({ chunkIndex, coords }) => [chunkIndex, chunkAt(address, findSlot(coords))]))
    },
  }
}
