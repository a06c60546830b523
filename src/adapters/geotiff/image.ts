import { DiskArray } from '../../array/disk-array.ts'
import type { DType } from '../../core/dtype.ts'
import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { Printable } from '../../core/inspect.ts'
import type { ChunkIndex } from '../../engine/chunk-index.ts'
import { ChunkedSource } from '../../engine/chunked-source.ts'
import { TiffIndex } from './array-index.ts'
import { type GeotiffAttributes, type ImageAttributes, imageAttributes, toImageAttributes } from './attributes.ts'
import { refuseTiff } from './errors.ts'
import { type BandMetadata, type GdalMetadata, parseGdalMetadata } from './gdal-metadata.ts'
import {
  type GeoReference,
  type GeoTransform,
  type GeotiffCrs,
  type GroundControlPoint,
  geoReference,
  scaledTransform,
  verticalScale,
} from './geo.ts'
import type { Header, ImageHeaders } from './images.ts'
import { imageLayout } from './layout.ts'
import { type NoData, noData } from './no-data.ts'
import type { OpenTiff } from './open-file.ts'
import { TAG } from './tags.ts'

/** The samples of an image as a lazy array: band, y and x, or y and x for images of one sample. */
export class GeotiffArray<D extends DType = DType> extends DiskArray<D> {
  /** @internal */
  readonly index: TiffIndex<D>

  /** @internal */
  constructor(index: TiffIndex<D>) {
    super(new ChunkedSource(index as ChunkIndex<D>))
    this.index = index
  }

  override get attrs(): GeotiffAttributes {
    return this.source.attrs as GeotiffAttributes
  }
}

/** Content of an image that can be read. */
interface Content {
  readonly array: GeotiffArray
  readonly attrs: ImageAttributes
  readonly metadata: GdalMetadata
  readonly noData: NoData
}

/** Meaning of the tags of an image. */
interface Parsed {
  readonly content: Content | HyperslabError
  readonly geo: GeoReference
}

/** Image that a level or a mask belongs to. */
interface Base {
  readonly header: Header
  geo(): GeoReference
}

const NOWHERE: GeoReference = { transform: undefined, crs: undefined, gcps: [], isPoint: undefined }

/** An image of a TIFF file, or one of its levels or masks. */
export class GeotiffImage extends Printable {
  /** Name in messages. */
  readonly name: string
  readonly #read: () => Parsed
  #parsed: Parsed | undefined
  readonly #levels: readonly GeotiffImage[]
  readonly #mask: GeotiffImage | undefined

  /** @internal */
  static from(file: OpenTiff, name: string, { main, levels, masks }: ImageHeaders): GeotiffImage {
    const reduced = (base: Base): GeotiffImage[] =>
      levels.map((header, i) => {
        const size = sizeOf(header)?.join()
        const mask = masks.slice(1).find((each) => sizeOf(each)?.join() === size)
        return new GeotiffImage(file, `${name}, level ${i + 1}`, header, { base, mask })
      })
    return new GeotiffImage(file, name, main, { mask: masks[0], reduced })
  }

  private constructor(
    file: OpenTiff,
    name: string,
    header: Header,
    {
      base,
      mask,
      reduced,
    }: {
      readonly base?: Base
      readonly mask?: Header | undefined
      /** Returns the reduced versions of the image. */
      readonly reduced?: (base: Base) => readonly GeotiffImage[]
    },
  ) {
    super()
    this.name = name
    this.#read = () => {
      let geo = NOWHERE
      try {
        if ('error' in header) throw header.error
        geo = base === undefined ? geoReference(header.tags) : levelReference(base, header)
        return { geo, content: readContent(file, name, header) }
      } catch (error) {
        if (!isHyperslabError(error)) throw error
        // The file has the sizes that a grid of chunks cannot have, not the caller.
        const tag = error.tag === 'InvalidArgumentError' ? 'FormatError' : error.tag
        return { geo, content: new HyperslabError(tag, error.text, { ...error.details, file: file.name, array: name }) }
      }
    }
    const own: Base = { header, geo: () => this.#geo }
    this.#mask = mask && new GeotiffImage(file, `${name}, mask`, mask, { base: own })
    this.#levels = [this, ...(reduced?.(own) ?? [])]
  }

