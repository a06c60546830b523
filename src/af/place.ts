import { type DType, elementBytes, type FixedDType, isFixed } from '../core/dtype.js'
import { sizeOf, stridesOf } from '../core/shape.js'
import { type AxisView, copyTensor, type Tensor, viewTensor } from '../core/tensor.js'
import type { Arena } from '../kernels/arena.js'
import { copyStrided } from '../kernels/copy.js'
import { type ChunkBytes, viewOf } from './block.js'
import { decodeChunk } from './values.js'

/** Which elements of a chunk go where. */
export interface Placement {
  /** Shape of the chunk as stored. */
  readonly chunkShape: readonly number[]
  readonly inner: readonly AxisView[]
  /** In the result. */
  readonly outer: readonly AxisView[]
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

function gather(arena: Arena, dtype: FixedDType, chunk: ChunkBytes, { chunkShape, inner }: Placement): Tensor<FixedDType> {
  const size = elementBytes(dtype)
  const source = chunk instanceof Uint8Array ? arena.put(chunk) : chunk.pointer
  const shape = inner.map(({ length }) => length)
  const stride = stridesOf(shape)
  const pointer = arena.alloc(sizeOf(shape) * size)
  const chunkStride = stridesOf(chunkShape)
  const first = inner.reduce((at, { start }, axis) => at + start * chunkStride[axis]!, 0)
  const steps = inner.map(({ step }, axis) => step * chunkStride[axis]!)
  copyStrided(arena, size, shape, source + first * size, steps, pointer, stride)
  return { data: arena.view(dtype, pointer, sizeOf(shape)), shape, stride, offset: 0 }
}
