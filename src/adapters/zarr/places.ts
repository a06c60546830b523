import type { ChunkGrid } from '../../grid/chunks.ts'
import type { ShardLevel } from './metadata.ts'
import { tableShape } from './shards.ts'

/** Location of a chunk, whether it is stored or not. */
export interface ChunkPlace {
  /** Key of the object that is the chunk or contains it. */
  readonly key: string
  /** Shape of the chunk as it is stored. */
  readonly shape: readonly number[]
  /** Names of the tables that lead to it, from the outermost shard to the innermost. */
  readonly tables: readonly string[]
  /** Shapes of these tables. */
  readonly tableShapes: readonly (readonly number[])[]
  /** Position in each of these tables, in C order. */
  readonly positions: readonly number[]
}

/**
 * Returns the location of a chunk.
 * @param chunks grid of the chunks, as they are stored
 * @param objects grid of the objects that contain them
 * @param keyOf returns the key of an object from its coordinates
 */
export function placeIn(
  chunkIndex: number,
  chunks: ChunkGrid,
  objects: ChunkGrid,
  levels: readonly ShardLevel[],
  keyOf: (coords: readonly number[]) => string,
): ChunkPlace {
  const coords = chunks.index(chunkIndex)
  const shape = coords.map((k, axis) => chunks.axes[axis]!.storedLength(k))
  const first = coords.map((k, axis) => chunks.axes[axis]!.start(k))
  const object = objects.find(first)
  const key = keyOf(object)
  const tables: string[] = []
  const tableShapes: number[][] = []
  const positions: number[] = []
  let shard = object.map((k, axis) => objects.axes[axis]!.storedLength(k))
  let within = first.map((start, axis) => start - objects.axes[axis]!.start(object[axis]!))
  for (const level of levels) {
    const { innerShape, order } = level
    const counts = tableShape(shard, level)
    tables.push([key, ...positions].join(' '))
    tableShapes.push(counts)
    positions.push(order.reduce((at, axis, i) => at * counts[i]! + Math.floor(within[axis]! / innerShape[axis]!), 0))
    within = within.map((start, axis) => start % innerShape[axis]!)
    shard = [...innerShape]
  }
  return { key, shape, tables, tableShapes, positions }
}
