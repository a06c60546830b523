import type { DType } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { sizeOf } from '../core/shape.ts'
import { checkBytes, MAX_RESULT_BYTES } from './max-bytes.ts'
import { type BlockSource, bytesOf } from './source.ts'

/** @throws TooLargeError when one chunk does not fit in `maxBytes` */
export function checkChunk(source: BlockSource<DType>, maxBytes: number = MAX_RESULT_BYTES): void {
  const { chunks, shape, dtype } = source
  const largest = sizeOf(chunks.chunkShape.map((length, axis) => Math.min(length, shape[axis]!)))
  checkBytes(source, largest * bytesOf(dtype), maxBytes, 'a chunk', 'read parts of it with get()')
}

/**
 * @param elements that are gone through; all of the array when left out
 * @throws TooLargeError when they are more than the source lets an operation go through
 */
export function checkElements(
  { shape, maxElements = Number.POSITIVE_INFINITY, label }: BlockSource<DType>,
  elements: number = sizeOf(shape),
): void {
  if (elements <= maxElements) return
  const text = `going through ${elements} elements is more than limits.elements, ${maxElements}: take a part of the array`
  throw new HyperslabError('TooLargeError', text, { ...label, actual: elements, expected: maxElements })
}
