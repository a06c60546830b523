import { NETCDF_CHECKS, type NetcdfFile, type OpenNetcdfOptions, openBuffer, openStored } from '../adapters/netcdf/index.ts'
import { checkOptions } from '../core/options.ts'
import { isAsyncBuffer } from '../store/handles.ts'
import { checkUrlOptions, type Location, resolveLocation } from './location.ts'

/**
 * Opens a classic NetCDF file (CDF-1, CDF-2 or CDF-5), at any location that `open` accepts. Reads the header
 * only; the variables are lazy arrays, which fetch the byte ranges that a selection needs. `char` variables
 * are arrays of strings: of whole texts if the last dimension is the length of texts, otherwise of single
 * characters.
 * @throws NotFoundError; FormatError if the bytes are not NetCDF, or the header is damaged or truncated;
 *   UnsupportedError for NetCDF-4. Reads throw ConflictError if the file has changed since, and FormatError
 *   for elements beyond its end
 * @example
 * await using file = await openNetcdf('tas.nc')
 * console.log((await file.variable('tas').get([slice(1)])).shape) // [ 1, 2 ]
 */
export async function openNetcdf(location: Location, options: OpenNetcdfOptions = {}): Promise<NetcdfFile> {
  checkOptions('openNetcdf', options, NETCDF_CHECKS)
  await checkUrlOptions('openNetcdf', location, options)
  if (typeof location === 'object' && location !== null && isAsyncBuffer(location)) return openBuffer(location, options)
  return openStored(await resolveLocation(location, options), options)
}
