import { GEOTIFF_CHECKS, type GeotiffFile, type OpenGeotiffOptions, openGeotiffFile } from '../adapters/geotiff/open.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { checkUrlOptions, type Location, resolveLocation } from './location.ts'
import { URL_CHECKS, type UrlOptions } from './url-options.ts'

/** Options of `openGeotiff`, with those of requests. */
export interface GeotiffOptions extends OpenGeotiffOptions, UrlOptions {}

const CHECKS: Checks<GeotiffOptions> = { ...GEOTIFF_CHECKS, ...URL_CHECKS }

/**
 * Opens a TIFF or BigTIFF file, such as a GeoTIFF or COG, at any location that `open` accepts. Opening reads
 * the directories of the images. Each read fetches the parts of the tile tables that it needs. Arrays are
 * lazy.
 * @throws NotFoundError; FormatError if the bytes are not TIFF, or are damaged or truncated
 */
export async function openGeotiff(location: Location, options: GeotiffOptions = {}): Promise<GeotiffFile> {
  checkOptions('openGeotiff', options, CHECKS)
  await checkUrlOptions('openGeotiff', location, options)
  return openGeotiffFile(await resolveLocation(location, options), options)
}
