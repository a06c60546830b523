/** Classic NetCDF files as arrays. Needs the package netcdfjs, which parses the header. */
export type { AsyncBuffer } from '../../core/async-buffer.js'
export type { NetcdfAttribute } from './attributes.js'
export { type NetcdfDimension, type NetcdfFile, type NetcdfVariable, type OpenNetcdfOptions, openNetcdf } from './file.js'
