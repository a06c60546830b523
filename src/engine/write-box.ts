import type { BlockSource } from '../array/source.ts'
import type { DType } from '../core/dtype.ts'
import { Pace } from '../core/pace.ts'
import type { Signal } from '../core/signal.ts'
import { cloneTensor, copyTensor, type Tensor, tensorOf, viewTensor } from '../core/tensor.ts'
import { type Box, boxShape } from '../grid/range.ts'
import { TouchedChunks } from '../grid/touched.ts'
import type { ChunkWriter } from './chunk-index.ts'
import { encodeChunk } from './chunk-values.ts'

/**
 * Writes a box chunk by chunk; of a chunk that it does not fill the rest is read first.
 */
export async function writeBox<D extends DType>(
  target: BlockSource<D>,
  box: Box,
  source: Tensor<D>,
  writer: ChunkWriter,
  signal: Signal | undefined,
): Promise<void> {
  const { chunks: grid, dtype } = target
  const touched = new TouchedChunks(box, grid)
  const pace = new Pace(signal)
  for (let at = 0; at < touched.count; at++) {
    if (pace.due()) await pace.turn()
    signal?.throwIfAborted()
    const projections = touched.projections(at)
    const index = projections.map(({ chunk }) => chunk)
    const chunkBox = grid.box(index)
    const shape = boxShape(chunkBox)
    const values = viewTensor(
      source,
      projections.map(({ to }) => to),
    )
    const whole = projections.every(({ from, length }) => from.length === length)
    let chunk: Tensor<D>
    if (whole) chunk = cloneTensor(dtype, values)
    else {
      chunk = tensorOf(dtype, shape)
      await target.readBlock(chunkBox, chunk, { signal })
      const places = projections.map(({ from }) => from)
      copyTensor(values, viewTensor(chunk, places))
    }
    await writer.put(grid.number(index), encodeChunk(dtype, chunk.data), { whole })
  }
}
