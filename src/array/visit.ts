import { batched } from '../core/batched.ts'
import type { DType } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { ahead } from '../core/in-order.ts'
import { sizeOf } from '../core/shape.ts'
import { tensorOf } from '../core/tensor.ts'
import { READ_BYTES } from '../grid/chunks.ts'
import { type Box, boxShape, rangeOf } from '../grid/range.ts'
import { outerBox, TouchedChunks } from '../grid/touched.ts'
import { checkBytes, MAX_RESULT_BYTES } from './bounds.ts'
import { type BlockOptions, type BlockSource, bytesOf, type PartVisitor } from './source.ts'

/** @throws TooLargeError if one chunk does not fit into `maxBytes` */
export function checkChunk(source: BlockSource<DType>, maxBytes: number = MAX_RESULT_BYTES): void {
  const { chunks, shape, dtype } = source
  const largest = sizeOf(chunks.chunkShape.map((length, axis) => Math.min(length, shape[axis]!)))
  checkBytes(source, largest * bytesOf(dtype), maxBytes, 'a chunk', 'read parts of it with get()')
}

/**
 * Checks the limit of elements per operation.
 * @param elements to be processed; default is the whole array
 * @throws TooLargeError if they exceed the limit of the source
 */
export function checkElements(
  { shape, maxElements = Number.POSITIVE_INFINITY, label }: BlockSource<DType>,
  elements: number = sizeOf(shape),
): void {
  if (elements <= maxElements) return
  const text = `going through ${elements} elements is more than \`limits.elements\`, ${maxElements}: take a part of the array`
  throw new HyperslabError('TooLargeError', text, { ...label, actual: elements, expected: maxElements })
}

/** Visits a box of any source part by part: by its bulk operation, or chunk by chunk. */
export const visitParts = <D extends DType, R>(
  source: BlockSource<D>,
  box: Box,
  visitor: PartVisitor<D, R>,
  options: BlockOptions = {},
): AsyncIterable<R> => source.bulk?.visit?.(box, visitor, options) ?? visitChunkByChunk(source, box, visitor, options)

/** Reads chunks without statistics, some ahead; together if the source reads in bulk. */
export async function* visitChunkByChunk<D extends DType, R>(
  source: BlockSource<D>,
  box: Box,
  visitor: PartVisitor<D, R>,
  options: BlockOptions = {},
): AsyncGenerator<R, void, undefined> {
  const { chunks, dtype, bulk } = source
  checkElements(source, sizeOf(boxShape(box)))
  const touched = new TouchedChunks(box, chunks)
  interface Part {
    readonly part: Box
    readonly box: Box
  }
  function* chosen(): Generator<Part> {
    for (let at = 0; at < touched.count; at++) {
      const projections = touched.projections(at)
      const part = outerBox(projections)
      const own = projections.map(({ chunk, from }, axis) =>
        rangeOf({ ...from, start: chunks.axes[axis]!.start(chunk) + from.start }),
      )
      if (visitor.shouldRead(part, undefined)) yield { part, box: own }
    }
  }
  const read = async (parts: readonly Part[]): Promise<R[]> => {
    options.signal?.throwIfAborted()
    const reads = parts.map((part) => ({ ...part, out: tensorOf(dtype, boxShape(part.part)) }))
    if (bulk?.read !== undefined) await bulk.read(reads, options)
    else for (const { box, out } of reads) await source.readBlock(box, out, options)
    return reads.map(({ part, out }) => visitor.visit(part, out))
  }
  const bytesIn = ({ part }: Part): number => sizeOf(boxShape(part)) * bytesOf(dtype)
  // Chunks that may share a block are requested together.
  const portions = batched(chosen(), bulk?.read === undefined ? 0 : READ_BYTES, bytesIn)
  const limits = {
    count: bulk?.read === undefined ? 4 : 2,
    bytes: 2 * READ_BYTES,
    bytesOf: (parts: readonly Part[]) => parts.reduce((sum, each) => sum + bytesIn(each), 0),
  }
  for await (const results of ahead(portions, limits, read)) yield* results
}
