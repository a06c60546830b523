import type { Lz4PrefixDecoder } from '../codec/lz4-front.ts'
import { ByteCache } from '../core/byte-cache.ts'
import { SingleFlight } from '../core/single-flight.ts'
import type { Tail } from '../store/store.ts'
import type { BlockRef } from './block.ts'

/** A block of which more may be wanted: decoded, or as far as it was needed. */
export type Decoded = Uint8Array | Lz4PrefixDecoder

/** What was fetched: a range of a file as stored, or its end. */
export type Slab = Uint8Array | (Tail & { readonly byteLength: number; readonly identity: string })

/** What readers of blocks keep and share. */
export interface BlockMemory {
  readonly blocks: ByteCache<string, Decoded>
  /** Left out where nothing is kept of what was fetched. */
  readonly slabs?: ByteCache<string, Slab> | undefined
  readonly fetches: SingleFlight<string, Uint8Array>
  readonly decodes: SingleFlight<string, Uint8Array | undefined>
}

/** The memory of one file. */
export const memoryOf = (blockBytes: number): BlockMemory => ({
  blocks: new ByteCache(blockBytes),
  fetches: new SingleFlight(),
  decodes: new SingleFlight(),
})

/** Under which a block is kept for all who read the same bytes. */
export function keyOf(block: BlockRef): string {
  const { origin, id, part } = block
  return origin.cacheKey === undefined ? ownKeyOf(block) : `${origin.cacheKey} ${part ? `${id}.${part.number}` : id}`
}

const ownKeys = new WeakMap<BlockRef, string>()
let last = 0

/**
 * A key of this very block: where bytes may still change under the same number, or codecs of other files
 * under the same name.
 */
export function ownKeyOf(block: BlockRef): string {
  const key = ownKeys.get(block) ?? `#${++last}`
  ownKeys.set(block, key)
  return key
}
