/** Classic NetCDF files as arrays. */
export type { NetcdfAttribute, NetcdfAttributes } from './attributes.js'
export {
  type NetcdfDimension,
  type NetcdfFile,
  NetcdfVariable,
  OPEN_CHECKS,
  type OpenBuffer,
  type OpenNetcdfOptions,
  openBuffer,
} from './file.js'
