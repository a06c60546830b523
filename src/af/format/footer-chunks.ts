import { HyperslabError } from '../../core/errors.ts'
import type { StoreObject } from '../rkyv/layout.ts'
import { storeVec, VEC_BYTES, vecCount, vecTarget } from '../rkyv/pointers.ts'
import type { Reader } from '../rkyv/reader.ts'
import type { ArchiveWriter } from '../rkyv/writer.ts'

/**
 * Where the chunks of one array are, as columns: footers with hundreds of thousands of chunks are read
 * without an object for each. Chunk `i` has the coordinate `coords[i * rank .. (i + 1) * rank)` in the chunk
 * grid and is `sizes[i]` bytes at `offsets[i]` of the decoded block with the id `blockIds[i]`.
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
 * Shared: a layer may have hundreds of thousands of arrays without chunks, and a typed array takes some
 * hundred bytes.
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
const ENTRY_BYTES = 32
const ENTRY_BLOCK = VEC_BYTES
const ENTRY_OFFSET = VEC_BYTES + 4
const ENTRY_SIZE = VEC_BYTES + 8

/**
 * Reads the Vec at `at`. The array's rank is asked for because a coordinate of another one makes other
 * readers fail only later.
 */
export function readChunks(from: Reader, at: number, rank: number): ChunkTable {
  const target = vecTarget(from, at)
  const length = vecCount(from, at)
  return from.subtree(at, target, length * ENTRY_BYTES, 8, () => {
    const bytes = 4 * length * rank
    // Before anything of that size is allocated.
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

/** The mirror of {@link readChunks}: appends coordinates and entries; what it returns stores the Vec. */
export function writeChunks(to: ArchiveWriter, table: ChunkTable, rank: number): StoreObject {
  checkTable(table, rank)
  const { length, coords, blockIds, offsets, sizes } = table
  const coordBytes = 4 * rank
  to.align(4)
  const firstCoord = to.reserve(length * coordBytes)
  to.align(8)
  const target = to.reserve(length * ENTRY_BYTES)
  const { view } = to
  for (let index = 0; index < coords.length; index++) view.setUint32(firstCoord + 4 * index, coords[index]!, true)
  for (let index = 0; index < length; index++) {
    const entry = target + index * ENTRY_BYTES
    storeVec(to, entry, firstCoord + index * coordBytes, rank)
    view.setUint32(entry + ENTRY_BLOCK, blockIds[index]!, true)
    view.setUint32(entry + ENTRY_OFFSET, offsets[index]!, true)
    view.setUint32(entry + ENTRY_SIZE, sizes[index]!, true)
  }
  return (at) => storeVec(to, at, target, length)
}

function checkTable({ length, rank, coords, blockIds, offsets, sizes }: ChunkTable, expected: number): void {
  if (rank !== expected) {
    const text = `the chunk table has coordinates of ${rank} axes, but the array has ${expected}`
    throw new HyperslabError('InvalidArgumentError', text, { actual: rank, expected })
  }
  const columns = [coords.length, blockIds.length, offsets.length, sizes.length]
  const right = [length * rank, length, length, length]
  if (columns.some((entries, index) => entries !== right[index])) {
    const text = `the columns of the chunk table have ${columns.join(', ')} entries, expected ${right.join(', ')}`
    throw new HyperslabError('InvalidArgumentError', text, { actual: columns, expected: right })
  }
}
