import { readOnce } from '../../../core/kept.ts'
import type { Cursor } from '../cursor.ts'
import { damaged } from '../cursor.ts'
import { Walk } from '../file-bytes.ts'
import { type Child2, readNode2, readTree2, rootNode, type Tree2 } from '../structures/btree2.ts'
import { compareCoords, findPlace } from './btree1.ts'
import type { ChunkFinder, ChunkRange, ChunkSet, WantedChunk } from './table.ts'

/** Types of B-trees of chunks: without and with filters. */
const TYPES = [10, 11]

/** B-tree of version 2. Keys are the coordinates of chunks in the grid. */
export class ChunkTree2 implements ChunkFinder {
  readonly #set: ChunkSet
  readonly #tree = readOnce(() => readTree2(this.#set.file, this.#set.address!))

  constructor(set: ChunkSet) {
    this.#set = set
  }

  async find(wanted: readonly WantedChunk[]): Promise<ReadonlyMap<number, ChunkRange>> {
    const { file, address } = this.#set
    const found = new Map<number, ChunkRange>()
    if (address === undefined) return found
    const tree = await this.#tree()
    if (!TYPES.includes(tree.type)) damaged(`a B-tree of type ${tree.type} as a chunk index`, file.position(address), tree.type)
    const root = rootNode(tree)
    const sorted = [...wanted].sort((a, b) => compareCoords(a.coords, b.coords))
    if (root !== undefined) await this.#visit(tree, root, sorted, found, new Walk('nodes of a chunk index'))
    return found
  }

  /** @param wanted chunks in the order of their coordinates; they are in this node and below, or nowhere */
  async #visit(
    tree: Tree2,
    node: Child2,
    wanted: readonly WantedChunk[],
    found: Map<number, ChunkRange>,
    walk: Walk,
  ): Promise<void> {
    walk.visit(node.address)
    const { records, children } = await readNode2(this.#set.file, tree, node)
    const keys = records.map((record) => this.#coords(record, tree))
    const below: Promise<void>[] = []
    for (let first = 0, at = 0; first < wanted.length; ) {
      const { chunkIndex, coords } = wanted[first]!
      at = findPlace(keys, coords, at, false)
      const key = keys[at]
      let end = first + 1
      if (key !== undefined && compareCoords(key, coords) === 0) found.set(chunkIndex, this.#place(records[at]!, tree))
      else {
        // These chunks come before the record, so they are in the child before it.
        while (end < wanted.length && (key === undefined || compareCoords(wanted[end]!.coords, key) < 0)) end++
        if (children.length > 0) below.push(this.#visit(tree, children[at]!, wanted.slice(first, end), found, walk))
      }
      first = end
    }
    await Promise.all(below)
  }

  #coords(record: Cursor, { recordBytes }: Tree2): number[] {
    record.at = 0
    record.skip(recordBytes - 8 * this.#set.chunkShape.length)
    return this.#set.chunkShape.map(() => record.uint(8))
  }

  #place(record: Cursor, { type, recordBytes }: Tree2): ChunkRange {
    const { chunkShape, file, chunkBytes } = this.#set
    record.at = 0
    const address = record.definedAddress('a chunk')
    if (type === 10) return { address, bytes: chunkBytes, mask: 0 }
    const sizeBytes = recordBytes - 8 * chunkShape.length - file.sizes.offsets - 4
    return { address, bytes: record.uint(sizeBytes), mask: record.u32() }
  }
}
