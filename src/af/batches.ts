import { HyperslabError } from '../core/errors.js'
import type { ByteRange } from '../store/store.js'
import type { BlockOrigin, BlockRef, ChunkAddress } from './block.js'

export interface Stored {
  readonly address: ChunkAddress
}

/** Chunks by the block they lie in. */
export type Groups<C> = Iterable<readonly [BlockRef, readonly C[]]>

/** What has to be fetched of one block, or segment: all of it, or the parts where single chunks lie. */
export interface Need<C> {
  readonly block: BlockRef
  readonly chunks: readonly C[]
  readonly whole: boolean
  /** In the file. */
  readonly ranges: readonly ByteRange[]
}

/** Bytes asked for at once of stores that take many ranges. */
const BATCH_BYTES = 32 * 1024 * 1024

/**
 * What is fetched at once: one block or, of stores that read many ranges, several. Depends on the groups alone, so that whatever goes
 * through batches in order does so in the same order every time.
 */
export function* batchesOf<C extends Stored>(groups: Groups<C>): Generator<readonly Need<C>[]> {
  const open = new Map<BlockOrigin, { needs: Need<C>[]; bytes: number }>()
  for (const [block, chunks] of groups) {
    const need = needOf(block, chunks)
    if (block.origin.readMany === undefined) {
      yield [need]
      continue
    }
    const batch = open.get(block.origin) ?? { needs: [], bytes: 0 }
    open.set(block.origin, batch)
    batch.needs.push(need)
    for (const { length } of need.ranges) batch.bytes += length
    if (batch.bytes < BATCH_BYTES) continue
    open.delete(block.origin)
    yield batch.needs
  }
  for (const { needs } of open.values()) yield needs
}

/** Of blocks that are not compressed only the chunks are needed, as long as the block is as long as it says. */
export function needOf<C extends Stored>(block: BlockRef, chunks: readonly C[]): Need<C> {
  if (block.codec === 'none') checkStored(block)
  const inPlace = block.codec === 'none' && hasMore(block, chunks)
  if (!inPlace) return { block, chunks, whole: true, ranges: [rangeOf(block)] }
  const ranges = chunks.map(({ address }) => ({ offset: block.fileOffset + address.offset, length: address.size }))
  return { block, chunks, whole: false, ranges }
}

export const rangeOf = ({ fileOffset, compressedBytes }: BlockRef): ByteRange => ({ offset: fileOffset, length: compressedBytes })

/** @throws CodecError when a block that is not compressed has another length than it should */
function checkStored({ id, origin, compressedBytes, uncompressedBytes }: BlockRef): void {
  if (compressedBytes === uncompressedBytes) return
  const text = `block ${id}: not compressed, but ${compressedBytes} bytes stored for ${uncompressedBytes}`
  throw new HyperslabError('CodecError', text, { file: origin.file, actual: compressedBytes, expected: uncompressedBytes })
}

/** Whether a block holds more than some chunks. */
export const hasMore = ({ uncompressedBytes }: BlockRef, chunks: readonly Stored[]): boolean =>
  chunks.reduce((sum, { address }) => sum + address.size, 0) < uncompressedBytes
