/**
 * Classic NetCDF files: their variables as arrays, and copies of them as containers.
 * @module hyperslab/netcdf
 */

export type {
  NetcdfAttribute,
  NetcdfAttributes,
  NetcdfDimension,
  NetcdfFile,
  NetcdfVariable,
  OpenNetcdfOptions,
} from '../adapters/netcdf/index.ts'
export type { ImportOptions, ImportResult } from '../copy/import-arrays.ts'
export type { AsyncBuffer } from '../core/async-buffer.ts'
export { importNetcdf } from '../dataset/import/import-netcdf.ts'
export type { ImportNetcdfOptions, NetcdfImportResult } from '../dataset/import/netcdf-source.ts'
export { openNetcdf } from '../tree/open-netcdf.ts'
