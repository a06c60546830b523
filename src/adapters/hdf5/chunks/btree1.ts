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
    const below: Promise<void>[] = []
    for (let i = 0, first = 0; first < targets.length && i < count; ) {
      // Skips entries that end before the next target.
      i = this.#findEntry(body, targets[first]!.offsets, i, count)
      if (i < 0) {
        // The target comes before all entries that are left.
        first++
        i = 0
        continue
      }
      let end = first + 1
      const next = i + 1 < count ? this.#key(body, (i + 1) * step) : undefined
      while (end < targets.length && (next === undefined || compareCoords(targets[end]!.offsets, next) < 0)) end++
      const group = targets.slice(first, end)
      if (level === 0) this.#leaf(body, i * step, group, found)
      else {
        body.at = i * step + this.#keyBytes
        below.push(this.#visit(body.definedAddress('a node of a chunk index'), group, found, walk, depth + 1))
      }
      first = end
      i++
    }
    await Promise.all(below)
  }

  /** Returns the last entry whose key is not after an offset; -1 if there is none. */
  #findEntry(body: Cursor, offsets: readonly number[], from: number, count: number): number {
    const step = this.#keyBytes + this.#set.file.sizes.offsets
    let [low, high] = [from, count]
    // Many targets are in the entry where the search begins, or in the next one.
    for (let i = 0; i < 2 && low < high; i++) {
      if (compareCoords(this.#key(body, low * step), offsets) > 0) high = low
      else low++
    }
    while (low < high) {
      const middle = (low + high) >> 1
      if (compareCoords(this.#key(body, middle * step), offsets) <= 0) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  #key(body: Cursor, at: number): number[] {
    body.at = at + 8
    const key: number[] = []
    for (let axis = this.#set.chunkShape.length; axis > 0; axis--) key.push(body.uint(8))
    return key
  }

  #leaf(body: Cursor, at: number, targets: readonly Target[], found: Map<number, ChunkRange>): void {
    const key = this.#key(body, at)
    for (const { chunkIndex, offsets } of targets) {
      if (compareCoords(key, offsets) !== 0) continue
      body.at = at
      const [bytes, mask] = [body.u32(), body.u32()]
      body.at = at + this.#keyBytes
      found.set(chunkIndex, { address: body.definedAddress('a chunk'), bytes, mask })
    }
  }
}

interface Target {
  readonly chunkIndex: number
  readonly offsets: readonly number[]
}

export function compareCoords(a: readonly number[], b: readonly number[]): number {
  for (let axis = 0; axis < a.length; axis++) if (a[axis] !== b[axis]) return a[axis]! - b[axis]!
  return 0
}
