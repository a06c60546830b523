import type { BlockSource } from '../array/source.ts'
import { cloneTensor } from '../core/dense.ts'
import { type DataOf, type DType, isFixed, type TypedArray, toBytes } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { Pace } from '../core/pace.ts'
import type { Signal } from '../core/signal.ts'
import { copyTensor, type Tensor, tensorOf, viewTensor } from '../core/tensor.ts'
import { type Box, boxShape } from '../grid/range.ts'
import { TouchedChunks } from '../grid/touched.ts'
import type { ChunkIndex, ChunkWriter } from './chunk-index.ts'
import { OFFSET_BYTES } from './chunk-values.ts'

/**
 * Writes a box by the method of its format.
 * @param check throws if the box no longer exists
 * @throws ReadOnlyError if the array cannot be written at the moment
 */
export async function writeTo<D extends DType>(
  target: BlockSource<D>,
  index: ChunkIndex<D>,
  check: () => void,
  box: Box,
  source: Tensor<D>,
  signal: Signal | undefined,
  mask: Tensor<'bool'> | undefined,
): Promise<void> {
  const { writer } = index
  if (writer === undefined) {
    check()
    return index.writeBox!(box, source, signal, mask)
  }
  const { readOnly } = writer
  if (readOnly !== undefined) throw new HyperslabError('ReadOnlyError', readOnly)
  await writer.exclusive(async () => {
    check()
    await writeBox(target, box, source, writer, signal)
  })
}

/** Writes a box chunk by chunk. Chunks that it does not fill are read first. */
async function writeBox<D extends DType>(
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
    await writer.put(grid.chunkIndex(index), encodeChunk(dtype, chunk.data), { whole })
  }
}

/**
 * Encodes the payload of a chunk from its elements in C order. For fixed-width types, the payload shares
 * memory with `data`.
 */
export function encodeChunk<D extends DType>(dtype: D, data: DataOf<D>): Uint8Array {
  if (isFixed(dtype)) return toBytes(data as TypedArray)
  const utf8 = new TextEncoder()
  const values = (data as (string | Uint8Array)[]).map((value) =>
    typeof value === 'string' ? utf8.encode(wellFormed(value)) : value,
  )
  const head = OFFSET_BYTES * (values.length + 1)
  const total = values.reduce((sum, value) => sum + value.length, head)
  if (total > 0xffffffff) {
    throw new HyperslabError(
      'InvalidArgumentError',
      `a chunk of ${dtype} values of ${total} bytes is larger than 4 GiB; use smaller chunks`,
      { actual: total },
    )
  }
  const bytes = new Uint8Array(total)
  const view = new DataView(bytes.buffer)
  let offset = 0
  values.forEach((value, i) => {
    bytes.set(value, head + offset)
    offset += value.length
    view.setUint32(OFFSET_BYTES * (i + 1), offset, true)
  })
  return bytes
}

function wellFormed(value: string): string {
  if (!/\p{Surrogate}/u.test(value)) return value
  throw new HyperslabError('InvalidArgumentError', 'a string with a lone surrogate has no UTF-8 form', { actual: value })
}
