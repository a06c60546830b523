import type { Location } from '../../tree/location.ts'
import type { ImportNetcdfOptions, NetcdfImportResult } from './netcdf-source.ts'

/**
 * Copies a classic NetCDF file into a container of a single file, with dimension names, fill values and
 * attributes. Both are locations as for `open`. The container is written under another name in its folder,
 * and appears when it is complete. After an error, there is no new container, and an existing one is
 * unchanged.
 * @throws AlreadyExistsError unless `overwrite` is set; NotFoundError; FormatError and UnsupportedError for
 *   other files than classic NetCDF; UnknownArrayError for unknown variables; InvalidArgumentError for other
 *   invalid options; ReadOnlyError
 * @example
 * const { arrays } = await importNetcdf('tas.nc', 'imported.af', { chunks: { time: 1 } })
 * console.log(arrays) // [ 'tas' ]
 */
export async function importNetcdf(
  source: Location,
  target: Location,
  options: ImportNetcdfOptions = {},
): Promise<NetcdfImportResult> {
  // Loaded lazily, so that programs that only read do not load the code for writing.
  const { importFile } = await import('./netcdf-source.ts')
  return importFile(source, target, options)
}
