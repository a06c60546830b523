"""Makes HDF5 files of several writers with the structure of climate data, and prints their names.

Each has 20 variables of (60, 46, 90) in chunks of (1, 23, 45), with coordinates. The numbers are noise, so that
chunks keep their size. One argument names the folder.
"""

import os
import sys

import h5py
import netCDF4
import numpy as np

SHAPE = (60, 46, 90)
CHUNKS = (1, 23, 45)
NAMES = [f"v{i:02}" for i in range(20)]


def values(i):
    # The first elements of a map are the number of the variable and that of the time.
    out = np.random.default_rng(i).random(SHAPE, dtype="f4")
    out[:, 0, 0] = i
    out[:, 0, 1] = np.arange(SHAPE[0])
    return out


def attributes(count):
    known = {"units": "K", "long_name": "temperature of the air near the surface", "standard_name": "air_temperature"}
    return {**known, **{f"note_{i}": f"note {i}" for i in range(count - len(known))}}


def netcdf(path, count=9):
    with netCDF4.Dataset(path, "w") as file:
        for name, size in zip(("time", "lat", "lon"), (None, *SHAPE[1:])):
            file.createDimension(name, size)
            file.createVariable(name, "f8", (name,)).units = "days since 2000-01-01" if name == "time" else "degrees"
        for i, name in enumerate(NAMES):
            variable = file.createVariable(name, "f4", ("time", "lat", "lon"), chunksizes=CHUNKS, zlib=True, complevel=1)
            variable.setncatts(attributes(count))
        file.sync()
        for i, name in enumerate(NAMES):
            file[name][:] = values(i)
        for name, size in zip(("time", "lat", "lon"), SHAPE):
            file[name][:] = np.arange(size)


def hdf5(path, limits=None, count=9, **more):
    with h5py.File(path, "w", **more) as file:
        scales = []
        for name, size in zip(("time", "lat", "lon"), SHAPE):
            scale = file.create_dataset(name, data=np.arange(size, dtype="f8"))
            scale.make_scale(name)
            scales.append(scale)
        for i, name in enumerate(NAMES):
            dataset = file.create_dataset(name, SHAPE, "f4", chunks=CHUNKS, maxshape=limits, compression="gzip", compression_opts=1)
            for axis, scale in enumerate(scales):
                dataset.dims[axis].attach_scale(scale)
            dataset.attrs.update(attributes(count))
        for i, name in enumerate(NAMES):
            file[name][...] = values(i)


MAKERS = {
    "netcdf.nc": netcdf,
    "attributes.nc": lambda path: netcdf(path, 20),
    "default.h5": hdf5,
    "latest.h5": lambda path: hdf5(path, (None, *SHAPE[1:]), libver="latest"),
    "fixed.h5": lambda path: hdf5(path, libver="latest"),
    "btree2.h5": lambda path: hdf5(path, (None, None, SHAPE[2]), libver="latest"),
    "paged.h5": lambda path: hdf5(path, fs_strategy="page", fs_page_size=4 * 2**20, libver="v110"),
}

for name, make in MAKERS.items():
    make(os.path.join(sys.argv[1], name))
    print(name)
