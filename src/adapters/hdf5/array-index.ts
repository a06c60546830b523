import type { Missing } from '../../array/missing.ts'
import type { NamedValues, Origins, ScalarMode } from '../../array/source.ts'
import { chainCodec, outOfKernel } from '../../codec/chain.ts'
import type { Codec, KernelCodec } from '../../codec/codec.ts'
import { keyOfCodecs } from '../../codec/codecs-key.ts'
import { none } from '../../codec/none.ts'
import type { CodecSet } from '../../codec/registry.ts'
import { type DType, elementBytes, isFixed, type ScalarOf } from '../../core/dtype.ts'
import { HyperslabError, within } from '../../core/errors.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import { sizeOf } from '../../core/shape.ts'
import { raceAbort, type Signal } from '../../core/signal.ts'
import type { BlockOrigin, BlockRef, ChunkAddress, StoredChunk, StridedLayout } from '../../engine/block.ts'
import { BlockReader } from '../../engine/block-reader.ts'
import type { ChunkEncoding, ChunkIndex, ChunkSnapshot } from '../../engine/chunk-index.ts'
import type { StridedReader } from '../../engine/strided-reader.ts'
import { ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { FullChunks, storedShape } from '../../grid/full-chunks.ts'
import { openTable } from './chunks/open-table.ts'
import type { ChunkFinder } from './chunks/table.ts'
import type { ArrayHeader } from './dataset.ts'
import type { ElementPlan } from './elements/plan.ts'
import { asStep, isPayload, valueSteps } from './elements/steps.ts'
import { filterCodec } from './filters/index.ts'
import type { OpenFile } from './open-file.ts'
import type { UnwrittenElements } from './unwritten.ts'

/** Chunks are divided to about this size where the file does not, in bytes. */
const PIECE_BYTES = 1024 * 1024

/** Bytes of an array that are in other files. */
export interface RawBytes {
  readonly origin: BlockOrigin
  readonly size: number
}

/** Parts of an array that its index needs. */
export interface ArrayParts {
  readonly file: OpenFile
  readonly dataset: ArrayHeader
  readonly plan: ElementPlan
  readonly path: string
  readonly attrs: NamedValues
  readonly dimensionNames: readonly string[] | undefined
  readonly missing: Missing
  readonly unwritten: UnwrittenElements
  /** Bytes of the elements, if they are in other files. */
  readonly raw?: RawBytes | undefined
}

/** Storage of an array: in place in the file, in blocks, or none. */
type Storage =
  | { readonly kind: 'strided'; readonly layout: StridedLayout; readonly start: number }
  | { readonly kind: 'pieces'; readonly origin: BlockOrigin; readonly start: number }
  | { readonly kind: 'chunks'; readonly table: ChunkFinder; readonly hasPlainEdges: boolean }
  | { readonly kind: 'absent' }

/** Chunk index of an array of an HDF5 file, or of a field of its elements. */
export class Hdf5Index<D extends DType> implements ChunkIndex<D>, CodecSet {
  readonly dtype: D
  readonly dimensionNames: readonly string[] | undefined
  readonly fillValue: ScalarOf<D> | undefined
  readonly missing: Missing<D> | undefined
  readonly attrs: NamedValues
  readonly label: { readonly file: string; readonly array: string }
  readonly origins: Origins | undefined
  readonly blocks: BlockReader
  readonly strided: StridedReader
  readonly budget: MemoryBudget | undefined
  readonly scalar: ScalarMode | undefined
  readonly maxElements: number
  readonly grid: ChunkGrid
  readonly load: NonNullable<ChunkIndex['load']>
  readonly #parts: ArrayParts
  readonly #storage: Storage
  /** Grid of the chunks as they are stored. */
  readonly #stored: ChunkGrid
  readonly #origin: BlockOrigin
  readonly #codecs = new Map<string, Codec | KernelCodec>()

  constructor(parts: ArrayParts) {
    const { file, dataset, plan, path } = parts
    this.#parts = parts
    this.dtype = plan.dtype as D
    this.dimensionNames = parts.dimensionNames
    this.fillValue = parts.unwritten.fillValue as ScalarOf<D> | undefined
    this.missing = parts.missing as Missing<D>
    this.attrs = parts.attrs
    this.label = { file: file.name, array: path }
    this.origins = file.stored.origins
    this.strided = file.strided
    this.budget = file.options.budget
    this.scalar = file.options.scalar
    this.maxElements = file.limits.elements
    this.blocks = new BlockReader(file.memory, file.limits.blockBytes, this, file.options.pool, file.options.budget)
    this.#origin = file.stored.createOrigin(` ${path} ${dataset.header.address}${keyOfCodecs(file.options.codecs ?? [])}`)
    const shape = dataset.space.shape ?? [0]
    this.#storage = findStorage(parts, this.#origin)
    const { chunkShape } =
      dataset.layout.kind === 'chunked' ? dataset.layout : { chunkShape: pieceShape(shape, plan.recordBytes) }
    const inner = plan.innerShape
    const isWhole = this.#storage.kind === 'chunks'
    const axis = (length: number, chunk: number): RegularChunks =>
      isWhole ? new FullChunks(chunk, length) : new RegularChunks(chunk, length)
    this.#stored = new ChunkGrid([
      ...shape.map((length, at) => axis(length, chunkShape[at]!)),
      ...inner.map((length) => new RegularChunks(length, length)),
    ])
    this.grid = new ChunkGrid(this.#stored.axes.map(({ chunkLength, length }) => new RegularChunks(chunkLength, length)))
    this.load = (chunks, signal) => within(this.label, () => this.#load(chunks, signal))
  }

  /** Filters of the chunks, for descriptions. */
  get dataset(): ArrayHeader {
    return this.#parts.dataset
  }

  get plan(): ElementPlan {
    return this.#parts.plan
  }

  find(name: string): Codec | KernelCodec {
    return this.#codecs.get(name)!
  }

  /** Returns false: the keys of cached blocks name the codecs of users already. */
  isUsers(): boolean {
    return false
  }

  async encodingOf(block: BlockRef | undefined): Promise<ChunkEncoding> {
    const { describeEncoding } = await import('./chunk-encoding.ts')
    const isFiltered = block !== undefined && block.codec === codecName(0, this.#countRecords(block.id), false)
    return describeEncoding(this.#parts, block === undefined || isFiltered)
  }

  snapshot(): ChunkSnapshot {
    this.#parts.file.checkOpen()
    return this.#snapshot(() => undefined)
  }

  async #load(chunks: Iterable<number>, signal: Signal | undefined): Promise<ChunkSnapshot> {
    const { file } = this.#parts
    file.checkOpen()
    const storage = this.#storage
    if (storage.kind === 'absent') return this.#snapshot((chunkIndex) => this.#absent(chunkIndex))
    if (storage.kind === 'strided') return this.#snapshot((chunkIndex) => this.#inPlace(chunkIndex, storage))
    if (storage.kind === 'pieces') {
      const distinct = new Set(chunks)
      for (const chunkIndex of distinct) await this.#codec(0, this.#countRecords(chunkIndex), false)
      return this.#snapshot((chunkIndex) => this.#piece(chunkIndex, storage))
    }
    const rank = this.#rank
    const hasInner = this.#stored.axes.length > rank
    const wanted = Array.from(new Set(chunks), (chunkIndex) => {
      const coords = this.#stored.index(chunkIndex)
      return { chunkIndex, coords: hasInner ? coords.slice(0, rank) : coords }
    })
    const places = await raceAbort(storage.table.find(wanted), signal)
    // Chunks are stored in full.
    const records = sizeOf(this.#stored.chunkShape.slice(0, rank))
    const { blockBytes } = file.limits
    const isPayload = (chunkIndex: number): boolean => storage.hasPlainEdges && this.#isEdge(chunkIndex)
    // Names are texts, and an index may have a million chunks, which nearly all have one mask.
    const names = [new Map<number, string>(), new Map<number, string>()] as const
    for (const [chunkIndex, { mask, bytes }] of places) {
      if (bytes > blockBytes) refuseChunk(bytes, blockBytes)
      const isPlain = isPayload(chunkIndex)
      const known = names[isPlain ? 1 : 0]
      if (!known.has(mask)) known.set(mask, await this.#codec(mask, records, isPlain))
    }
    return this.#snapshot((chunkIndex) => {
      const place = places.get(chunkIndex)
      if (place === undefined) return this.#absent(chunkIndex)
      const name = names[isPayload(chunkIndex) ? 1 : 0].get(place.mask)!
      return this.#address(chunkIndex, this.#origin, file.bytes.position(place.address), place.bytes, records, name)
    })
  }

  get #rank(): number {
    return this.#parts.dataset.space.shape?.length ?? 1
  }

  #snapshot(locate: (chunkIndex: number) => StoredChunk | undefined): ChunkSnapshot {
    const grid = this.#stored
    const isEmpty = this.#storage.kind === 'absent'
    return {
      grid,
      locate,
      storedCount: isEmpty ? 0 : grid.count,
      *stored() {
        for (let chunkIndex = 0; !isEmpty && chunkIndex < grid.count; chunkIndex++) yield chunkIndex
      },
      pinned() {
        return this
      },
      checkGrid() {},
    }
  }

  /** Number of stored elements of a chunk. */
  #countRecords(chunkIndex: number): number {
    return sizeOf(storedShape(this.#stored, this.#stored.index(chunkIndex)).slice(0, this.#rank))
  }

  #inPlace(chunkIndex: number, { layout, start }: Storage & { readonly kind: 'strided' }): StoredChunk {
    const index = this.#stored.index(chunkIndex)
    const offset = index.reduce((sum, k, axis) => sum + this.#stored.axes[axis]!.start(k) * layout.byteStrides[axis]!, start)
    return { layout, shape: storedShape(this.#stored, index), offset }
  }

  /** Returns the address of a run of elements that follow one another. */
  #piece(chunkIndex: number, { origin, start }: Storage & { readonly kind: 'pieces' }): ChunkAddress {
    const { dataset, plan } = this.#parts
    const shape = dataset.space.shape ?? [0]
    const index = this.#stored.index(chunkIndex)
    const records = this.#countRecords(chunkIndex)
    let first = 0
    for (const [axis, length] of shape.entries()) first = first * length + this.#stored.axes[axis]!.start(index[axis]!)
    const place = { address: start + first * plan.recordBytes, bytes: records * plan.recordBytes }
    return this.#address(chunkIndex, origin, place.address, place.bytes, records, codecName(0, records, false))
  }

  /** Whether a chunk ends behind the array. */
  #isEdge(chunkIndex: number): boolean {
    const index = this.#stored.index(chunkIndex)
    return this.grid.axes.some((axis, at) => axis.stop(index[at]!) - axis.start(index[at]!) < axis.chunkLength)
  }

  #address(
    id: number,
    origin: BlockOrigin,
    fileOffset: number,
    compressedBytes: number,
    records: number,
    codec: string,
  ): ChunkAddress {
    const { dtype } = this
    const count = records * sizeOf(this.#parts.plan.innerShape)
    const size = isFixed(dtype) ? count * elementBytes(dtype) : Infinity
    return { block: { origin, id, fileOffset, compressedBytes, uncompressedBytes: size, codec, crc: undefined }, offset: 0, size }
  }

  /** Returns the address of a chunk that is not stored, if one value does not fill it. */
  #absent(chunkIndex: number): ChunkAddress | undefined {
    const { unwritten } = this.#parts
    if (unwritten.record === undefined) return undefined
    const name = 'unwritten'
    if (!this.#codecs.has(name))
      this.#codecs.set(
        name,
        chainCodec(name, [], (bytes) => unwritten.repeat(bytes), Infinity),
      )
    return this.#address(chunkIndex, UNWRITTEN, 0, 0, this.#countRecords(chunkIndex), name)
  }

  /** Prepares the codec of chunks with a filter mask, and returns its name. */
  async #codec(mask: number, records: number, isUnfiltered: boolean): Promise<string> {
    const { dataset, plan, file } = this.#parts
    const name = codecName(mask, records, isUnfiltered)
    if (this.#codecs.has(name)) return name
    const filters = isUnfiltered ? [] : dataset.filters
    const element = { bytes: plan.recordBytes, mostBytes: file.limits.blockBytes }
    const used = filters.some((_, i) => ((mask >>> i) & 1) === 0 || i > 31)
    const stored = used ? filterCodec('the filters', filters, mask, element, file.options.codecs) : none
    if (isPayload(plan)) {
      if (used) await (stored as { ready(): Promise<void> }).ready()
      this.#codecs.set(name, stored)
      return name
    }
    const steps = [asStep(stored), ...valueSteps(plan, records * sizeOf(plan.innerShape), file.objects)]
    if (!isFixed(plan.dtype)) steps.push(outOfKernel)
    const codec = chainCodec(name, steps, (bytes) => new Uint8Array(bytes), file.limits.blockBytes)
    await codec.ready()
    this.#codecs.set(name, codec)
    return name
  }
}

