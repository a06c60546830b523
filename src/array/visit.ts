import type { DType } from '../core/dtype.ts'
import { ahead, batched } from '../core/in-order.ts'
import { sizeOf } from '../core/shape.ts'
import { tensorOf } from '../core/tensor.ts'
import { READ_BYTES } from '../grid/chunks.ts'
import { type Box, boxShape, rangeOf } from '../grid/range.ts'
import { outerBox, TouchedChunks } from '../grid/touched.ts'
import { checkElements } from './bounds.ts'
import { type BlockOptions, type BlockSource, bytesOf, type PartVisitor } from './source.ts'

/** Goes through a box of any source, part by part: by its own bulk operation, or chunk by chunk. */
export const visitParts = <D extends DType, R>(
  source: BlockSource<D>,
  box: Box,
  visitor: PartVisitor<D, R>,
  options: BlockOptions = {},
): AsyncIterable<R> => source.bulk?.visit?.(box, visitor, options) ?? visitChunkByChunk(source, box, visitor, options)

/** Reads chunks of which nothing is known, some ahead: together where the source reads in bulk. */
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
  // Chunks that may lie in one block are asked for together.
  const portions = batched(chosen(), bulk?.read === undefined ? 0 : READ_BYTES, bytesIn)
  const limits = {
    count: bulk?.read === undefined ? 4 : 2,
    bytes: 2 * READ_BYTES,
    bytesOf: (parts: readonly Part[]) => parts.reduce((sum, each) => sum + bytesIn(each), 0),
  }
  for await (const results of ahead(portions, limits, read)) yield* results
}
