import type { Missing } from '../../array/missing.ts'
import type { NamedValues } from '../../array/source.ts'
import type { Codec, KernelCodec } from '../../codec/codec.ts'
import type { CodecSet } from '../../codec/registry.ts'
import type { DType, ScalarOf } from '../../core/dtype.ts'
import { HyperslabError, within } from '../../core/errors.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import { eachIndex, showShape, sizeOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import type { BlockOrigin } from '../../engine/block.ts'
import { BlockReader } from '../../engine/block-reader.ts'
import type { ChunkIndex, ChunkSnapshot } from '../../engine/chunk-index.ts'
import { type ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { lengthsOf } from '../../grid/irregular-chunks.ts'
import { planRangeReads, putParts } from '../../store/ranges.ts'
import type { ByteRange } from '../../store/store.ts'
import { type ChunkCodec, chunkCodec } from './chunk-codec.ts'
import type { ZarrArrayMetadata } from './metadata.ts'
import type { KnownTable, OpenedStore } from './opened.ts'
import { placeIn } from './places.ts'
import { gone, readTables } from './shard-tables.ts'
import { type ChunkPlan, planChunks, type ShardLevel } from './shards.ts'
import { type StoredArray, ZarrSnapshot } from './snapshot.ts'
import { clippedGrid, storedGrid } from './stored-grid.ts'

/** Of a shard neighbours are read together: bytes between others would cost more than a request. */
const JOINED = { maxGapBytes: 0, maxRequestBytes: 16 * 1024 * 1024 }

/** Shapes of chunks, of which each has its own codec. */
const MOST_SHAPES = 4096

const NO_BYTES = new Uint8Array(0)

/** The codecs of an array: one for each shape that chunks are stored in, named for it. */
class ChunkCodecs implements CodecSet {
  readonly #known = new Map<string, ChunkCodec>()
  readonly #names = new Map<string, string>()

  /** @throws CodecError when there is a codec that nobody knows */
  async add(shape: readonly number[], codec: (name: string) => ChunkCodec): Promise<void> {
    const name = `of chunks ${showShape(shape)}`
    const made = codec(name)
    await made.ready()
    this.#known.set(name, made)
    this.#names.set(shape.join(), name)
  }

  /** The name of the codec of chunks of this shape. */
  nameFor(shape: readonly number[]): string {
    return this.#names.get(shape.join())!
  }

  find(name: string): Codec | KernelCodec {
    return this.#known.get(name)!
  }

  /** Blocks of the array have keys that no other blocks have. */
  isUsers(): boolean {
    return false
  }
}

/** Where the chunks of a Zarr array are: each an object of a store, or a part of one, a shard. */
export class ZarrIndex<D extends DType> implements ChunkIndex<D> {
  readonly dtype: D
  readonly dimensionNames: readonly string[] | undefined
  readonly fillValue: ScalarOf<D> | undefined
  readonly missing: Missing<D> | undefined
  readonly attrs: NamedValues
  readonly label: { readonly file: string; readonly array: string }
  readonly blocks: BlockReader
  readonly budget: MemoryBudget | undefined
  readonly maxElements: number
  readonly grid: ChunkGrid
  readonly load?: NonNullable<ChunkIndex['load']>
  readonly opened: OpenedStore
  readonly codecs: CodecSet
  readonly stored: StoredArray
  /** The path of the array in the store, '' for the root. */
  readonly path: string
  readonly #levels: readonly ShardLevel[]

  /**
   * @param path of the array in the store, '' for the root
   * @throws CodecError, FormatError when its chunks cannot be read as its metadata say
   */
  static async open<D extends DType>(
    opened: OpenedStore,
    path: string,
    metadata: ZarrArrayMetadata,
    label: { readonly file: string; readonly array: string },
  ): Promise<ZarrIndex<D>> {
    const plan = planChunks(metadata.chunks, metadata.codecs)
    const stored = storedGrid(metadata.shape, plan.chunks)
    const codecs = new ChunkCodecs()
    const { type, fillValue } = metadata
    for (const shape of shapesOf(stored)) {
      const spec = { codecs: plan.codecs, type, shape, fillValue, mostBytes: opened.options.blockBytes }
      await codecs.add(shape, (name) => chunkCodec(name, spec, opened.options.codecs))
    }
    return new ZarrIndex<D>(opened, path, metadata, label, plan, stored, codecs)
  }

  private constructor(
    opened: OpenedStore,
    path: string,
    metadata: ZarrArrayMetadata,
    label: { readonly file: string; readonly array: string },
    plan: ChunkPlan,
    stored: ChunkGrid,
    codecs: ChunkCodecs,
  ) {
    const { type, shape, fillValue, missing, dimensionNames, attrs } = metadata
    this.dtype = type.dtype as D
    this.dimensionNames = dimensionNames
    this.fillValue = fillValue as ScalarOf<D> | undefined
    this.missing = missing as Missing<D> | undefined
    this.attrs = new Map(Object.entries(attrs))
    this.label = label
    this.opened = opened
    this.codecs = codecs
    this.path = path
    this.#levels = plan.levels
    this.grid = clippedGrid(stored)
    const { memory, options } = opened
    const { blockBytes, elements, pool, budget } = options
    this.blocks = new BlockReader(memory, blockBytes, codecs, pool, budget)
    this.budget = budget
    this.maxElements = elements
    const objects = storedGrid(shape, plan.objects)
    const keyOf = (coords: readonly number[]): string => joined(path, metadata.chunkKey(coords))
    this.stored = {
      dtype: type.dtype,
      grid: stored,
      mostBytes: blockBytes,
      placeOf: (chunkIndex) => placeIn(chunkIndex, stored, objects, plan.levels, keyOf),
      codecFor: (chunkShape) => codecs.nameFor(chunkShape),
      originOf: (key, etag) => (etag === undefined ? this.#wholeObject(key) : this.#shard(key, etag)),
      isAbsent: (key) => opened.isAbsent(key),
    }
    if (plan.levels.length > 0) this.load = (chunks, signal) => this.#load(chunks, signal)
  }

  snapshot(): ChunkSnapshot {
    this.opened.checkOpen()
    return new ZarrSnapshot(this.stored, this.load && NO_TABLES)
  }

  /** A chunk that is an object: without bytes, where there is no such object. */
  #wholeObject(key: string): BlockOrigin {
    const { store, options, generation } = this.opened
    const read = async (_offset: number, _length: number, signal?: Signal): Promise<Uint8Array> => {
      const found = await this.opened.read(key, options.blockBytes, signal)
      if (found === undefined) return NO_BYTES
      if (found.bytes.length > 0) return found.bytes
      throw new HyperslabError('CodecError', 'the chunk is an object without bytes', { file: store.describe(key) })
    }
    // That it comes over a network: many may be under way, and shared caches keep what was fetched.
    const readMany =
      store.getRanges &&
      ((ranges: readonly ByteRange[], signal?: Signal) => Promise.all(ranges.map(() => read(0, Infinity, signal))))
    const name = `zarr ${generation} ${key}`
    return { file: store.describe(key), version: name, cacheKey: name, read, readMany }
  }

  /** A shard, of which parts are read. */
  #shard(key: string, etag: string): BlockOrigin {
    const { store, generation } = this.opened
    const read = async (offset: number, length: number, signal?: Signal): Promise<Uint8Array> => {
      this.opened.checkOpen()
      return (await store.getRange(key, offset, length, { ifMatch: etag, signal })) ?? gone(store.describe(key))
    }
    const name = `zarr ${generation} ${key} ${etag}`
    const readMany = store.getRanges && ((ranges: readonly ByteRange[], signal?: Signal) => readJoined(ranges, read, signal))
    return { file: store.describe(key), version: name, cacheKey: name, read, readMany }
  }

  async #load(chunks: Iterable<number>, signal: Signal | undefined): Promise<ChunkSnapshot> {
    const places = mapped(chunks, (chunkIndex) => this.stored.placeOf(chunkIndex))
    return within(
      this.label,
      async () => new ZarrSnapshot(this.stored, await readTables(this.opened, this.#levels, places, signal)),
    )
  }
}

const NO_TABLES: ReadonlyMap<string, KnownTable> = new Map()

const joined = (path: string, key: string): string => (path === '' ? key : `${path}/${key}`)

function* mapped<T, R>(items: Iterable<T>, map: (item: T) => R): Generator<R, void> {
  for (const item of items) yield map(item)
}

/**
 * The shapes that chunks are stored in.
 * @throws TooLargeError when they are very many
 */
function shapesOf(stored: ChunkGrid): number[][] {
  const lengths = stored.axes.map((axis) => {
    const all = axis instanceof RegularChunks ? [axis.chunkLength] : lengthsOf(axis).map((_, k) => axis.storedLength(k))
    return [...new Set(all)]
  })
  const counts = lengths.map(({ length }) => length)
  if (sizeOf(counts) > MOST_SHAPES) {
    const text = `chunks have ${sizeOf(counts)} different shapes`
    throw new HyperslabError('TooLargeError', text, { actual: sizeOf(counts), expected: MOST_SHAPES })
  }
  const shapes: number[][] = []
  eachIndex(counts, (index) => shapes.push(index.map((i, axis) => lengths[axis]![i]!)))
  return shapes
}

/** Reads ranges of an object, neighbours together. */
async function readJoined(
  ranges: readonly ByteRange[],
  read: (offset: number, length: number, signal?: Signal) => Promise<Uint8Array>,
  signal: Signal | undefined,
): Promise<Uint8Array[]> {
  const results = ranges.map(({ length }) => new Uint8Array(length))
  await Promise.all(
    planRangeReads(ranges, JOINED).map(async (request) =>
      putParts(results, request, await read(request.offset, request.length, signal)),
    ),
  )
  return results
}
