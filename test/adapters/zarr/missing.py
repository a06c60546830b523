"""Writes arrays with fill values and attributes of many kinds, and prints which of their elements xarray masks.

    python3 missing.py FOLDER

FOLDER gets a group for each, `VERSION-NAME`, with an array `x`. Printed is a list in JSON: of each array its group, its elements as
they are stored (as `matrix.py` writes fill values), and true where an element is missing.
"""

import base64
import json
import os
import struct
import sys
import warnings

import numpy as np
import xarray as xr
import zarr
from matrix import scalar
from zarr.core.dtype import VariableLengthUTF8

warnings.simplefilter("ignore")

NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


def packed(value):
    return base64.standard_b64encode(struct.pack("<d", float(value))).decode()


def cases(version):
    """Names, elements, fill values and attributes."""
    for name in NUMBERS:
        dtype = np.dtype(name)
        ends = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
        low, high = dtype.type(ends.min), dtype.type(ends.max)
        data = np.array([0, 1, 2, 3, 100, low, high, 1, 0], dtype)
        attribute = packed if dtype.kind == "f" and version == 3 else lambda value: value.item()
        hundred = dtype.type(100)
        yield f"{name}_zero", data, dtype.type(0), {}
        yield f"{name}_high", data, high, {}
        yield f"{name}_low", data, low, {}
        yield f"{name}_missing_value", data, dtype.type(0), {"missing_value": 100}
        yield f"{name}_missing_values", data, dtype.type(3), {"missing_value": [1, 100]}
        yield f"{name}_same", data, high, {"missing_value": high.item()}
        yield f"{name}_attribute", data, dtype.type(0), {"_FillValue": attribute(hundred)}
        yield f"{name}_attribute_high", data, dtype.type(0), {"_FillValue": attribute(high), "missing_value": 1}
        if dtype.kind in "iu":
            yield f"{name}_beyond", data, dtype.type(0), {"missing_value": 1e30}
            yield f"{name}_fraction", data, dtype.type(0), {"missing_value": 0.5}
            yield f"{name}_text", data, dtype.type(0), {"missing_value": "none"}
        else:
            holes = data.copy()
            holes[::3] = np.nan
            yield f"{name}_nan", holes, dtype.type(np.nan), {}
            yield f"{name}_nan_attribute", holes, dtype.type(0), {"_FillValue": attribute(dtype.type(np.nan))}
            yield f"{name}_infinite", np.where(data == 2, np.inf, data).astype(dtype), dtype.type(np.inf), {}
            yield f"{name}_large", np.where(data == 2, 1e20, data).astype(dtype), dtype.type(1e20), {"missing_value": dtype.type(1e20).item()}
        if version == 2:
            yield f"{name}_none", data, None, {}
            yield f"{name}_none_attribute", data, None, {"_FillValue": 100}
            yield f"{name}_none_missing_value", data, None, {"missing_value": 1}
    flags = np.array([True, False, True])
    yield "bool_false", flags, False, {}
    texts = np.array(["a", "", "none", "a"], object)
    yield "text_empty", texts, "", {}
    yield "text_missing_value", texts, "", {"missing_value": "none"}
    yield "fixed_text", texts.astype("U4"), "a", {}
    times = np.array(["2000-01-01", "NaT", "1970-01-01"], "M8[ns]")
    yield "times", times, np.datetime64("NaT", "ns"), {}
    yield "times_zero", times, np.datetime64(0, "ns"), {}
    yield "spans", times - times[0], np.timedelta64("NaT", "ns"), {}
    if version == 2:
        yield "fixed_bytes", texts.astype("S4"), b"none", {}


def main(folder):
    answers = []
    for version in (2, 3):
        for name, data, fill, attributes in cases(version):
            path = os.path.join(folder, f"{version}-{name}")
            dimensions = [f"n{len(data)}"]
            array = zarr.create_group(path, zarr_format=version).create_array(
                "x",
                shape=data.shape,
                chunks=data.shape,
                dtype=VariableLengthUTF8() if data.dtype == object else data.dtype,
                fill_value=fill,
                attributes=attributes | ({"_ARRAY_DIMENSIONS": dimensions} if version == 2 else {}),
                **({"dimension_names": dimensions} if version == 3 else {}),
            )
            array[...] = data
            read = xr.open_zarr(path, consolidated=False, chunks=None)["x"].values
            # Of texts pandas takes empty ones for missing; masked ones are no texts.
            mask = np.array([not isinstance(x, str) for x in read]) if data.dtype == object else xr.DataArray(read).isnull().values
            answers.append({"group": f"{version}-{name}", "elements": [scalar(x) for x in data], "mask": mask.tolist()})
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
