import { elementBytes } from '../../core/dtype.ts'
import { compressionName, isPicture, isPictureFormat, isRead, READ } from './compressions.ts'
import type { Directory, Entry, TagValues } from './directory.ts'
import { damagedTiff, refuseTiff } from './errors.ts'
import { type SampleType, sampleCount, sampleType } from './samples.ts'
import { TAG } from './tags.ts'

/** Division of the samples of an image into tiles or strips, and their encoding. */
export interface ImageLayout {
  readonly width: number
  readonly height: number
  /** Samples of a pixel. */
  readonly samples: number
  readonly sample: SampleType
  /** Whether each sample has tiles of its own. */
  readonly isPlanar: boolean
  /** Whether it has tiles, whose last ones are stored in full. */
  readonly isTiled: boolean
  readonly tileWidth: number
  readonly tileHeight: number
  /** Number of tiles. */
  readonly tiles: number
  /** Name of the compression. */
  readonly compression: string
  /** Whether tiles are pictures that the platform decodes. */
  readonly isPicture: boolean
  /** Compression around the bytes of LERC, if there is one. */
  readonly wrapper: 'deflate' | 'zstd' | undefined
  /** Whether colours are stored as YCbCr. */
  readonly isYcbcr: boolean
  readonly predictor: number
  /** Whether the bits of the stored bytes are in reverse order. */
  readonly isReversed: boolean
  /** Table of the positions of tiles. */
  readonly offsets: Entry
  /** Table of the stored sizes of tiles. Old writers omit it. */
  readonly counts: Entry | undefined
}

const PLANAR = 2
const YCBCR = 6
/** Rows of a strip that stand for all rows. */
const ALL_ROWS = 0xffffffff

/**
 * Returns the layout of an image.
 * @param userCodecs names of compressions that codecs of users decode
 * @throws FormatError for impossible sizes; UnsupportedError for encodings that are not read here
 */
export function imageLayout(
  directory: Directory,
  tags: TagValues,
  userCodecs: ReadonlySet<string>,
  asBool: boolean,
): ImageLayout {
  const width = size(tags, TAG.width, 'width')
  const height = size(tags, TAG.height, 'height')
  const samples = sampleCount(tags)
  const planar = tags.number(TAG.planar) ?? 1
  if (samples > 1 && planar !== 1 && planar !== PLANAR) damagedTiff(`the planar configuration is ${planar}`, planar, [1, PLANAR])
  const isPlanar = planar === PLANAR && samples > 1
  const depth = Math.max(tags.number(TAG.imageDepth) ?? 1, tags.number(TAG.tileDepth) ?? 1)
  if (depth > 1) refuseTiff(`images with a depth of ${depth} are not read`, depth, 1)
  const isTiled = directory.entries.has(TAG.tileWidth)
  const rows = tags.number(TAG.rowsPerStrip) ?? ALL_ROWS
  if (!isTiled && !(rows >= 1)) damagedTiff(`strips have ${rows} rows`, rows)
  const tileWidth = isTiled ? size(tags, TAG.tileWidth, 'width of a tile') : width
  const tileHeight = isTiled ? size(tags, TAG.tileLength, 'height of a tile') : Math.min(rows, height)
  const tiles = Math.ceil(width / tileWidth) * Math.ceil(height / tileHeight) * (isPlanar ? samples : 1)
  const { entries } = directory
  const offsets = entries.get(isTiled ? TAG.tileOffsets : TAG.stripOffsets) ?? entries.get(TAG.stripOffsets)
  const counts = entries.get(isTiled ? TAG.tileCounts : TAG.stripCounts) ?? entries.get(TAG.stripCounts)
  const what = isTiled ? 'tiles' : 'strips'
  if (offsets === undefined) return damagedTiff(`there is no table of ${what}`)
  checkTable(offsets, tiles, what)
  if (counts !== undefined) checkTable(counts, tiles, what)
  const compression = compressionName(tags.number(TAG.compression) ?? 1)
  const sample = sampleType(tags, samples, asBool)
  const layout = { width, height, samples, sample, isPlanar, isTiled, tileWidth, tileHeight, tiles, compression, offsets, counts }
  const isYcbcr = tags.number(TAG.photometric) === YCBCR
  const isUsers = userCodecs.has(compression)
  const isOfBytes = sample.dtype === 'uint8' && sample.bits === 8 && !(isYcbcr && isPlanar)
  const isPictures = !isUsers && isOfBytes && isPicture(compression, isPlanar ? 1 : samples)
  const isDecoded = isUsers || isPictures
  if (!isDecoded) checkCompression(compression, tags)
  return {
    ...layout,
    isPicture: isPictures,
    wrapper: compression === 'lerc' ? lercWrapper(tags) : undefined,
    isYcbcr,
    predictor: isDecoded ? 1 : checkPredictor(tags.number(TAG.predictor) ?? 1, compression, sample),
    isReversed: !isDecoded && checkFillOrder(tags.number(TAG.fillOrder) ?? 1, compression),
  }
}

