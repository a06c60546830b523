import { type DType, elementBytes, type FixedDType, fromBytes, isFixed } from '../core/dtype.js'
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
 * Copies the selected elements of a decoded chunk to their place. Rows that are contiguous in an aligned chunk go straight there;
 * everything else is gathered into a dense piece by a kernel first, since JavaScript is slow at single elements and a chunk, packed
 * behind others, may start at any byte.
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
  const count = sizeOf(chunkShape)
  if (!isFixed(dtype)) {
    const data = decodeChunk(dtype, viewOf(arena, chunk), count)
    copyTensor(viewTensor({ data, shape: chunkShape, stride: stridesOf(chunkShape), offset: 0 }, inner), target)
    return
  }
  const bytes = viewOf(arena, chunk)
  const last = inner.at(-1)
  if (bytes.byteOffset % elementBytes(dtype) === 0 && (last === undefined || last.step === 1)) {
    const data = fromBytes(dtype as FixedDType, bytes) as Tensor<D>['data']
    copyTensor(viewTensor({ data, shape: chunkShape, stride: stridesOf(chunkShape), offset: 0 }, inner), target)
    return
  }
  copyTensor(gather(arena, dtype, chunk, placement) as Tensor<D>, target)
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