const codecName = (mask: number, records: number, isUnfiltered: boolean): string =>
  `chunks of ${records}${isUnfiltered ? ' without filters' : mask === 0 ? '' : ` with filters skipped (${mask})`}`

/** Origin of unwritten chunks. It has no bytes; decoding fills the chunk. */
const UNWRITTEN: BlockOrigin = {
  file: 'unwritten',
  version: 'unwritten',
  read: async () => new Uint8Array(0),
  isAbsent: () => true,
}

/** Returns the shape of pieces of which elements follow one another: single places of the first axes. */
function pieceShape(shape: readonly number[], recordBytes: number): number[] {
  const piece = shape.map((length) => Math.max(1, length))
  for (let axis = 0, bytes = sizeOf(piece) * recordBytes; axis < piece.length && bytes > PIECE_BYTES; axis++) {
    const rest = bytes / piece[axis]!
    piece[axis] = Math.max(1, Math.floor(PIECE_BYTES / rest))
    bytes = rest * piece[axis]!
  }
  return piece
}

/** @throws TooLargeError, always */
function refuseChunk(bytes: number, most: number): never {
  const text = `a chunk has ${bytes} stored bytes, more than \`limits.blockBytes\`, ${most}`
  throw new HyperslabError('TooLargeError', text, { actual: bytes, expected: most })
}

