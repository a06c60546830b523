/**
 * Classic NetCDF files: their variables as arrays, and copies of them as containers.
 * @module hyperslab/netcdf
 */

import type { Location } from '../tree/location.ts'
import type { ImportedNetcdf, ImportNetcdfOptions } from './import-netcdf.ts'

/**
 * Copies a classic NetCDF file into a container of a single file, with dimension names, fill values and
 * attributes. Both are places as `open` takes them. The container is written under another name beside its
 * own and appears when it is finished; after an error there is nothing new, and what was there before is
 * untouched.
 * @throws AlreadyExistsError unless `overwrite` is set; NotFoundError; FormatError and UnsupportedError for
 *   what is not classic NetCDF; UnknownArrayError for variables that are not there; InvalidArgumentError for
 *   other options that do not fit; ReadOnlyError
 * @example
 * const { arrays } = await importNetcdf('tas.nc', 'imported.af', { chunks: { time: 1 } })
 * console.log(arrays) // [ 'tas' ]
 */
export async function importNetcdf(
  source: Location,
  target: Location,
  options: ImportNetcdfOptions = {},
): Promise<ImportedNetcdf> {
  // What writes containers is of no use to those who read.
  const { importFile } = await import('./import-netcdf.ts')
  return importFile(source, target, options)
}

export type {
  NetcdfAttribute,
  NetcdfAttributes,
  NetcdfDimension,
  NetcdfFile,
  NetcdfVariable,
  OpenNetcdfOptions,
} from '../adapters/netcdf/index.ts'
export type { AsyncBuffer } from '../core/async-buffer.ts'
export { openNetcdf } from '../tree/open-netcdf.ts'
export type { Imported, ImportOptions } from './import-arrays.ts'
export type { ImportedNetcdf, ImportNetcdfOptions } from './import-netcdf.ts'
