import { type DType, elementBytes, isFixed } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { sizeOf } from '../../core/shape.ts'
import type { BlockOrigin, ChunkAddress } from '../../engine/block.ts'
import type { ChunkSnapshot } from '../../engine/chunk-index.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import type { KnownTable } from './opened.ts'
import type { ChunkPlace } from './places.ts'

/** Shared properties of the chunks of an array. */
export interface StoredArray {
  readonly dtype: DType
  /** Grid of the chunks as they are stored. */
  readonly grid: ChunkGrid
  /** Limit of the stored bytes of a chunk in a shard. */
  readonly mostBytes: number
  placeOf(chunkIndex: number): ChunkPlace
  /** Returns the name of the codec for chunks of a shape. */
  codecFor(shape: readonly number[]): string
  /** Returns the origin for the object of a key. Without a version, the object is read as a whole. */
  originOf(key: string, etag: string | undefined): BlockOrigin
  /** Whether the object is known to be absent. */
  isAbsent(key: string): boolean
  /**
   * Origin of unwritten chunks, which has no bytes: codecs decode these to the fill values. Defined if one
   * value does not fill them.
   */
  readonly unwritten: BlockOrigin | undefined
  /** Whether the array still has this grid. */
  isCurrent(grid: ChunkGrid): boolean
}

/** Position of the bytes of a chunk in its origin. */
interface StoredBytes {
  readonly id: number
  readonly fileOffset: number
  readonly compressedBytes: number
}

/** Locations of the chunks of an array, as far as the tables of its shards were read. */
export class ZarrSnapshot implements ChunkSnapshot {
  readonly grid: ChunkGrid
  readonly #array: StoredArray
  readonly #tables: ReadonlyMap<string, KnownTable> | undefined
  readonly #addresses = new Map<number, ChunkAddress>()
  readonly #origins = new Map<string, BlockOrigin>()

  /** @param tables of shards, by the names in chunk places; undefined for arrays without shards */
  constructor(array: StoredArray, tables: ReadonlyMap<string, KnownTable> | undefined) {
    this.grid = array.grid
    this.#array = array
    this.#tables = tables
  }

  get storedCount(): number {
    return this.grid.count
  }

  /** The store keeps no versions of objects that could be pinned. */
  pinned(): ChunkSnapshot {
    return this
  }

  checkGrid(done: string): void {
    if (this.#array.isCurrent(this.grid)) return
    throw new HyperslabError('ConflictError', `the array was resized while it was being ${done}`)
  }

  *stored(): Generator<number> {
    for (let chunkIndex = 0; chunkIndex < this.grid.count; chunkIndex++) yield chunkIndex
  }

  /** @throws TooLargeError */
  locate(chunkIndex: number): ChunkAddress | undefined {
    const known = this.#addresses.get(chunkIndex)
    if (known !== undefined) return known
    const place = this.#array.placeOf(chunkIndex)
    const address =
      (this.#tables === undefined ? this.#whole(chunkIndex, place) : this.#inner(place, this.#tables)) ??
      this.#unwritten(chunkIndex, place)
    if (address !== undefined) this.#addresses.set(chunkIndex, address)
    return address
  }

  /** Returns the address of a chunk that is an object. */
  #whole(chunkIndex: number, { key, shape }: ChunkPlace): ChunkAddress | undefined {
    if (this.#array.isAbsent(key)) return undefined
    return this.#address(key, undefined, { id: chunkIndex, fileOffset: 0, compressedBytes: Infinity }, shape)
  }

  /** Returns the address of a chunk that is a part of a shard. */
  #inner({ key, shape, tables, positions }: ChunkPlace, known: ReadonlyMap<string, KnownTable>): ChunkAddress | undefined {
    const own = known.get(tables.at(-1)!)
    const range = own?.table.find(positions.at(-1)!)
    if (own === undefined || range === undefined) return undefined
    const fileOffset = own.base + range.offset
    const address = this.#address(key, own.etag, { id: fileOffset, fileOffset, compressedBytes: range.length }, shape)
    if (range.length <= this.#array.mostBytes) return address
    const text = `a chunk of a shard has ${range.length} bytes, at most \`limits.blockBytes\`, ${this.#array.mostBytes}, are read`
    const { file } = address.block.origin
    throw new HyperslabError('TooLargeError', text, { file, actual: range.length, expected: this.#array.mostBytes })
  }

  #unwritten(chunkIndex: number, { shape }: ChunkPlace): ChunkAddress | undefined {
    const origin = this.#array.unwritten
    return origin && this.#in(origin, { id: chunkIndex, fileOffset: 0, compressedBytes: 0 }, shape)
  }

  #address(key: string, etag: string | undefined, where: StoredBytes, shape: readonly number[]): ChunkAddress {
    let origin = this.#origins.get(key)
    if (origin === undefined) {
      origin = this.#array.originOf(key, etag)
      if (etag !== undefined) this.#origins.set(key, origin)
    }
    return this.#in(origin, where, shape)
  }

  #in(origin: BlockOrigin, where: StoredBytes, shape: readonly number[]): ChunkAddress {
    const { dtype } = this.#array
    const size = isFixed(dtype) ? sizeOf(shape) * elementBytes(dtype) : Infinity
    const block = { origin, ...where, uncompressedBytes: size, codec: this.#array.codecFor(shape), crc: undefined }
    return { block, offset: 0, size }
  }
}