/** Bytes of a tile as it is stored uncompressed, of a number of rows. */
export function rowsBytes({ tileWidth, samples, isPlanar, sample }: ImageLayout, rows: number): number {
  return rows * Math.ceil((tileWidth * (isPlanar ? 1 : samples) * sample.bits * (sample.isComplex ? 2 : 1)) / 8)
}

/** Whether samples are stored as they are read, except for their byte order. */
export const isUnpacked = ({ sample: { bits, dtype } }: ImageLayout): boolean => bits === 8 * elementBytes(dtype)

function size(tags: TagValues, tag: number, what: string): number {
  const value = tags.number(tag)
  if (value === undefined) return damagedTiff(`there is no ${what} (tag ${tag})`)
  return Number.isSafeInteger(value) && value >= 1
    ? value
    : damagedTiff(`the ${what} is ${value} instead of an integer from 1`, value)
}

function checkTable({ tag, type, count }: Entry, tiles: number, what: string): void {
  if (![3, 4, 13, 16, 18].includes(type)) damagedTiff(`the table ${tag} of ${what} has numbers of type ${type}`, type)
  if (count < tiles) damagedTiff(`the table ${tag} of ${what} has ${count} entries for ${tiles} ${what}`, count, tiles)
}

/** @throws UnsupportedError for compressions that are not read here */
function checkCompression(name: string, tags: TagValues): void {
  if (!isRead(name))
    refuseTiff(
      `${isPictureFormat(name) ? `tiles of ${name} are decoded only in browsers, for some types` : `the compression ${name} is not read`}; \
pass a codec named '${name}' in \`codecs\`, or convert the file with gdal_translate -co COMPRESS=DEFLATE`,
      name,
      READ,
    )
  if (tags.number(TAG.photometric) !== YCBCR) return
  const subsampling = tags.numbers(TAG.subsampling) ?? [2, 2]
  if (subsampling.some((each) => each !== 1))
    refuseTiff(
      'YCbCr pictures with subsampled colours are not read here; convert the file to RGB with gdal_translate',
      subsampling,
    )
}

/** Compressions around the bytes of LERC, by the second number of their parameters. */
const WRAPPERS = [undefined, 'deflate', 'zstd'] as const

function lercWrapper(tags: TagValues): ImageLayout['wrapper'] {
  const [, wrapper = 0] = tags.numbers(TAG.lerc) ?? []
  if (WRAPPERS.length > wrapper) return WRAPPERS[wrapper]
  return refuseTiff(`LERC in the compression ${wrapper} is not read here`, wrapper, [0, 1, 2])
}

/** @throws UnsupportedError for predictors that are not read here */
function checkPredictor(predictor: number, compression: string, { bits, isFloat, isComplex }: SampleType): number {
  if (predictor === 1) return predictor
  // Other readers disagree on predictors of these.
  const isApplied = compression !== 'none' && compression !== 'packbits'
  const fits = predictor === 2 ? [8, 16, 32, 64].includes(bits) : predictor === 3 && isFloat && [16, 24, 32, 64].includes(bits)
  if (isApplied && fits && !isComplex) return predictor
  const samples = `${isComplex ? 'complex ' : ''}samples of ${bits} bits`
  return refuseTiff(
    `predictor ${predictor} of ${samples} with the compression ${compression} is not read here`,
    predictor,
    [1, 2, 3],
  )
}

/** Returns whether bits are in reverse order. */
function checkFillOrder(order: number, compression: string): boolean {
  if (order === 1) return false
  if (order !== 2) damagedTiff(`the order of bits is ${order}`, order, [1, 2])
  if (compression === 'deflate' || compression === 'zstd')
    refuseTiff(`bits in reverse order with the compression ${compression} are not read here`, order, 1)
  return true
}
