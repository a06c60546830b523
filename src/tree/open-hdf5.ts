import type { Hdf5Group } from '../adapters/hdf5/group.ts'
import { HDF5_CHECKS, type OpenHdf5Options, openHdf5File } from '../adapters/hdf5/open.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { EXTERNAL_CHECKS, type ExternalOptions, resolveExternal } from './external-files.ts'
import { checkUrlOptions, type Location, resolveLocation } from './location.ts'
import { URL_CHECKS, type UrlOptions } from './url-options.ts'

/** Options of `openHdf5`, with those of requests. Aborting `signal` cancels the opening. */
export interface Hdf5Options extends Omit<OpenHdf5Options, 'external'>, ExternalOptions, UrlOptions {}

const CHECKS: Checks<Hdf5Options> = { ...HDF5_CHECKS, ...EXTERNAL_CHECKS, ...URL_CHECKS }

/**
 * Opens an HDF5 file, such as a NetCDF-4 or MATLAB 7.3 file, at any location that `open` accepts. Listing a
 * group reads its metadata. A read fetches only the chunks of the selection. Arrays are lazy; fields of
 * compounds are arrays of their own (`wind/speed`).
 * @returns the root group; close it
 * @throws NotFoundError; FormatError if the bytes are not HDF5, or are damaged or truncated; IntegrityError
 *   if a checksum of the metadata differs; UnsupportedError for parts of split files
 */
export async function openHdf5(location: Location, options: Hdf5Options = {}): Promise<Hdf5Group> {
  checkOptions('openHdf5', options, CHECKS)
  await checkUrlOptions('openHdf5', location, options)
  const place = await resolveLocation(location, options)
  const external = await resolveExternal(place, options, options)
  return (await openHdf5File(place, { ...options, external })).root
}
