import { allocate, type DataOf, type DType, isFixed, type TypedArray } from '../../core/dtype.js'
import { inOrder } from '../../core/in-order.js'
import { sizeOf } from '../../core/shape.js'
import { type Tensor, tensorOf } from '../../core/tensor.js'
import { type ChunkGrid, chunkBoxes, READ_BYTES } from '../../grid/chunks.js'
import { type Box, boxShape } from '../../grid/range.js'
import { checkElements } from '../bounds.js'
import { checkBytes, MAX_RESULT_BYTES } from '../max-bytes.js'
import { type BlockOptions, type BlockSource, bytesOf } from '../source.js'

/** A part of an array with its elements, dense, in C order. They are good until the next one is taken: their memory is used again. */
export interface Run<D extends DType = DType> {
  readonly box: Box
  readonly tensor: Tensor<D>
}

export interface RunOptions extends BlockOptions {
  /** What to read at once; runs of neighbouring chunks of some MiB when left out. */
  readonly runs?: ChunkGrid
  /** How many runs are read or wait at a time; two when left out. With one, nothing is read before the last one was taken. */
  readonly atOnce?: number
}

const STOP = Symbol('stop')

/**
 * Goes through an array in C order of its runs, reading one while another is taken, each of them once.
 * @throws TooLargeError when there are more elements than the source allows, or one chunk of more than 2 GiB
 * @param take may return true to end it: then nothing more is read
 */
export async function eachRun<D extends DType>(
  source: BlockSource<D>,
  options: RunOptions,
  take: (run: Run<D>) => unknown,
): Promise<void> {
  const { dtype } = source
  const { runs = runsOf(source), atOnce = 2, signal } = options
  const largest = sizeOf(runs.chunkShape.map((length, axis) => Math.min(length, source.shape[axis]!)))
  checkElements(source)
  const how = 'reduce parts of the array'
  checkBytes(source, largest * bytesOf(dtype), MAX_RESULT_BYTES, 'a chunk', how)
  const free: TypedArray[] = []
  const read = async (box: Box): Promise<Run<D> & { buffer: DataOf<D> }> => {
    signal?.throwIfAborted()
    const shape = boxShape(box)
    const size = sizeOf(shape)
    const buffer = isFixed(dtype) ? (free.pop() ?? allocate(dtype, largest)) : allocate(dtype, size)
    const data = isFixed(dtype) ? (buffer as TypedArray).subarray(0, size) : buffer
    const tensor = tensorOf(dtype, shape, data as DataOf<D>)
    await source.readBlock(box, tensor, { signal })
    return { box, tensor, buffer: buffer as DataOf<D> }
  }
  const limits = { count: atOnce, bytes: 4 * READ_BYTES, bytesOf: () => largest * bytesOf(dtype) }
  try {
    await inOrder(chunkBoxes(runs), limits, read, (run) => {
      if (take(run) === true) throw STOP
      if (isFixed(dtype)) free.push(run.buffer as TypedArray)
    })
  } catch (error) {
    if (error !== STOP) throw error
  }
}

export const runsOf = (source: BlockSource): ChunkGrid => source.chunks.coarsen(READ_BYTES / bytesOf(source.dtype))
