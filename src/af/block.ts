import { LRUCache } from 'lru-cache'
import { findCodec } from '../codec/registry.js'
import { HyperslabError, rethrowWithin } from '../core/errors.js'
import { forEachLimited } from '../core/limiter.js'
import type { Signal } from '../core/signal.js'
import { type Arena, withArena } from '../kernels/arena.js'

/** Where blocks lie: a committed layer or the stage of the one being written. */
export interface BlockOrigin {
  /** For error messages. */
  readonly file: string
  read(offset: number, length: number, signal?: Signal): Promise<Uint8Array>
}

/** A compressed run of chunks. Two references to one block are the same object, which is what caches key on. */
export interface BlockRef {
  readonly origin: BlockOrigin
  readonly id: number
  readonly fileOffset: number
  readonly compressedBytes: number
  readonly uncompressedBytes: number
  readonly codec: string
}

/** Where the bytes of one stored chunk are. */
export interface ChunkAddress {
  readonly block: BlockRef
  /** Position in the decoded block. */
  readonly offset: number
  readonly size: number
}

/** A decoded chunk: in kernel memory, or in JavaScript's. */
export type ChunkBytes = { readonly pointer: number; readonly size: number } | Uint8Array

/** A decoded chunk as bytes; the view is valid until kernel memory is asked for again. */
export const viewOf = (arena: Arena, chunk: ChunkBytes): Uint8Array =>
  chunk instanceof Uint8Array ? chunk : arena.bytes(chunk.pointer, chunk.size)

/** Parts of one uncompressed block that are fetched at the same time. */
const CONCURRENT_PARTS = 4

/** Kernel memory is 32 bits wide and a decoded block must leave room in it for everything else. */
const MAX_BLOCK_BYTES = 2 ** 31

/** @throws CodecError with file and block when the block cannot be decoded */
export function decodeBlock(arena: Arena, block: BlockRef, bytes: Uint8Array): number {
  try {
    checkBlock(block)
    return findCodec(block.codec).decode(arena, bytes, block.uncompressedBytes)
  } catch (error) {
    return rethrowWithin(prefixed(error, block), { file: block.origin.file })
  }
}

function prefixed(error: unknown, { id }: BlockRef): unknown {
  if (!(error instanceof HyperslabError) || error.tag !== 'CodecError') return error
  return new HyperslabError(error.tag, `block ${id}: ${error.message}`, error.details)
}

/** Parts of a block can be read as they lie only when it is as long as it says. */
function checkParts({ id, compressedBytes, uncompressedBytes, origin }: BlockRef): void {
  if (compressedBytes === uncompressedBytes) return
  const text = `block ${id}: not compressed, but ${compressedBytes} bytes stored for ${uncompressedBytes}`
  throw new HyperslabError('CodecError', text, { file: origin.file, actual: compressedBytes, expected: uncompressedBytes })
}

function checkBlock({ uncompressedBytes }: BlockRef): void {
  if (uncompressedBytes <= MAX_BLOCK_BYTES) return
  throw new HyperslabError(
    'CodecError',
    `${uncompressedBytes} decoded bytes are more than the ${MAX_BLOCK_BYTES} this package takes on`,
    {
      actual: uncompressedBytes,
      expected: MAX_BLOCK_BYTES,
    },
  )
}

/** What reading has cost since the file was opened. */
export interface ReadCost {
  /** Blocks fetched (and decoded) from the store. */
  blocks: number
  /** Compressed bytes fetched for them. */
  bytes: number
}

/**
 * Fetches blocks, once for all who ask at the same time, and keeps decoded ones whose other chunks are likely to be wanted soon, the
 * least recently used going first when the byte budget is spent.
 */
export class BlockCache {
  readonly cost: ReadCost = { blocks: 0, bytes: 0 }
  readonly #decoded: LRUCache<BlockRef, Uint8Array>
  readonly #loading = new Map<BlockRef, Promise<Uint8Array>>()

  constructor(maxBytes: number) {
    this.#decoded = new LRUCache({ maxSize: maxBytes, sizeCalculation: (bytes) => bytes.length })
  }

  /**
   * Fetches what `chunks` need of one block and hands each of them to `visit`, decoded. What it gets is valid during the call only.
   * @throws CodecError when the block does not decode
   */
  async visit<C extends { readonly address: ChunkAddress }>(
    block: BlockRef,
    chunks: readonly C[],
    visit: (arena: Arena, chunk: C, bytes: ChunkBytes) => void,
    signal?: Signal,
  ): Promise<void> {
    const decoded = this.#decoded.get(block)
    if (decoded !== undefined) {
      for (const chunk of chunks) withArena((arena) => visit(arena, chunk, partOf(decoded, chunk.address)))
      return
    }
    const wanted = chunks.reduce((sum, { address }) => sum + address.size, 0)
    if (block.codec === 'none' && wanted < block.uncompressedBytes) {
      checkParts(block)
      await forEachLimited(chunks, CONCURRENT_PARTS, async (chunk) => {
        const bytes = await this.#fetch(block, chunk.address.offset, chunk.address.size, signal)
        withArena((arena) => visit(arena, chunk, bytes))
      })
      return
    }
    const stored = await this.#fetchOnce(block, signal)
    withArena((arena) => {
      const pointer = decodeBlock(arena, block, stored)
      for (const chunk of chunks) {
        const { offset, size } = chunk.address
        withArena((inner) => visit(inner, chunk, { pointer: pointer + offset, size }))
      }
      // Only a block that has more to give is worth a copy.
      if (wanted < block.uncompressedBytes) this.#decoded.set(block, arena.bytes(pointer, block.uncompressedBytes).slice())
    })
  }

  clear(): void {
    this.#decoded.clear()
  }

  async #fetchOnce(block: BlockRef, signal?: Signal): Promise<Uint8Array> {
    const loading = this.#loading.get(block)
    if (loading !== undefined) return loading
    const bytes = this.#fetch(block, 0, block.compressedBytes, signal)
    this.#loading.set(block, bytes)
    try {
      return await bytes
    } finally {
      this.#loading.delete(block)
    }
  }

  async #fetch(block: BlockRef, offset: number, length: number, signal?: Signal): Promise<Uint8Array> {
    this.cost.blocks++
    this.cost.bytes += length
    return block.origin.read(block.fileOffset + offset, length, signal)
  }
}

const partOf = (decoded: Uint8Array, { offset, size }: ChunkAddress): Uint8Array => decoded.subarray(offset, offset + size)
