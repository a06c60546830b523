/**
 * Values that the netCDF library stores in unwritten elements of variables without `_FillValue` (`NC_FILL_…`
 * of netcdf.h), by data type.
 */
export const DEFAULT_FILL = {
  int8: -127,
  int16: -32767,
  int32: -2147483647,
  float32: 15 * 2 ** 119,
  float64: 15 * 2 ** 119,
} as const
