import { Codecs } from '../../src/codec/registry.ts'
import { type DType, elementBytes, type FixedDType } from '../../src/core/dtype.ts'
import { HyperslabError } from '../../src/core/errors.ts'
import { sizeOf } from '../../src/core/shape.ts'
import type { BlockOrigin, BlockRef, StoredChunk } from '../../src/engine/block.ts'
import { BlockReader } from '../../src/engine/block-reader.ts'
import type { ChunkIndex, ChunkSnapshot } from '../../src/engine/chunk-index.ts'
import { ChunkGrid, chunkSize } from '../../src/grid/chunks.ts'
import type { Store } from '../../src/store/store.ts'

/*
 * A format made up to show what a new one takes:
 *
 *     chunks, each an LZ4 block or as it is, one after another | header, as JSON | u32 bytes of the header
 */

/** The header of a file. */
export interface ToyHeader {
  readonly dtype: FixedDType
  readonly shape: readonly number[]
  readonly chunkShape: readonly number[]
  readonly fillValue?: number
  readonly codec: 'lz4' | 'none'
  /** Offset and bytes of each chunk that is stored, by its index in the grid. */
  readonly chunks: Readonly<Record<string, readonly [offset: number, bytes: number]>>
}

/** The index of the one array in a file of a store. */
export class ToyIndex<D extends DType> implements ChunkIndex<D>, ChunkSnapshot {
  readonly dtype: D
  readonly fillValue: ChunkIndex<D>['fillValue']
  readonly label: { readonly file: string; readonly array: string }
  readonly blocks = new BlockReader(2 ** 20, 2 ** 30, new Codecs())
  readonly grid: ChunkGrid
  readonly #blocks: ReadonlyMap<number, BlockRef>

  static async open(store: Store, key: string): Promise<ToyIndex<DType>> {
    const info = await store.stat(key)
    if (info === undefined) throw new HyperslabError('NotFoundError', 'there is no such file', { file: store.describe(key) })
    const read = async (offset: number, length: number): Promise<Uint8Array> =>
      (await store.getRange(key, offset, length, { ifMatch: info.etag }))!
    const trailer = await read(info.size - 4, 4)
    const headerBytes = new DataView(trailer.buffer, trailer.byteOffset).getUint32(0, true)
    const header = new TextDecoder().decode(await read(info.size - 4 - headerBytes, headerBytes))
    return new ToyIndex(JSON.parse(header), { file: store.describe(key), version: `${key} ${info.etag}`, read })
  }

  private constructor({ dtype, shape, chunkShape, fillValue, codec, chunks }: ToyHeader, origin: BlockOrigin) {
    this.dtype = dtype as DType as D
    this.fillValue = fillValue as ChunkIndex<D>['fillValue']
    this.label = { file: origin.file, array: 'toy' }
    this.grid = ChunkGrid.regular(shape, chunkShape)
    this.#blocks = new Map(
      Object.entries(chunks).map(([index, [fileOffset, compressedBytes]]) => {
        const id = Number(index)
        const uncompressedBytes = chunkSize(this.grid, id) * elementBytes(dtype)
        return [id, { origin, id, fileOffset, compressedBytes, uncompressedBytes, codec, crc: undefined }]
      }),
    )
  }

  get storedCount(): number {
    return this.#blocks.size
  }

  snapshot(): ChunkSnapshot {
    return this
  }

  pinned(): ChunkSnapshot {
    return this
  }

  checkGrid(): void {}

  locate(chunkIndex: number): StoredChunk | undefined {
    const block = this.#blocks.get(chunkIndex)
    return block && { block, offset: 0, size: block.uncompressedBytes }
  }

  stored(): Iterable<number> {
    return this.#blocks.keys()
  }
}

/** Bytes of a file; chunks without contents are not stored. */
export function toyFile(header: Omit<ToyHeader, 'chunks'>, encode: (chunkIndex: number) => Uint8Array | undefined): Uint8Array {
  const parts: Uint8Array[] = []
  const chunks: Record<string, [number, number]> = {}
  let end = 0
  const count = sizeOf(ChunkGrid.regular(header.shape, header.chunkShape).counts)
  for (let index = 0; index < count; index++) {
    const bytes = encode(index)
    if (bytes === undefined) continue
    chunks[index] = [end, bytes.length]
    parts.push(bytes)
    end += bytes.length
  }
  const text = new TextEncoder().encode(JSON.stringify({ ...header, chunks }))
  return new Uint8Array(Buffer.concat([...parts, text, new Uint8Array(Uint32Array.of(text.length).buffer)]))
}
