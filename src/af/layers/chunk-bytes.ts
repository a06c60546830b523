import { allocate, type DataOf, type DType, fillElement } from '../../core/dtype.ts'
import { sameShape, sizeOf } from '../../core/shape.ts'
import { copyTensor, fillTensor, tensorOf, viewTensor } from '../../core/tensor.ts'
import { type ChunkAddress, chunkView } from '../../engine/block.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import { decodeChunk, encodeChunk } from '../../engine/chunk-values.ts'
import { type Definition, dtypeOf, fillOf } from '../format/definition.ts'

/** The payload of a stored chunk, as a copy. */
export async function readChunk(address: ChunkAddress, blocks: BlockReader): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined
  await blocks.visit([[address.block, [{ address }]]], (arena, _, chunk) => {
    bytes = new Uint8Array(chunkView(arena, chunk))
  })
  return bytes!
}

/** The payload of a chunk nobody wrote. */
export function unwritten(definition: Definition, shape: readonly number[]): Uint8Array {
  const dtype = dtypeOf(definition)
  return encodeChunk(dtype, (allocate(dtype, sizeOf(shape)) as Fillable).fill(fillElement(dtype, fillOf(definition))))
}

type Fillable = { fill(value: unknown): DataOf<DType> }

/** The payload of a chunk that ends elsewhere: what it gains is fill. */
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
  fillTensor(target, fillElement(dtype, fillOf(definition)))
  const shared = from.map((length, axis) => ({ start: 0, step: 1, length: Math.min(length, to[axis]!) }))
  copyTensor(viewTensor(source, shared), viewTensor(target, shared))
  return encodeChunk(dtype, target.data)
}
