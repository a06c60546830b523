import { allocate, type DataOf, type DType, fillElement } from '../../core/dtype.ts'
import { sameShape, sizeOf } from '../../core/shape.ts'
import { copyTensor, fillTensor, tensorOf, viewTensor } from '../../core/tensor.ts'
import { type ChunkAddress, type ChunkBytes, chunkView } from '../../engine/block.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import { decodeChunk } from '../../engine/chunk-values.ts'
import { encodeChunk } from '../../engine/write-box.ts'
import type { Arena } from '../../kernels/arena.ts'
import { type Definition, definedFill, dtypeOf } from '../format/definition.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { measuredStats, visitBlocks } from '../layers/chunk-stats.ts'
import type { Layer } from '../layers/layer.ts'
import { LayerChunks } from '../layers/layer-chunks.ts'
import { PendingChunk } from '../layers/pending-chunk.ts'
import type { LayerArray } from './commit.ts'
import type { BlockPacker } from './packer.ts'

/**
 * Publishes arrays. If a layer still has a chunk of an earlier array with the same name as a new array, the
 * new array gets a chunk of fill values there. Readers of this package stop at the layer that defined an
 * array, but array-format 0.12 does not, and would show the old chunks. Chunks of one shape share one
 * location in a block. Old chunks of another rank cannot be covered: array-format 0.12 fails on them until
 * the container is compacted.
 * @param publish receives the chunks of each array; after an error the packer is as before
 */
export async function publishCovered<T>(
  states: readonly ArrayState[],
  layers: readonly Layer[],
  packer: BlockPacker,
  publish: (arrays: LayerArray[]) => Promise<T>,
): Promise<T> {
  const covers: PendingChunk[] = []
  try {
    const arrays: LayerArray[] = []
    for (const state of states) {
      const chunks = new Map(state.written)
      for (const numbers of byShape(state, oldChunks(state, layers)).values()) {
        const cover = new PendingChunk((arena, bytes) => measureAll(state, numbers, arena, bytes))
        covers.push(cover)
        await packer.put(cover, fillOnly(state, numbers[0]!))
        for (const chunkIndex of numbers) chunks.set(chunkIndex, cover)
      }
      arrays.push({ state, chunks })
    }
    return await publish(arrays)
  } catch (error) {
    // The next attempt may find other chunks to cover.
    for (const cover of covers) packer.drop(cover)
    throw error
  }
}

function fillOnly(state: ArrayState, chunkIndex: number): Uint8Array {
  const { definition, grid } = state
  return unwritten(definition, grid.shapeOf(grid.index(chunkIndex)))
}

function measureAll(state: ArrayState, numbers: readonly number[], arena: Arena, bytes: ChunkBytes): void {
  const stats = measuredStats(arena, state, numbers[0]!, bytes)
  for (const chunkIndex of numbers) state.measured(chunkIndex, stats)
}

/** Returns the numbers of old chunks that a new array would not overwrite. */
function oldChunks({ definition, grid, written, layer: newest }: ArrayState, layers: readonly Layer[]): Set<number> {
  const old = new Set<number>()
  if (newest >= 0) return old
  for (const layer of layers) {
    const chunks = layer.arrays.get(definition.name)?.chunks
    if (chunks === undefined || chunks.rank !== grid.shape.length) continue
    for (const chunkIndex of new LayerChunks(chunks, grid, layer.blocks).numbers())
      if (!written.has(chunkIndex)) old.add(chunkIndex)
  }
  return old
}

function byShape({ grid }: ArrayState, numbers: Iterable<number>): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  for (const chunkIndex of numbers) {
    const shape = grid.shapeOf(grid.index(chunkIndex)).join()
    const group = groups.get(shape)
    if (group === undefined) groups.set(shape, [chunkIndex])
    else group.push(chunkIndex)
  }
  return groups
}

/** Returns a copy of the payload of a stored chunk. */
export async function readChunk(address: ChunkAddress, blocks: BlockReader): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined
  await visitBlocks(blocks, [[address.block, [{ address }]]], (arena, _, chunk) => {
    bytes = new Uint8Array(chunkView(arena, chunk))
  })
  return bytes!
}

/** Returns the payload of an unwritten chunk. */
export function unwritten(definition: Definition, shape: readonly number[]): Uint8Array {
  const dtype = dtypeOf(definition)
  return encodeChunk(dtype, (allocate(dtype, sizeOf(shape)) as Fillable).fill(fillElement(dtype, definedFill(definition))))
}

type Fillable = { fill(value: unknown): DataOf<DType> }

/** Returns the payload of a chunk with another shape. New elements have the fill value. */
export function reshapeChunk(
  definition: Definition,
  bytes: Uint8Array,
  from: readonly number[],
  to: readonly number[],
): Uint8Array {
  if (sameShape(from, to)) return bytes
  const dtype = dtypeOf(definition)
  const source = tensorOf(dtype, from, decodeChunk(dtype, bytes, sizeOf(from)))
  const target = tensorOf(dtype, to)
  fillTensor(target, fillElement(dtype, definedFill(definition)))
  const shared = from.map((length, axis) => ({ start: 0, step: 1, length: Math.min(length, to[axis]!) }))
  copyTensor(viewTensor(source, shared), viewTensor(target, shared))
  return encodeChunk(dtype, target.data)
}
