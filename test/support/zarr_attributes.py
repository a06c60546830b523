"""Reads datasets with xarray, as stores, files or references, and says what it finds: a request a line, {path, kind}."""

import json
import sys
import warnings

import numpy as np
import xarray as xr

warnings.simplefilter("ignore")


def plain(value):
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray):
        return [plain(each) for each in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def attribute(value):
    """The value with its kind: to Python 10 and 10.0 are different."""
    array = np.asarray(value)
    return [array.dtype.kind.replace("u", "i").replace("S", "U"), plain(value)]


def values(array):
    array = np.asarray(array)
    if array.dtype.kind in "mM":
        return [None if np.isnat(each) else str(each) for each in array.astype("M8[ns]" if array.dtype.kind == "M" else "m8[ns]").ravel()]
    return [None if each != each else plain(each) for each in array.ravel().tolist()]


def described(variable):
    kind = variable.dtype.kind
    return {
        "dims": list(variable.dims),
        "dtype": "text" if kind in "SUOT" else str(variable.dtype.newbyteorder("=")) if kind not in "mM" else kind,
        "values": values(variable.values),
        "attrs": {name: attribute(value) for name, value in variable.attrs.items()},
        "packing": {
            name: attribute(value)
            for name, value in variable.encoding.items()
            if name in ("scale_factor", "add_offset", "missing_value")
        },
    }


def read(path, kind, group=None, again=None):
    if kind == "netcdf":
        dataset = xr.open_dataset(path, engine="scipy")
    elif kind == "references":
        dataset = xr.open_dataset("reference://", engine="zarr", storage_options={"fo": path}, consolidated=False, chunks=None)
    else:
        dataset = xr.open_dataset(path, engine="zarr", group=group, chunks=None)
    with dataset:
        dataset.load()
        if again is not None:
            dataset.to_zarr(again)
        return {
            "attrs": {name: attribute(value) for name, value in dataset.attrs.items()},
            "variables": {str(name): described(variable) for name, variable in dataset.variables.items()},
        }


def convert(path, target, version):
    """What xarray itself makes of a NetCDF file."""
    with xr.open_dataset(path, engine="scipy") as dataset:
        for variable in dataset.load().variables.values():
            # What xarray reads and refuses to write: fill values of text, and a second value that is missing.
            if variable.dtype.kind in "SUOT":
                variable.encoding.pop("_FillValue", None)
            variable.encoding.pop("missing_value", None)
        dataset.to_zarr(target, zarr_format=version, consolidated=True)
    return read(target, "zarr")


for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = (convert if "target" in request else read)(**request)
    except Exception as error:  # The test shows it.
        answer = {"error": repr(error)}
    print(json.dumps(answer), flush=True)
