import type { ChunkEncoding } from '../../engine/chunk-index.ts'
import { refuseTiff } from './errors.ts'
import { type ImageLayout, isUnpacked } from './layout.ts'
import type { OpenTiff } from './open-file.ts'

/** Compressions of which numcodecs decodes the streams as TIFF stores them. */
const DECODED: Readonly<Record<string, ChunkEncoding['filters']>> = {
  none: [],
  deflate: [{ id: 'zlib', level: 6 }],
  zstd: [{ id: 'zstd', level: 0 }],
}

/**
 * Describes the stored tiles of an image in the terms of Zarr version 2.
 * @throws UnsupportedError with the reason if readers of Zarr would decode other samples
 */
export function describeTiles(layout: ImageLayout, { bytes, options }: OpenTiff): ChunkEncoding {
  const { compression, predictor, isReversed, samples, isPlanar, sample } = layout
  const filters = DECODED[compression]
  if (filters === undefined || options.codecs.some(({ name }) => name === compression))
    return refuseTiff(`numcodecs does not decode tiles of the compression '${compression}'`, compression)
  if (predictor !== 1) refuseTiff(`numcodecs does not know the predictor ${predictor} of TIFF`, predictor)
  if (isReversed) refuseTiff('the tiles store bits in reverse order (FillOrder 2)', 2)
  if (!isUnpacked(layout)) refuseTiff(`numpy has no samples of ${sample.bits} bits as TIFF stores them`, sample.bits)
  const axes = samples > 1 && !isPlanar ? [1, 2, 0, ...(sample.isComplex ? [3] : [])] : undefined
  return { bigEndian: bytes.isBigEndian, filters, axes }
}
