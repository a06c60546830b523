import { type DType, elementBytes, type FixedDType, fromBytes, isFixed } from '../core/dtype.js'
import { sizeOf, stridesOf } from '../core/shape.js'
import { type AxisView, copyTensor, type Tensor, tensorOf, viewTensor } from '../core/tensor.js'
import { type Arena, withArena } from '../kernels/arena.js'
import { tableOf } from '../kernels/boxes.js'
import { copyStrided } from '../kernels/copy.js'
import type { Task } from '../pool/task.js'
import { type ChunkAddress, type ChunkBytes, viewOf } from './block.js'
import { type BlockUse, visiting } from './block-reader.js'
import { decodeChunk } from './values.js'

/** Which elements of a chunk go where. */
export interface Placement {
  /** Shape of the chunk as stored. */
  readonly chunkShape: readonly number[]
  readonly inner: readonly AxisView[]
  /** In the result. */
  readonly outer: readonly AxisView[]
}

/** A stored chunk with what is wanted of it. */
export type PlacedChunk = Placement & { readonly address: ChunkAddress }

/** What reading does with the chunks of a block: puts their selected elements into `out`. */
export function placing<D extends DType>(dtype: D, out: Tensor<D>): BlockUse<PlacedChunk, void> {
  return {
    here: visiting((arena, chunk, bytes) => placeChunk(arena, dtype, bytes, chunk, out)),
    there(chunks) {
      if (isFixed(dtype) && chunks.some(isPartial)) {
        const place = (bytes: Uint8Array): void => placeGathered(dtype, bytes, chunks, out as Tensor<FixedDType>)
        return { task: gatherTask(dtype, chunks), result: ({ bytes }) => place(bytes) }
      }
      const place = (bytes: Uint8Array): void => {
        for (const chunk of chunks) {
          const { offset, size } = chunk.address
          withArena((arena) => placeChunk(arena, dtype, bytes.subarray(offset, offset + size), chunk, out))
        }
      }
      return { task: { kind: 'decode', keep: false }, result: ({ bytes }) => place(bytes) }
    },
  }
}

const isPartial = ({ chunkShape, inner }: Placement): boolean => inner.some(({ length }, axis) => length < chunkShape[axis]!)

function gatherTask(dtype: FixedDType, chunks: readonly PlacedChunk[]): Task {
  const size = elementBytes(dtype)
  const boxes = chunks.map((chunk) => ({ ...selected(chunk, size, chunk.address.offset), place: 0 }))
  return { kind: 'gather', elementBytes: size, table: tableOf(chunks[0]!.inner.length, boxes) }
}

function placeGathered(dtype: FixedDType, bytes: Uint8Array, chunks: readonly PlacedChunk[], out: Tensor<FixedDType>): void {
  const data = fromBytes(dtype, bytes)
  let offset = 0
  for (const { inner, outer } of chunks) {
    const shape = inner.map(({ length }) => length)
    copyTensor({ data, shape, stride: stridesOf(shape), offset }, viewTensor(out, outer))
    offset += sizeOf(shape)
  }
}

/** The selected elements of a chunk as a box in the memory where the chunk starts at byte `start`. */
export function selected(
  { chunkShape, inner }: Pick<Placement, 'chunkShape' | 'inner'>,
  size: number,
  start: number,
): { offset: number; shape: number[]; stride: number[] } {
  const { offset, shape, stride } = viewTensor({ data: [], shape: chunkShape, stride: stridesOf(chunkShape), offset: 0 }, inner)
  return { offset: start + offset * size, shape: [...shape], stride: [...stride] }
}

/**
 * Copies the selected elements of a decoded chunk to their place. Where the innermost axis is stepped through, a kernel gathers them into
 * a dense piece first, since JavaScript is slow at single elements.
 */
export function placeChunk<D extends DType>(
  arena: Arena,
  dtype: D,
  chunk: ChunkBytes,
  placement: Placement,
  out: Tensor<D>,
): void {
  const { chunkShape, inner, outer } = placement
  const target = viewTensor(out, outer)
  const stepped = (inner.at(-1)?.step ?? 1) > 1
  if (isFixed(dtype) && stepped) {
    copyTensor(gather(arena, dtype, chunk, placement) as Tensor<D>, target)
    return
  }
  const data = decodeChunk(dtype, viewOf(arena, chunk), sizeOf(chunkShape))
  copyTensor(viewTensor({ data, shape: chunkShape, stride: stridesOf(chunkShape), offset: 0 }, inner), target)
}

function gather(arena: Arena, dtype: FixedDType, chunk: ChunkBytes, placement: Placement): Tensor<FixedDType> {
  const size = elementBytes(dtype)
  const source = chunk instanceof Uint8Array ? arena.put(chunk) : chunk.pointer
  const { offset, shape, stride } = selected(placement, size, source)
  const pointer = arena.alloc(sizeOf(shape) * size)
  copyStrided(arena, size, shape, offset, stride, pointer, stridesOf(shape))
  return tensorOf(dtype, shape, arena.view(dtype, pointer, sizeOf(shape)))
}