  get #content(): Parsed['content'] {
    return this.#meaning.content
  }

  get #geo(): GeoReference {
    return this.#meaning.geo
  }

  /** Parsed by the first use, because a file may have 60 000 images. */
  get #meaning(): Parsed {
    this.#parsed ??= this.#read()
    return this.#parsed
  }

  /** Reason why the image cannot be read; undefined if it can. */
  get error(): HyperslabError | undefined {
    return this.#content instanceof HyperslabError ? this.#content : undefined
  }

  /**
   * The samples: band, y and x, or y and x for images of one sample. Complex samples have a last axis of
   * length 2.
   * @throws UnsupportedError, FormatError if the image cannot be read
   */
  get array(): GeotiffArray {
    return this.#opened.array
  }

  /**
   * Attributes: texts of the file, items of GDAL's metadata, colours.
   * @throws UnsupportedError, FormatError if the image cannot be read
   */
  get attrs(): GeotiffAttributes {
    return toImageAttributes(this.#opened.attrs)
  }

  /**
   * Value of missing samples; undefined if there is none.
   * @throws UnsupportedError, FormatError if the image cannot be read
   */
  get noData(): number | bigint | undefined {
    return this.#opened.noData.value
  }

  /**
   * Scale, offset, description and units of each band, as far as the file has them.
   * @throws UnsupportedError, FormatError if the image cannot be read
   */
  get bands(): readonly BandMetadata[] {
    const { metadata, array } = this.#opened
    return Array.from({ length: array.index.layout.samples }, (_, band) => metadata.bands.get(band) ?? {})
  }

  /** Transform from pixels to coordinates; undefined if the file has none. */
  get transform(): GeoTransform | undefined {
    return this.#geo.transform
  }

  /** Coordinate reference system; undefined if the file has none. */
  get crs(): GeotiffCrs | undefined {
    return this.#geo.crs
  }

  /** Ground control points, of images without a transform. */
  get gcps(): readonly GroundControlPoint[] {
    return this.#geo.gcps
  }

  /** Whether samples are values at points, instead of areas; undefined if the file does not say. */
  get isPoint(): boolean | undefined {
    return this.#geo.isPoint
  }

  /** The image whose samples tell which pixels are valid; undefined if there is none. */
  get mask(): GeotiffImage | undefined {
    return this.#mask
  }

  /** Returns the image and its reduced versions, the finest first. */
  levels(): readonly GeotiffImage[] {
    return this.#levels
  }

  /** Returns the name and the shape: `GeotiffImage { 'image 0', 3 x 260 x 307 }`. */
  override toString(): string {
    const content = this.#content
    return `GeotiffImage { '${this.name}', ${content instanceof HyperslabError ? content.tag : content.array.shape.join(' x ')} }`
  }

  get #opened(): Content {
    if (this.#content instanceof HyperslabError) throw this.#content
    return this.#content
  }
}

function sizeOf(header: Header): [number, number] | undefined {
  return 'tags' in header ? [header.tags.number(TAG.width) ?? 0, header.tags.number(TAG.height) ?? 0] : undefined
}

/** Returns the georeference of a level or a mask: that of its image, in its own pixels. */
function levelReference(base: Base, header: Header): GeoReference {
  const [own, full] = [sizeOf(header), sizeOf(base.header)]
  if (own === undefined || full === undefined) return NOWHERE
  const [columns, rows] = [full[0] / own[0], full[1] / own[1]]
  const geo = base.geo()
  const { transform, gcps } = geo
  return {
    ...geo,
    transform: transform && scaledTransform(transform, columns, rows),
    gcps: gcps.map((point) => ({ ...point, column: point.column / columns, row: point.row / rows })),
  }
}

/** Adds the vertical scale and offset of the image, if there are any, to all bands. */
function scaledBands(metadata: GdalMetadata, samples: number, scale: ReturnType<typeof verticalScale>): GdalMetadata {
  if (scale === undefined) return metadata
  const bands = Array.from({ length: samples }, (_, band) => [band, { ...metadata.bands.get(band), ...scale }] as const)
  return { ...metadata, bands: new Map(bands) }
}

const NO_METADATA: GdalMetadata = { items: new Map(), bands: new Map() }

function readContent(file: OpenTiff, name: string, { directory, tags }: Extract<Header, { directory: unknown }>): Content {
  const { codecs, bool } = file.options
  const layout = imageLayout(directory, tags, new Set(codecs.map((codec) => codec.name)), bool)
  const { bits, isFloat } = layout.sample
  // GDAL stores their bytes in the file's order, others the most significant bits first.
  if (bits === 24 && !isFloat && file.bytes.isBigEndian)
    refuseTiff('integers of 24 bits in big-endian files are not read, because writers disagree on their byte order', bits)
  const xml = tags.text(TAG.gdalMetadata)
  const metadata = scaledBands(xml === undefined ? NO_METADATA : parseGdalMetadata(xml), layout.samples, verticalScale(tags))
  const attrs = imageAttributes(tags, metadata)
  const empty = noData(tags.text(TAG.gdalNoData), layout.sample.dtype)
  if (empty.value !== undefined) attrs.set('_FillValue', { type: layout.sample.dtype, value: empty.value })
  const index = new TiffIndex({
    file,
    layout,
    name,
    directory: directory.offset,
    attrs: toImageAttributes(attrs),
    fillValue: empty.value,
    missing: empty.missing,
    jpegTables: tags.bytes(TAG.jpegTables),
  })
  return { array: new GeotiffArray(index), attrs, metadata, noData: empty }
}
