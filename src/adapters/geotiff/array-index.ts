import type { Missing } from '../../array/missing.ts'
import type { NamedValues, Origins, ScalarMode } from '../../array/source.ts'
import type { Step } from '../../codec/chain.ts'
import type { Codec, KernelCodec } from '../../codec/codec.ts'
import { keyOfCodecs } from '../../codec/codecs-key.ts'
import type { CodecSet } from '../../codec/registry.ts'
import { COMPLEX_AXIS } from '../../core/complex.ts'
import { type DType, elementBytes, type FixedDType, type ScalarOf } from '../../core/dtype.ts'
import { HyperslabError, within } from '../../core/errors.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import { sizeOf } from '../../core/shape.ts'
import { raceAbort, type Signal } from '../../core/signal.ts'
import type { BlockOrigin, StoredChunk, StridedLayout } from '../../engine/block.ts'
import { BlockReader } from '../../engine/block-reader.ts'
import type { ChunkEncoding, ChunkIndex, ChunkSnapshot } from '../../engine/chunk-index.ts'
import type { StridedReader } from '../../engine/strided-reader.ts'
import { ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { FullChunks, storedShape } from '../../grid/full-chunks.ts'
import { type ImageLayout, isUnpacked, rowsBytes } from './layout.ts'
import type { OpenTiff } from './open-file.ts'
import { type TileRange, TileTable, tileRows } from './tile-table.ts'

/** Parts of an image that its index needs. */
export interface ImageParts {
  readonly file: OpenTiff
  readonly layout: ImageLayout
  /** Name of the image in messages. */
  readonly name: string
  /** Position of its directory, which tells the arrays of a file apart. */
  readonly directory: number
  readonly attrs: NamedValues
  readonly fillValue: number | bigint | undefined
  readonly missing: Missing
  /** Tables of JPEG streams. */
  readonly jpegTables: Uint8Array | undefined
}

/** Chunk index of an image of a TIFF file. Chunks are its tiles or strips, by the same numbers. */
export class TiffIndex<D extends DType> implements ChunkIndex<D>, CodecSet {
  readonly dtype: D
  readonly dimensionNames: readonly string[]
  readonly fillValue: ScalarOf<D> | undefined
  readonly missing: Missing<D>
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
  readonly layout: ImageLayout
  readonly #parts: ImageParts
  /** Grid of the tiles as they are stored. */
  readonly #stored: ChunkGrid
  readonly #table: TileTable
  readonly #origin: BlockOrigin
  /** Layout of tiles that are read in place. */
  readonly #inPlace: StridedLayout | undefined
  readonly #codecs = new Map<string, Codec | KernelCodec>()

  constructor(parts: ImageParts) {
    const { file, layout, name, directory } = parts
    const { samples, isPlanar, isTiled, width, height, tileWidth, tileHeight, sample } = layout
    this.#parts = parts
    this.layout = layout
    this.dtype = sample.dtype as DType as D
    this.dimensionNames = [...(samples > 1 ? ['band'] : []), 'y', 'x', ...(sample.isComplex ? [COMPLEX_AXIS] : [])]
    this.fillValue = parts.fillValue as ScalarOf<D> | undefined
    this.missing = parts.missing as Missing<D>
    this.attrs = parts.attrs
    this.label = { file: file.name, array: name }
    this.origins = file.stored.origins
    this.strided = file.strided
    this.budget = file.options.budget
    this.scalar = file.options.scalar
    this.maxElements = file.limits.elements
    this.blocks = new BlockReader(file.memory, file.limits.blockBytes, this, file.options.pool, file.options.budget)
    const Axis = isTiled ? FullChunks : RegularChunks
    this.#stored = new ChunkGrid([
      ...(samples > 1 ? [new RegularChunks(isPlanar ? 1 : samples, samples)] : []),
      new Axis(tileHeight, height),
      new Axis(tileWidth, width),
      ...(sample.isComplex ? [new RegularChunks(2, 2)] : []),
    ])
    this.grid = new ChunkGrid(this.#stored.axes.map(({ chunkLength, length }) => new RegularChunks(chunkLength, length)))
    this.#table = new TileTable(file.bytes, layout)
    this.#origin = file.stored.createOrigin(` ${directory}${keyOfCodecs(file.options.codecs)}`)
    const { compression, isReversed } = layout
    const isInPlace = compression === 'none' && !isReversed && isUnpacked(layout) && (samples === 1 || isPlanar)
    this.#inPlace = isInPlace ? this.#stridedLayout() : undefined
    this.load = (chunks, signal) => within(this.label, () => this.#load(chunks, signal))
  }

  find(name: string): Codec | KernelCodec {
    return this.#codecs.get(name)!
  }

  /** Returns false: the keys of cached blocks name the codecs of users already. */
  isUsers(): boolean {
    return false
  }

  async encodingOf(): Promise<ChunkEncoding> {
    const { describeTiles } = await import('./chunk-encoding.ts')
    return describeTiles(this.layout, this.#parts.file)
  }

  snapshot(): ChunkSnapshot {
    this.#parts.file.stored.checkOpen()
    return this.#snapshot(new Map())
  }

  async #load(chunks: Iterable<number>, signal: Signal | undefined): Promise<ChunkSnapshot> {
    this.#parts.file.stored.checkOpen()
    const found = new Map<number, StoredChunk>()
    for (const [tile, range] of await raceAbort(this.#table.find(chunks), signal)) {
      if (range.bytes === 0 && range.offset === 0) continue
      found.set(tile, this.#inPlace === undefined ? await this.#block(tile, range) : this.#strided(tile, range, this.#inPlace))
    }
    return this.#snapshot(found)
  }

  #snapshot(found: ReadonlyMap<number, StoredChunk>): ChunkSnapshot {
    const grid = this.#stored
    return {
      grid,
      locate: (chunkIndex) => found.get(chunkIndex),
      storedCount: grid.count,
      *stored() {
        for (let chunkIndex = 0; chunkIndex < grid.count; chunkIndex++) yield chunkIndex
      },
      pinned() {
        return this
      },
      checkGrid() {},
    }
  }

  #stridedLayout(): StridedLayout {
    const { sample, tileWidth, tileHeight, samples } = this.layout
    const bytes = elementBytes(sample.dtype)
    const pixel = bytes * (sample.isComplex ? 2 : 1)
    const row = tileWidth * pixel
    return {
      origin: this.#origin,
      byteStrides: [...(samples > 1 ? [tileHeight * row] : []), row, pixel, ...(sample.isComplex ? [bytes] : [])],
      elementBytes: bytes,
      bigEndian: this.#parts.file.bytes.isBigEndian,
    }
  }

  #strided(tile: number, { offset }: TileRange, layout: StridedLayout): StoredChunk {
    return { layout, shape: storedShape(this.#stored, this.#stored.index(tile)), offset }
  }

  async #block(tile: number, { offset, bytes }: TileRange): Promise<StoredChunk> {
    const { blockBytes } = this.#parts.file.limits
    if (bytes > blockBytes) {
      const text = `tile ${tile} has ${bytes} stored bytes, more than \`limits.blockBytes\`, ${blockBytes}`
      throw new HyperslabError('TooLargeError', text, { actual: bytes, expected: blockBytes })
    }
    const size = sizeOf(storedShape(this.#stored, this.#stored.index(tile))) * elementBytes(this.dtype as FixedDType)
    const codec = await this.#codec(tileRows(this.layout, tile))
    const block = {
      origin: this.#origin,
      id: tile,
      fileOffset: offset,
      compressedBytes: bytes,
      uncompressedBytes: size,
      codec,
      crc: undefined,
    }
    return { block, offset: 0, size }
  }

  /** Prepares the codec of tiles with a number of rows, and returns its name. */
  async #codec(rows: number): Promise<string> {
    const name = `tiles of ${rows} rows`
    if (this.#codecs.has(name)) return name
    const { tileCodec } = await import('./tile-codec.ts')
    const { file, layout } = this.#parts
    const { compression, predictor, isReversed, sample, samples, isPlanar, tileWidth, tileHeight } = layout
    const spec = {
      compression,
      predictor,
      isReversed,
      isBigEndian: file.bytes.isBigEndian,
      sample,
      samples: isPlanar ? 1 : samples,
      width: tileWidth,
      rows,
      storedBytes: rowsBytes(layout, rows),
      mostBytes: rowsBytes(layout, tileHeight),
    }
    const users = file.options.codecs.find((codec) => codec.name === compression)
    const codec = tileCodec(
      spec,
      users ? await this.#usersSteps(users) : layout.isPicture ? [await this.#pictureStep(rows)] : undefined,
    )
    await codec.ready()
    this.#codecs.set(name, codec)
    return name
  }

  async #usersSteps(codec: Codec): Promise<Step[]> {
    return (await import('./users-step.ts')).usersSteps(codec, this.layout, this.#parts.jpegTables)
  }

  async #pictureStep(rows: number): Promise<Step> {
    const { pictureStep } = await import('./picture-step.ts')
    const { compression, samples, isPlanar, isYcbcr, tileWidth, tileHeight } = this.layout
    const { jpegTables } = this.#parts
    const tile = { samples: isPlanar ? 1 : samples, width: tileWidth, rows, mostRows: tileHeight }
    return pictureStep({ compression, ...tile, isYcbcr, jpegTables })
  }
}
