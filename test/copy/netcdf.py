"""Reads classic NetCDF files by netCDF4 and xarray, and makes some by netCDF4. Reads requests from standard
input, a line of JSON each: a path, or a path and a seed of the file to make there. Answers what both read."""

import base64
import json
import random
import sys
import warnings

import netCDF4
import numpy as np
import xarray as xr

# Missing values that differ are read as xarray does, which warns of them.
warnings.simplefilter("ignore")

CALENDARS = ["standard", "proleptic_gregorian", "noleap", "360_day", "julian"]


def number_text(each):
    return repr(float(each)) if isinstance(each, np.floating) else str(int(each))


def attribute(value):
    if isinstance(value, str):
        return value
    a = np.atleast_1d(value)
    return [a.dtype.name, [number_text(each) for each in a]]


def raw(path):
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        f.set_auto_chartostring(False)
        variables = {}
        for name, v in f.variables.items():
            a = np.asarray(v[...])
            variables[name] = {
                "type": "char" if a.dtype.kind == "S" else a.dtype.name,
                "dims": list(v.dimensions),
                "shape": list(a.shape),
                "data": base64.b64encode(a.astype(a.dtype.newbyteorder("<")).tobytes()).decode(),
                "attrs": {each: attribute(v.getncattr(each)) for each in v.ncattrs()},
            }
        return {
            "model": f.data_model,
            "dimensions": {name: [len(d), d.isunlimited()] for name, d in f.dimensions.items()},
            "attrs": {each: attribute(f.getncattr(each)) for each in f.ncattrs()},
            "variables": variables,
        }


def value_text(each):
    if isinstance(each, np.datetime64):
        return "NaT" if np.isnat(each) else str(each.astype("datetime64[ns]").astype("int64"))
    if isinstance(each, (bool, np.bool_)):
        return str(bool(each)).lower()
    if isinstance(each, (np.floating, float)):
        return repr(float(each))
    if isinstance(each, np.integer):
        return str(int(each))
    if isinstance(each, bytes):
        return each.decode()
    return f"{each.calendar} {each.isoformat()}" if hasattr(each, "calendar") else str(each)


def decoded(path):
    with xr.open_dataset(path) as ds:
        ds.load()
        return {
            str(name): {"dims": list(v.dims), "type": v.dtype.name, "values": [value_text(each) for each in v.values.ravel()]}
            for name, v in ds.variables.items()
        } | {"": {"dims": sorted(map(str, ds.coords)), "type": "", "values": []}}


def make(path, seed):
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    kind = draw.choice(["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
    with netCDF4.Dataset(path, "w", format=kind) as f:
        f.Conventions = "CF-1.11"
        f.setncattr("degré", np.array([1.5, -0.0], "f4"))
        steps = draw.choice([1, 2, 5])
        f.createDimension("time", None if draw.random() < 0.6 else steps)
        for name, length in (("y", 3), ("x", 4), ("nv", 2), ("letters", 5)):
            f.createDimension(name, length)
        time = f.createVariable("time", draw.choice(["i4", "f8", "i2"]), ["time"])
        unit = draw.choice(["days", "hours"])
        time.setncatts({"units": f"{unit} since 1995-12-30", "calendar": draw.choice(CALENDARS), "bounds": "time_bnds"})
        time[:] = np.arange(steps) * draw.choice([1, 7])
        bounds = f.createVariable("time_bnds", time.dtype, ["time", "nv"])
        bounds[:] = np.stack([time[:], time[:] + 1], axis=1)
        lat = f.createVariable("lat", "f4", ["y", "x"])
        lat.units = "degrees_north"
        lat[:] = rng.uniform(-90, 90, (3, 4))
        for number in range(draw.choice([1, 2, 4])):
            dims = draw.choice([["time", "y", "x"], ["y", "x"], ["time"], ["time", "x"], []])
            dtype = draw.choice(["i1", "i2", "i4", "f4", "f8"])
            fill = {"i1": -100, "i2": -999, "i4": -99999, "f4": 1e20, "f8": np.nan}[dtype] if draw.random() < 0.6 else None
            v = f.createVariable(f"v{number}", dtype, dims, fill_value=fill)
            v.set_auto_maskandscale(False)
            shape = [len(f.dimensions[each]) or steps for each in dims]
            a = rng.integers(-99, 99, shape).astype(dtype)
            if fill is not None:
                a = np.where(rng.random(shape) < 0.2, np.array(fill, dtype), a)
            v[...] = a
            v.units = draw.choice(["K", "°C"])
            if draw.random() < 0.4 and dtype[0] == "i":
                scale = draw.choice(["f4", "f8"])
                v.setncatts({"scale_factor": np.array(0.25, scale), "add_offset": np.array(10, scale)})
            if dtype == "i1" and draw.random() < 0.5:
                v.setncattr("_Unsigned", "true")
            if "y" in dims and "x" in dims:
                v.coordinates = "lat"
            if draw.random() < 0.3:
                v.missing_value = np.array(-98, dtype)
            if draw.random() < 0.3:
                v.valid_range = np.array([-50, 50], dtype)
        if draw.random() < 0.5:
            names = f.createVariable("names", "S1", ["y", "letters"])
            names.setncattr("_Encoding", "utf-8")
            names.set_auto_chartostring(False)
            texts = [draw.choice(["ab", "grö", ""]).encode() for _ in range(3)]
            names[:] = np.array(texts, "S5").view("S1").reshape(3, 5)
    return path


for line in sys.stdin:
    try:
        path, *seed = json.loads(line)
        if seed:
            make(path, seed[0])
        result = {"raw": raw(path), "decoded": decoded(path)}
    except Exception as error:
        result = {"failure": f"{type(error).__name__}: {error}"}
    print(json.dumps(result), flush=True)
