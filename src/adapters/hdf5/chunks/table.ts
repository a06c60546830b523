import type { FileBytes } from '../file-bytes.ts'

/** Place of a stored chunk in the file. */
export interface ChunkRange {
  readonly address: number
  readonly bytes: number
  /** Filters that were skipped, a bit each. */
  readonly mask: number
}

/** A chunk to be found, by its coordinates in the grid. */
export interface WantedChunk {
  readonly chunkIndex: number
  readonly coords: readonly number[]
}

/** Description of the chunks that an index holds. */
export interface ChunkSet {
  readonly file: FileBytes
  /** Address of the index; undefined if nothing was written. */
  readonly address: number | undefined
  readonly chunkShape: readonly number[]
  /** Bytes of a chunk without filters. */
  readonly chunkBytes: number
  readonly maxShape: readonly (number | undefined)[]
  readonly isFiltered: boolean
}

/** Finds chunks; those that are not stored are left out. */
export interface ChunkFinder {
  find(wanted: readonly WantedChunk[]): Promise<ReadonlyMap<number, ChunkRange>>
}

/** Returns the number of a chunk in arrays of chunks, which are as large as the array may become. */
export function linearPlace({ chunkShape, maxShape }: ChunkSet, first = 0): (coords: readonly number[]) => number {
  const axes = chunkShape.map((_, axis) => axis)
  // The unlimited axis comes first.
  const order = [first, ...axes.filter((axis) => axis !== first)]
  const steps = new Array<number>(axes.length).fill(1)
  for (let i = order.length - 2, step = 1; i >= 0; i--) {
    const inner = order[i + 1]!
    step *= Math.ceil((maxShape[inner] ?? 1) / chunkShape[inner]!)
    steps[order[i]!] = step
  }
  return (coords) => coords.reduce((sum, k, axis) => sum + k * steps[axis]!, 0)
}
