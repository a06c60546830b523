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

/** The same with the types that NetCDF-4 has beside those of the classic formats. */
export const NETCDF4_FILL = {
  ...DEFAULT_FILL,
  uint8: 255,
  uint16: 65535,
  uint32: 4294967295,
  int64: -9223372036854775806n,
  uint64: 18446744073709551614n,
} as const
