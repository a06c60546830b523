"""Writes the same groups and arrays in every way that zarr-python and xarray have.

    python3 hierarchy.py FOLDER

FOLDER gets `VERSION-plain` and `VERSION-consolidated`, written by zarr-python, and `VERSION-xarray`, by xarray.
"""

import os
import sys
import warnings

import numpy as np
import xarray as xr
import zarr

warnings.simplefilter("ignore")


def main(folder):
    for version in (2, 3):
        for consolidated in (False, True):
            path = os.path.join(folder, f"{version}-{'consolidated' if consolidated else 'plain'}")
            root = zarr.create_group(path, zarr_format=version, attributes={"title": "ö", "big": 2**62, "hole": float("nan")})
            root.create_array("x", shape=(4, 2), chunks=(2, 2), dtype="i8", fill_value=2**62 + 1, attributes={"units": "m"})
            group = root.create_group("g", attributes={"level": 1})
            group.create_group("empty")
            group.create_group("h").create_array("y", shape=(), dtype="f4", fill_value=np.nan)
            if consolidated:
                zarr.consolidate_metadata(path, zarr_format=version)
        names = ["x", "y"]
        values = {"t": (names, np.arange(6.0).reshape(2, 3)), "i": (names, np.arange(6).reshape(2, 3))}
        dataset = xr.Dataset(values, {"y": [1.5, 2.5, 3.5]}, {"title": "xarray"})
        dataset.to_zarr(os.path.join(folder, f"{version}-xarray"), zarr_format=version, consolidated=True, encoding={"i": {"_FillValue": 5}})


if __name__ == "__main__":
    main(sys.argv[1])
