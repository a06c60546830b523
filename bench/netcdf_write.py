"""Copies `x` of a Zarr group to a classic NetCDF file, some planes at a time: SOURCE TARGET PLANES."""

import sys

import netCDF4
import zarr

source, target, planes = sys.argv[1], sys.argv[2], int(sys.argv[3])
array = zarr.open_group(source, mode="r")["x"]
with netCDF4.Dataset(target, "w", format="NETCDF3_64BIT_OFFSET") as file:
    file.set_fill_off()
    for name, length in zip("zyx", array.shape):
        file.createDimension(name, length)
    variable = file.createVariable("x", array.dtype.str[1:], tuple("zyx"))
    for z in range(0, array.shape[0], planes):
        variable[z : z + planes] = array[z : z + planes]
