/** Classic NetCDF files as arrays. */
export type { NetcdfAttribute, NetcdfAttributes } from './attributes.js'
export {
  NETCDF_CHECKS,
  type NetcdfDimension,
  type NetcdfFile,
  NetcdfVariable,
  type OpenBuffer,
  type OpenNetcdfOptions,
  openBuffer,
} from './file.js'
