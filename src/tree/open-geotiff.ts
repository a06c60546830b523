import { GEOTIFF_CHECKS, type GeotiffFile, type OpenGeotiffOptions, openGeotiffFile } from '../adapters/geotiff/open.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { checkUrlOptions, type Location, resolveLocation } from './location.ts'
import { URL_CHECKS, type UrlOptions } from './url-options.ts'

/** Options of `openGeotiff`, with those of requests. */
export interface GeotiffOptions extends OpenGeotiffOptions, UrlOptions {}

const CHECKS: Checks<GeotiffOptions> = { ...GEOTIFF_CHECKS, ...URL_CHECKS }

/**
 * Opens a TIFF or BigTIFF file, such as a GeoTIFF or COG, at any location that `open` accepts. Reads the
 * directories of the images; of their tables of tiles it reads the parts that a selection needs. Arrays are
 * lazy.
 * @throws NotFoundError; FormatError if the bytes are not TIFF, or are damaged or truncated
 */
export async function openGeotiff(location: Location, options: GeotiffOptions = {}): Promise<GeotiffFile> {
  checkOptions('openGeotiff', options, CHECKS)
  await checkUrlOptions('openGeotiff', location, options)
  const { notFound, headers, fetch, ...own } = options
  return openGeotiffFile(await resolveLocation(location, { notFound, headers, fetch }), own)
}
