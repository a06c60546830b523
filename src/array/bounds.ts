import type { DType } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { sizeOf } from '../core/shape.ts'
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

/** Large enough for what is read on purpose; below what an allocation refuses. */
export const MAX_RESULT_BYTES = 2 ** 31

/**
 * Refuses what would take too much memory, before anything of it is allocated.
 * @param what takes the memory, and `how` it takes less
 * @throws TooLargeError
 */
export function checkBytes(
  { label }: Pick<BlockSource, 'label'>,
  bytes: number,
  maxBytes: number,
  what: string,
  how: string,
): void {
  if (bytes <= maxBytes) return
  const text = `${what} takes ${bytes} bytes, more than ${maxBytes}: ${how}`
  throw new HyperslabError('TooLargeError', text, { ...label, actual: bytes, expected: maxBytes })
}