function findStorage({ file, dataset, plan, raw }: ArrayParts, own: BlockOrigin): Storage {
  const { layout, space, filters } = dataset
  const shape = space.shape ?? [0]
  if (sizeOf(shape) === 0) return { kind: 'absent' }
  if (layout.kind === 'chunked') {
    const { address, chunkShape, index, hasPlainEdges } = layout
    const chunkBytes = sizeOf(chunkShape) * plan.recordBytes
    const set = { file: file.bytes, address, chunkShape, chunkBytes, maxShape: space.maxShape, isFiltered: filters.length > 0 }
    return { kind: 'chunks', table: openTable(index, set), hasPlainEdges }
  }
  if (layout.kind === 'compact') return { kind: 'pieces', origin: createMemoryOrigin(file, layout.bytes), start: 0 }
  if (layout.kind !== 'contiguous' || (raw === undefined && layout.address === undefined)) return { kind: 'absent' }
  const { origin, size } = raw ?? { origin: own, size: file.bytes.size }
  const start = raw === undefined ? file.bytes.position(layout.address!) : 0
  const end = start + sizeOf(shape) * plan.recordBytes
  if (end > size) {
    const text = `the elements end at byte ${end}, the file has ${size} bytes`
    throw new HyperslabError('FormatError', text, { actual: size, expected: end })
  }
  if (plan.target !== undefined) return { kind: 'pieces', origin, start }
  return { kind: 'strided', layout: stridedLayout(plan, shape, origin), start: start + plan.offset }
}

function stridedLayout(plan: ElementPlan, shape: readonly number[], origin: BlockOrigin): StridedLayout {
  const strides = new Array<number>(shape.length)
  for (let axis = shape.length - 1, step = plan.recordBytes; axis >= 0; axis--) {
    strides[axis] = step
    step *= Math.max(1, shape[axis]!)
  }
  return {
    origin,
    byteStrides: [...strides, ...plan.innerStrides],
    elementBytes: plan.valueBytes,
    bigEndian: plan.isBigEndian,
    payloadOf: plan.convert,
  }
}

let last = 0

/** Origin of elements in the header of their array. */
function createMemoryOrigin({ name }: OpenFile, bytes: Uint8Array): BlockOrigin {
  return {
    file: name,
    version: `compact ${++last}`,
    read: async (offset, length) => bytes.slice(offset, Math.min(bytes.length, offset + length)),
  }
}
