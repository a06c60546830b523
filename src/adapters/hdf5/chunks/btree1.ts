import { type Cursor, damaged } from '../cursor.ts'
import { Walk } from '../file-bytes.ts'
import { LIMITS } from '../limits.ts'
import type { ChunkFinder, ChunkRange, ChunkSet, WantedChunk } from './table.ts'

/** Entries of a node, unless the superblock says otherwise. Larger nodes take another read. */
const USUAL_CHILDREN = 64

/** B-tree of version 1. Keys are the offsets of chunks in elements, in the order of the axes. */
export class ChunkTree1 implements ChunkFinder {
  readonly #set: ChunkSet
  readonly #keyBytes: number

  constructor(set: ChunkSet) {
    this.#set = set
    this.#keyBytes = 8 + 8 * (set.chunkShape.length + 1)
  }

  async find(wanted: readonly WantedChunk[]): Promise<ReadonlyMap<number, ChunkRange>> {
    const { address, chunkShape } = this.#set
    const found = new Map<number, ChunkRange>()
    if (address === undefined) return found
    const targets = wanted.map(({ chunkIndex, coords }) => ({
      chunkIndex,
      offsets: coords.map((k, axis) => k * chunkShape[axis]!),
    }))
    targets.sort((a, b) => compareCoords(a.offsets, b.offsets))
    await this.#visit(address, targets, found, new Walk('nodes of a chunk index'), 0)
    return found
  }

  async #visit(
    address: number,
    targets: readonly Target[],
    found: Map<number, ChunkRange>,
    walk: Walk,
    depth: number,
  ): Promise<void> {
    walk.visit(address)
    const { file } = this.#set
    const { offsets } = file.sizes
    if (depth > LIMITS.depth) damaged('a B-tree has too many levels', file.position(address))
    const step = this.#keyBytes + offsets
    const head = (await file.cursorUpTo(address, 8 + 2 * offsets + USUAL_CHILDREN * step + this.#keyBytes)).signature('TREE')
    if (head.u8() !== 1) damaged('a B-tree of links instead of chunks', head.start)
    const level = head.u8()
    const count = head.u16()
    const body = await file.cursor(address + 8 + 2 * offsets, count * step + this.#keyBytes)
    const keys = Array.from({ length: count }, (_, i) => this.#key(body, i * step))
    const below: Promise<void>[] = []
    for (let first = 0, after = 0; first < targets.length; ) {
      const { offsets, chunkIndex } = targets[first]!
      after = findPlace(keys, offsets, after, true)
      let end = first + 1
      // No entry holds chunks before the first key.
      if (after > 0) {
        const at = (after - 1) * step
        const next = keys[after]
        while (end < targets.length && (next === undefined || compareCoords(targets[end]!.offsets, next) < 0)) end++
        if (level > 0) {
          body.at = at + this.#keyBytes
          const node = body.definedAddress('a node of a chunk index')
          below.push(this.#visit(node, targets.slice(first, end), found, walk, depth + 1))
        } else if (compareCoords(keys[after - 1]!, offsets) === 0) found.set(chunkIndex, this.#place(body, at))
      }
      first = end
    }
    await Promise.all(below)
  }

  #key(body: Cursor, at: number): number[] {
    body.at = at + 8
    const key: number[] = []
    for (let axis = this.#set.chunkShape.length; axis > 0; axis--) key.push(body.uint(8))
    return key
  }

  #place(body: Cursor, at: number): ChunkRange {
    body.at = at
    const [bytes, mask] = [body.u32(), body.u32()]
    body.at = at + this.#keyBytes
    return { address: body.definedAddress('a chunk'), bytes, mask }
  }
}

interface Target {
  readonly chunkIndex: number
  readonly offsets: readonly number[]
}

/**
 * Returns the number of ascending keys before some coordinates.
 * @param from a number of keys that are known to be before them
 * @param isAfterEqual whether an equal key counts as one before them
 */
export function findPlace(
  keys: readonly (readonly number[])[],
  coords: readonly number[],
  from: number,
  isAfterEqual: boolean,
): number {
  const most = isAfterEqual ? 0 : -1
  let [low, high] = [from, keys.length]
  // If many are sought, the place is the one where the search begins, or the next.
  for (let i = 0; i < 2 && low < high; i++)
    if (compareCoords(keys[low]!, coords) <= most) low++
    else return low
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareCoords(keys[middle]!, coords) <= most) low = middle + 1
    else high = middle
  }
  return low
}

export function compareCoords(a: readonly number[], b: readonly number[]): number {
  for (let axis = 0; axis < a.length; axis++) if (a[axis] !== b[axis]) return a[axis]! - b[axis]!
  return 0
}
