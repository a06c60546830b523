import { isListed } from '../core/axis-indices.ts'
import { type DType, elementBytes, isFixed, type TypedArray, toBytes } from '../core/dtype.ts'
import { forEachLimited } from '../core/limiter.ts'
import { sizeOf } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import type { ChunkCopy } from '../grid/projection.ts'
import type { BlockRequest } from './batches.ts'
import type { Stored } from './block.ts'
import type { BlockFetcher } from './block-fetcher.ts'

/** A chunk that is copied to a result. */
export type CopiedChunk = ChunkCopy & Stored

/** Ranges that are read at the same time. */
const CONCURRENT_READS = 4

/**
 * Reads uncompressed bytes of a local file straight into the result, if they have the same order there.
 * Returns false, and reads nothing, if they do not. Waits for reads under way after an abort, so that no read
 * writes to the result later.
 * @throws IntegrityError if the bytes have changed since they were written; any error of the store
 */
export async function readDirectly(
  request: BlockRequest<CopiedChunk>,
  dtype: DType,
  fetcher: BlockFetcher,
  signal: Signal | undefined,
): Promise<boolean> {
  const { block, ranges } = request
  const targets = chunksByRange(request).map((chunks, i) => {
    const { offset, length } = ranges[i]!
    const isFirst = block.fileOffset + (chunks[0]?.address.offset ?? Number.NaN) === offset
    const target = isFirst ? memoryFor(dtype, chunks) : undefined
    return target?.length === length ? target : undefined
  })
  if (targets.includes(undefined)) return false
  await forEachLimited(targets.keys(), CONCURRENT_READS, (i) => fetcher.readInto(request, i, targets[i]!, signal))
  signal?.throwIfAborted()
  return true
}

/** Returns the chunks in each range that a block needs. */
function chunksByRange({ chunks, parts, ranges }: BlockRequest<CopiedChunk>): readonly (readonly CopiedChunk[])[] {
  if (parts === undefined) return [chunks]
  const found: CopiedChunk[][] = ranges.map(() => [])
  chunks.forEach((chunk, i) => void found[parts.partOf[i]!]!.push(chunk))
  return found
}

/**
 * Returns the memory of the result that the stored bytes of some chunks fill, one chunk after another;
 * undefined if they have another order there.
 */
function memoryFor(dtype: DType, chunks: readonly CopiedChunk[]): Uint8Array | undefined {
  const { out, address } = chunks[0]!
  const data = out.data as TypedArray
  if (!isFixed(dtype) || !(data.buffer instanceof ArrayBuffer)) return undefined
  let [first, next] = [-1, -1]
  for (const chunk of chunks) {
    const at = findStart(chunk)
    if (at === undefined || chunk.out !== out) return undefined
    if (first < 0) [first, next] = [at, at]
    if (at !== next || chunk.address.offset !== address.offset + (at - first) * elementBytes(dtype)) return undefined
    next = at + sizeOf(chunk.chunkShape)
  }
  return toBytes(data.subarray(first, next))
}

/** Returns where a chunk begins in its result; undefined unless all of it lies there in its own order. */
function findStart({ chunkShape, from, to, out }: CopiedChunk): number | undefined {
  let [start, run] = [out.offset, 1]
  for (let axis = chunkShape.length - 1; axis >= 0; axis--) {
    const [source, target, length] = [from[axis]!, to[axis]!, chunkShape[axis]!]
    if (isListed(source) || isListed(target) || source.length !== length) return undefined
    start += target.start * out.stride[axis]!
    if (length > 1 && (source.step !== 1 || target.step * out.stride[axis]! !== run)) return undefined
    run *= length
  }
  return start
}
