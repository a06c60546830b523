import { VEC_BYTES, vecCount, vecTarget } from '../rkyv/pointers.ts'
import type { Reader } from '../rkyv/reader.ts'

/**
 * Locations of the chunks of one array, as columns, because footers list hundreds of thousands of chunks.
 * Chunk `i` has the coordinate `coords[i * rank .. (i + 1) * rank)` in the chunk grid. It is `sizes[i]` bytes
 * at `offsets[i]` of the decoded block with the id `blockIds[i]`.
 */
export interface ChunkTable {
  length: number
  rank: number
  /** `length * rank` entries. */
  coords: Uint32Array
  blockIds: Uint32Array
  offsets: Uint32Array
  sizes: Uint32Array
}

/** One row of a {@link ChunkTable}. */
export interface ChunkRow {
  coord: readonly number[]
  blockId: number
  offset: number
  size: number
}

/**
 * Shared, because a layer can have hundreds of thousands of arrays without chunks, and a typed array takes
 * some hundred bytes.
 */
const NOTHING = new Uint32Array()

export function emptyTable(rank: number, length: number): ChunkTable {
  const column = (entries: number) => (entries === 0 ? NOTHING : new Uint32Array(entries))
  return {
    length,
    rank,
    coords: column(length * rank),
    blockIds: column(length),
    offsets: column(length),
    sizes: column(length),
  }
}

/*
 * A Vec of entries, each with a Vec for its coordinate:
 *
 *     coord of entry 0 (u32 x rank) | coord of entry 1 | ... | zeros to a multiple of 8 | entry 0 | entry 1 | ...
 *
 *     entry: +0 Vec: i64 offset of its coord, from +0; u64 rank | +16 u32 block id | +20 u32 offset | +24 u32 size | +28 zeros
 */
export const ENTRY_BYTES = 32
export const ENTRY_BLOCK = VEC_BYTES
export const ENTRY_OFFSET = VEC_BYTES + 4
export const ENTRY_SIZE = VEC_BYTES + 8

/**
 * Reads the Vec at `at`. Requires the rank of the array, because coordinates of another rank make other
 * readers fail only later.
 */
export function readChunks(from: Reader, at: number, rank: number): ChunkTable {
  const target = vecTarget(from, at)
  const length = vecCount(from, at)
  return from.subtree(at, target, length * ENTRY_BYTES, 8, () => {
    const bytes = 4 * length * rank
    // Checked before anything of this size is allocated.
    if (bytes > from.room) {
      const text = `${length} coordinates of ${rank} axes need ${bytes} bytes, but ${from.room} are left`
      from.fail(target, text, bytes, from.room)
    }
    const table = emptyTable(rank, length)
    const { coords, blockIds, offsets, sizes } = table
    const { view } = from
    const coordBytes = 4 * rank
    for (let index = 0, next = 0; index < length; index++) {
      const entry = target + index * ENTRY_BYTES
      const axes = vecCount(from, entry)
      if (axes !== rank)
        from.fail(entry, `chunk ${index} has a coordinate of ${axes} axes, but the array has ${rank}`, axes, rank)
      const coord = vecTarget(from, entry)
      from.claim(entry, coord, coordBytes, 4)
      for (let place = coord; place < coord + coordBytes; place += 4) coords[next++] = view.getUint32(place, true)
      blockIds[index] = view.getUint32(entry + ENTRY_BLOCK, true)
      offsets[index] = view.getUint32(entry + ENTRY_OFFSET, true)
      sizes[index] = view.getUint32(entry + ENTRY_SIZE, true)
    }
    return table
  })
}
