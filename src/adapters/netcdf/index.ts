/** Classic NetCDF files as arrays. */
export type { NetcdfAttribute, NetcdfAttributes } from './attributes.ts'
export {
  NETCDF_CHECKS,
  type NetcdfDimension,
  type NetcdfFile,
  NetcdfVariable,
  type OpenNetcdfOptions,
  openBuffer,
} from './file.ts'
export { openStored } from './stored.ts'
