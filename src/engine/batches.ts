import { HyperslabError } from '../core/errors.ts'
import type { ByteRange } from '../store/store.ts'
import type { BlockOrigin, BlockRef, Groups, Parts, Stored } from './block.ts'

/** Data to fetch from one block or segment: all of it, or some parts. */
export interface BlockRequest<C> {
  readonly block: BlockRef
  readonly chunks: readonly C[]
  /** Parts to fetch. Optional: undefined if the whole block is needed. */
  readonly parts?: Parts | undefined
  /** Ranges in the file. */
  readonly ranges: readonly ByteRange[]
}

/** Largest number of bytes per request to stores that read many ranges at once. */
const BATCH_BYTES = 32 * 1024 * 1024

/** Largest size of blocks of a local file that are read together, stored and decoded. */
const SMALL_BYTES = 64 * 1024
/** Most bytes between two small blocks that one call reads: longer gaps take more time than another call. */
export const SMALL_GAP_BYTES = 8 * 1024
/** Most bytes of small blocks of a local file that are read together. */
export const SMALL_BATCH_BYTES = 1024 * 1024

/** Assumed size of a block whose decoded size is unknown. */
const UNKNOWN_BYTES = 1024 * 1024

/**
 * Yields what is fetched at once: one block, several blocks of a store that reads many ranges, or several
 * small blocks of a local file that follow one another. Batches depend on the groups alone, so processing
 * them in order is deterministic.
 * @param smallBytes bytes of small blocks of local files that are read together; 0 reads each alone
 */
export function* splitBatches<C extends Stored>(groups: Groups<C>, smallBytes: number): Generator<readonly BlockRequest<C>[]> {
  const open = new Map<BlockOrigin, { requests: BlockRequest<C>[]; bytes: number }>()
  let small: BlockRequest<C>[] = []
  let joined = 0
  for (const [block, chunks, parts] of groups) {
    const request = createRequest(block, chunks, parts)
    const isJoined = smallBytes > 0 && isSmall(request)
    if (small.length > 0 && !(isJoined && small[0]!.block.origin === block.origin && joined < smallBytes)) {
      yield small
      small = []
      joined = 0
    }
    if (isJoined) {
      small.push(request)
      // Bytes between blocks are in memory, too.
      joined += Math.max(block.uncompressedBytes, block.compressedBytes + SMALL_GAP_BYTES)
      continue
    }
    if (block.origin.readMany === undefined) {
      yield [request]
      continue
    }
    const batch = open.get(block.origin) ?? { requests: [], bytes: 0 }
    open.set(block.origin, batch)
    batch.requests.push(request)
    for (const { length } of request.ranges) batch.bytes += length
    if (batch.bytes < BATCH_BYTES) continue
    open.delete(block.origin)
    yield batch.requests
  }
  if (small.length > 0) yield small
  for (const { requests } of open.values()) yield requests
}

/** Whether a block of a local file is needed whole, and reading it alone takes longer than decoding it. */
const isSmall = ({ block: { origin, compressedBytes, uncompressedBytes, part }, parts }: BlockRequest<unknown>): boolean =>
  origin.local !== undefined &&
  origin.readMany === undefined &&
  parts === undefined &&
  part === undefined &&
  compressedBytes <= SMALL_BYTES &&
  uncompressedBytes <= SMALL_BYTES

/** @throws CodecError if an uncompressed block has an unexpected length */
export function createRequest<C extends Stored>(block: BlockRef, chunks: readonly C[], parts?: Parts): BlockRequest<C> {
  if (block.codec === 'none') checkStored(block)
  return { block, chunks, parts, ranges: parts?.ranges ?? [storedRange(block)] }
}

export const storedRange = ({ fileOffset, compressedBytes }: BlockRef): ByteRange => ({
  offset: fileOffset,
  length: compressedBytes,
})

function checkStored({ id, origin, compressedBytes, uncompressedBytes }: BlockRef): void {
  if (compressedBytes === uncompressedBytes) return
  const text = `block ${id}: not compressed, but ${compressedBytes} bytes stored for ${uncompressedBytes}`
  throw new HyperslabError('CodecError', text, { file: origin.file, actual: compressedBytes, expected: uncompressedBytes })
}

/** Returns the decoded size of a block, or an estimate if it is unknown. */
export const decodedBytes = ({ uncompressedBytes }: BlockRef): number =>
  uncompressedBytes < Infinity ? uncompressedBytes : UNKNOWN_BYTES

/** Whether a block contains more than the given chunks. */
export const isPartialRead = ({ uncompressedBytes }: BlockRef, chunks: readonly Stored[]): boolean =>
  chunks.reduce((sum, { address }) => sum + address.size, 0) < uncompressedBytes
