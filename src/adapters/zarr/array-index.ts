import type { Missing } from '../../array/missing.ts'
import type { Origins, ScalarMode } from '../../array/source.ts'
import type { Codec, KernelCodec } from '../../codec/codec.ts'
import type { CodecSet } from '../../codec/registry.ts'
import type { DType, ScalarOf } from '../../core/dtype.ts'
import { HyperslabError, within } from '../../core/errors.ts'
import { lazily } from '../../core/lazily.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import { eachIndex, showShape, sizeOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import type { Tensor } from '../../core/tensor.ts'
import type { BlockOrigin } from '../../engine/block.ts'
import { BlockReader } from '../../engine/block-reader.ts'
import type { ChunkEncoding, ChunkIndex, ChunkSnapshot } from '../../engine/chunk-index.ts'
import { type ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { listLengths } from '../../grid/irregular-chunks.ts'
import type { Box } from '../../grid/range.ts'
import type { Settle } from '../../store/absences.ts'
import { planRangeReads, putParts } from '../../store/ranges.ts'
import type { ByteRange } from '../../store/store.ts'
import { type ChunkCodec, chunkCodec } from './chunk-codec.ts'
import type { ChunkPlan, ZarrArrayMetadata } from './metadata.ts'
import { namedAttributes, replaceAttributes } from './named-attributes.ts'
import { gone, type KnownTable, type OpenedStore } from './opened.ts'
import { placeIn } from './places.ts'
import { planChunks } from './shards.ts'
import { type StoredArray, ZarrSnapshot } from './snapshot.ts'
import { clippedGrid, storedGrid } from './stored-grid.ts'

/**
 * Only adjacent parts of a shard are read together, because bytes in a gap would cost more than a request.
 */
const JOINED = { maxGapBytes: 0, maxRequestBytes: 16 * 1024 * 1024 }

/** Maximum number of different chunk shapes. Each needs its own codec. */
const MOST_SHAPES = 4096

const NO_BYTES = new Uint8Array(0)

/** Codecs of an array: one for each shape of stored chunks, named after it. */
class ChunkCodecs implements CodecSet {
  readonly #known = new Map<string, ChunkCodec>()
  readonly #names = new Map<string, string>()

  /** @throws CodecError for an unknown codec */
  async add(shape: readonly number[], codec: (name: string) => Promise<ChunkCodec>): Promise<void> {
    const name = `of chunks ${showShape(shape)}`
    this.#known.set(name, await codec(name))
    this.#names.set(shape.join(), name)
  }

  /** Returns the name of the codec for chunks of a shape. */
  nameFor(shape: readonly number[]): string {
    return this.#names.get(shape.join())!
  }

  find(name: string): Codec | KernelCodec {
    return this.#known.get(name)!
  }

  /** Cache keys of the array's blocks differ from those of all other blocks. */
  isUsers(): boolean {
    return false
  }
}

/** Data that follow from the shape of an array. */
interface Layout {
  readonly metadata: ZarrArrayMetadata
  /** Grid of the chunks that readers see. */
  readonly grid: ChunkGrid
  /** Grid of the stored objects. */
  readonly objects: ChunkGrid
  readonly stored: StoredArray
  /** Returns the key of an object, by its coordinates. */
  readonly keyOf: (coords: readonly number[]) => string
}

/** Chunk index of a Zarr array. A chunk is an object of a store or a part of one, a shard. */
export class ZarrIndex<D extends DType> implements ChunkIndex<D> {
  readonly dtype: D
  readonly dimensionNames: readonly string[] | undefined
  readonly fillValue: ScalarOf<D> | undefined
  /** The same map for the lifetime of the index; only its content changes. */
  readonly attrs: Map<string, unknown>
  readonly label: { readonly file: string; readonly array: string }
  readonly origins: Origins
  readonly blocks: BlockReader
  readonly budget: MemoryBudget | undefined
  readonly scalar: ScalarMode | undefined
  readonly maxElements: number
  readonly load?: NonNullable<ChunkIndex['load']>
  /** Undefined if the store was opened for reading. */
  readonly writeBox?: NonNullable<ChunkIndex<D>['writeBox']>
  readonly opened: OpenedStore
  readonly codecs: ChunkCodecs
  /** Path of the array in the store; '' for the root. */
  readonly path: string
  /** Whether chunks that contain only the fill value are stored. */
  writeEmptyChunks = false
  /** Whether the metadata are not stored yet, so that no other process can have replaced them. */
  isHidden = false
  readonly #plan: ChunkPlan
  /** Part of the cache keys of a field, because all fields of a structure share their objects. */
  readonly #part: string
  #layout: Layout
  /** Number of writes. A part of cache keys, so that a write invalidates them. */
  #writes = 0
  #removed = false

  /**
   * @param path of the array in the store; '' for the root
   * @throws CodecError, FormatError if the chunks cannot be read as the metadata describe them
   */
  static async open<D extends DType>(
    opened: OpenedStore,
    path: string,
    metadata: ZarrArrayMetadata,
    label: { readonly file: string; readonly array: string },
  ): Promise<ZarrIndex<D>> {
    const plan = planChunks(metadata)
    const stored = storedGrid(metadata.shape, plan.chunks)
    const codecs = new ChunkCodecs()
    const { type, form, fillValue, fillValues } = metadata
    for (const shape of listShapes(stored)) {
      const spec = { codecs: plan.codecs, type, shape, fill: { fillValue, fillValues }, mostBytes: opened.options.blockBytes }
      await codecs.add(shape, (name) => chunkCodec(name, spec, opened.options.codecs, form))
    }
    return new ZarrIndex<D>(opened, path, metadata, label, plan, codecs)
  }

  private constructor(
    opened: OpenedStore,
    path: string,
    metadata: ZarrArrayMetadata,
    label: { readonly file: string; readonly array: string },
    plan: ChunkPlan,
    codecs: ChunkCodecs,
  ) {
    const { type, fillValue, dimensionNames, attrs } = metadata
    this.dtype = type.dtype as D
    this.dimensionNames = dimensionNames
    this.fillValue = fillValue as ScalarOf<D> | undefined
    this.attrs = namedAttributes(attrs)
    this.label = label
    this.origins = opened.origins
    this.opened = opened
    this.codecs = codecs
    this.path = path
    this.#plan = plan
    // Loaded before the first read, which reports a failure.
    if (plan.levels.length > 0) Promise.resolve(shardTables()).catch(() => undefined)
    this.#part = metadata.form?.cacheKey ?? ''
    this.#layout = this.#layoutOf(metadata)
    const { memory, options } = opened
    const { blockBytes, elements, pool, budget } = options
    this.blocks = new BlockReader(memory, blockBytes, codecs, pool, budget)
    this.budget = budget
    this.scalar = options.scalar
    this.maxElements = elements
    if (plan.levels.length > 0) this.load = (chunks, signal) => this.#load(chunks, signal)
    if (options.isWritable && this.#part === '')
      this.writeBox = (box, source, signal, mask) => this.writeTo(this.metadata, box, source, signal, mask)
  }

  get metadata(): ZarrArrayMetadata {
    return this.#layout.metadata
  }

  get missing(): Missing<D> | undefined {
    return this.metadata.missing as Missing<D> | undefined
  }

  get grid(): ChunkGrid {
    return this.#layout.grid
  }

  /** Grid of the objects that contain the chunks; undefined if each chunk is an object. */
  get writeGrid(): ChunkGrid | undefined {
    return this.#plan.levels.length === 0 ? undefined : clippedGrid(this.#layout.objects)
  }

  /** Number of objects that the metadata describe, whether they exist or not. */
  get objectCount(): number {
    return this.#layout.objects.count
  }

  /** Yields the keys of these objects. */
  *objectKeys(): Generator<string, void> {
    const { objects, keyOf } = this.#layout
    for (let object = 0; object < objects.count; object++) yield keyOf(objects.index(object))
  }

  get stored(): StoredArray {
    return this.#layout.stored
  }

  begin(): Settle {
    return this.opened.absences.begin()
  }

  snapshot(): ChunkSnapshot {
    this.opened.checkOpen()
    if (this.#removed) throw new HyperslabError('UnknownArrayError', 'this array was deleted')
    return new ZarrSnapshot(this.stored, this.load && NO_TABLES)
  }

  async encodingOf(): Promise<ChunkEncoding> {
    return (await import('./chunk-encoding.ts')).describeChunks(this)
  }

  /** Records that the array no longer exists. */
  remove(): void {
    this.#removed = true
  }

  /** Adopts another shape or other attributes. */
  change(metadata: ZarrArrayMetadata): void {
    this.#layout = this.#layoutOf(metadata)
    replaceAttributes(this.attrs, metadata.attrs)
    this.#writes++
  }

  /**
   * Writes a box of the array as if it had other metadata, with another shape.
   * @param holds set by the holder of a claim, which has checked that the array was not replaced
   * @throws ConflictError if another process has replaced the array
   */
  async writeTo(
    metadata: ZarrArrayMetadata,
    box: Box,
    source: Tensor,
    signal: Signal | undefined,
    mask?: Tensor<'bool'>,
    holds?: () => Promise<void>,
  ): Promise<void> {
    const { opened, codecs, writeEmptyChunks } = this
    const { objects, stored, keyOf } = metadata === this.metadata ? this.#layout : this.#layoutOf(metadata)
    const [writer, { writeObjects }, { checkStored }] = await Promise.all([
      opened.objects(),
      import('./write/write-objects.ts'),
      import('./write/unchanged.ts'),
    ])
    const checked = this.isHidden || holds !== undefined ? undefined : checkStored(this, signal)
    // Awaited before the first object is stored, while chunks are read and encoded.
    checked?.catch(() => undefined)
    try {
      const array = {
        checked,
        objects: writer,
        holds,
        type: metadata.type,
        fillValue: metadata.fillValue,
        fillValues: metadata.fillValues,
        codecs: this.#plan.codecs,
        users: opened.options.codecs,
        writeEmptyChunks,
        mostBytes: opened.options.blockBytes,
        writeBytes: opened.options.writeBytes,
        levels: this.#plan.levels,
        chunks: stored.grid,
        shards: objects,
        keyOf,
        placeOf: stored.placeOf,
        decoderOf: (shape: readonly number[]) => codecs.find(codecs.nameFor(shape)),
      }
      await writeObjects(array, { box, source, mask }, signal)
    } finally {
      this.#writes++
    }
  }

  #layoutOf(metadata: ZarrArrayMetadata): Layout {
    const { opened, path, codecs } = this
    const { levels, chunks, objects } = this.#plan
    const [grid, shards] = [storedGrid(metadata.shape, chunks), storedGrid(metadata.shape, objects)]
    const keyOf = (coords: readonly number[]): string => joined(path, metadata.chunkKey(coords))
    const stored: StoredArray = {
      dtype: metadata.type.dtype,
      grid,
      mostBytes: opened.options.blockBytes,
      placeOf: (chunkIndex) => placeIn(chunkIndex, grid, shards, levels, keyOf),
      codecFor: (chunkShape) => codecs.nameFor(chunkShape),
      originOf: (key, etag) => (etag === undefined ? this.#wholeObject(key) : this.#shard(key, etag)),
      isAbsent: (key) => opened.isAbsent(key),
      unwritten: metadata.form?.unwritten,
      isCurrent: (other) => other === this.#layout.stored.grid,
    }
    return { metadata, grid: clippedGrid(grid), objects: shards, stored, keyOf }
  }

  /** Part of the cache keys of its objects. Changes once cached knowledge is discarded. */
  get #generation(): string {
    return `${this.opened.generation}.${this.#writes}`
  }

  /** Returns the origin of a chunk that is an object. Reads no bytes if the object does not exist. */
  #wholeObject(key: string): BlockOrigin {
    const { store, options } = this.opened
    const read = async (_offset: number, _length: number, signal?: Signal): Promise<Uint8Array> => {
      const found = await this.opened.read(key, options.blockBytes, signal)
      if (found === undefined) return NO_BYTES
      if (found.bytes.length > 0) return found.bytes
      throw new HyperslabError('CodecError', 'the chunk is an object without bytes', { file: store.describe(key) })
    }
    // Marks the origin as remote: many requests may run at once, and shared caches keep the fetched bytes.
    const readMany =
      store.getRanges &&
      ((ranges: readonly ByteRange[], signal?: Signal) => Promise.all(ranges.map(() => read(0, Infinity, signal))))
    const name = `zarr ${this.#generation} ${key}${this.#part}`
    const isAbsent = (): boolean => this.opened.isAbsent(key)
    const recycle = store.files?.recycle
    return { file: store.describe(key), version: name, cacheKey: name, read, readMany, recycle, isAbsent }
  }

  /** Returns the origin of a shard, which is read in parts. */
  #shard(key: string, etag: string): BlockOrigin {
    const { store } = this.opened
    const read = async (offset: number, length: number, signal?: Signal): Promise<Uint8Array> => {
      this.opened.checkOpen()
      return (await store.getRange(key, offset, length, { ifMatch: etag, signal })) ?? gone(store.describe(key))
    }
    const name = `zarr ${this.#generation} ${key} ${etag}${this.#part}`
    const readMany = store.getRanges && ((ranges: readonly ByteRange[], signal?: Signal) => readJoined(ranges, read, signal))
    return { file: store.describe(key), version: name, cacheKey: name, read, readMany, recycle: store.files?.recycle }
  }

  async #load(chunks: Iterable<number>, signal: Signal | undefined): Promise<ChunkSnapshot> {
    const { stored } = this
    const places = mapped(chunks, (chunkIndex) => stored.placeOf(chunkIndex))
    return within(this.label, async () => {
      const { readTables } = await shardTables()
      return new ZarrSnapshot(stored, await readTables(this.opened, this.#plan.levels, this.#generation, places, signal))
    })
  }
}

const shardTables = lazily(() => import('./shard-tables.ts'))

const NO_TABLES: ReadonlyMap<string, KnownTable> = new Map()

const joined = (path: string, key: string): string => (path === '' ? key : `${path}/${key}`)

function* mapped<T, R>(items: Iterable<T>, map: (item: T) => R): Generator<R, void> {
  for (const item of items) yield map(item)
}

/**
 * Returns the shapes of stored chunks.
 * @throws TooLargeError if there are too many of them
 */
function listShapes(stored: ChunkGrid): number[][] {
  const lengths = stored.axes.map((axis) => {
    const all = axis instanceof RegularChunks ? [axis.chunkLength] : listLengths(axis).map((_, k) => axis.storedLength(k))
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

/** Reads ranges of an object, adjacent ones together. */
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
