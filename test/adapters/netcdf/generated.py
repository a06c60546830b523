"""Makes classic NetCDF files with netCDF4. Reads requests from standard input, a line of JSON each: a path and
a seed, answered with what netCDF4 reads of the file; or a path and a kind, for a file of 5 GiB that is mostly
never written."""

import base64
import json
import random
import sys

import netCDF4
import numpy as np

KINDS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]
TYPES = ["i1", "S1", "i2", "i4", "f4", "f8"]
MORE_TYPES = ["u1", "u2", "u4", "i8", "u8"]
NAMES = ["t", "lat", "a b", "x.y", "température", "été", "气温", "_z", "n-1", "A+B@c"]


def elements(draw, rng, dtype, shape):
    if dtype == "S1":
        return rng.choice(np.frombuffer(b"abc xyz\0", "S1"), shape)
    if dtype[0] == "f":
        a = rng.standard_normal(shape).astype(dtype)
        if a.size and draw.random() < 0.3:
            a[(0,) * a.ndim] = draw.choice([np.nan, np.inf, -np.inf, -0.0])
        return a
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def attributes(draw, rng, node, types):
    for number in range(draw.choice([0, 0, 1, 3, 9])):
        dtype = draw.choice(types)
        name = f"attribute {number}" if draw.random() < 0.5 else f"é{number}"
        if dtype == "S1":
            node.setncattr(name, draw.choice(["", "K", "degré", "long " * 300]))
        else:
            node.setncattr(name, elements(draw, rng, dtype, draw.choice([1, 2, 7])))


def make(path, seed):
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    kind = draw.choice(KINDS)
    types = TYPES + (MORE_TYPES if kind == "NETCDF3_64BIT_DATA" else [])
    with netCDF4.Dataset(path, "w", format=kind) as f:
        if draw.random() < 0.3:
            f.set_fill_off()
        attributes(draw, rng, f, types)
        names = draw.sample(NAMES, len(NAMES))
        dims = []
        for name in names[: draw.choice([0, 1, 3, 4])]:
            f.createDimension(name, draw.choice([1, 2, 3, 5, 13]))
            dims.append(name)
        record = names[9] if draw.random() < 0.7 else None
        if record:
            f.createDimension(record, None)
        records = draw.choice([0, 1, 2, 3, 9])
        for number in range(draw.choice([0, 1, 1, 2, 5, 8])):
            dtype = draw.choice(types)
            own = [draw.choice(dims) for _ in range(draw.choice([0, 1, 2, 3]))] if dims else []
            if record and draw.random() < 0.6:
                own = [record, *own]
            more = {}
            if dtype != "S1" and draw.random() < 0.3:
                more["fill_value"] = elements(draw, rng, dtype, ())
            # netCDF stores this name in its composed form.
            name = draw.choice([names[number], f"v{number}", f"e\u0301{number}"])
            v = f.createVariable(name, dtype, own, **more)
            v.set_auto_maskandscale(False)
            v.set_auto_chartostring(False)
            attributes(draw, rng, v, types)
            shape = [records if each == record else len(f.dimensions[each]) for each in own]
            # Some variables are never written, some only at their start. The others have all records.
            if draw.random() < 0.85 and 0 not in shape:
                v[...] = elements(draw, rng, dtype, shape)
    return describe(path)


def number_text(each):
    return repr(float(each)) if isinstance(each, np.floating) else str(int(each))


def described(value):
    if isinstance(value, str):
        return value
    a = np.atleast_1d(value)
    return [str(a.dtype), [number_text(each) for each in a]]


def describe(path):
    with netCDF4.Dataset(path) as f:
        variables = []
        for name, v in f.variables.items():
            v.set_auto_maskandscale(False)
            v.set_auto_chartostring(False)
            a = np.asarray(v[...])
            variables.append(
                {
                    "name": name,
                    "type": "char" if a.dtype.kind == "S" else a.dtype.name,
                    "dims": list(v.dimensions),
                    "shape": list(v.shape),
                    "data": base64.b64encode(a.astype(a.dtype.newbyteorder("<")).tobytes()).decode(),
                    "attrs": {each: described(v.getncattr(each)) for each in v.ncattrs()},
                }
            )
        return {
            "dimensions": [[name, len(d), d.isunlimited()] for name, d in f.dimensions.items()],
            "attrs": {each: described(f.getncattr(each)) for each in f.ncattrs()},
            "variables": variables,
            "model": f.data_model,
        }


def make_large(path, kind):
    with netCDF4.Dataset(path, "w", format=kind) as f:
        f.set_fill_off()
        f.createDimension("y", 4)
        f.createDimension("x", 5 * 2**28)
        # The header grows only before the large variable, because netCDF moves the data behind it.
        before = f.createVariable("before", "i2", ["y"], fill_value=False)
        large = f.createVariable("large", "f4", ["x"], fill_value=False)
        before[:] = [1, -2, 3, -4]
        large[-2:] = [1.5, -2.5]
    return {}


for line in sys.stdin:
    try:
        path, what = json.loads(line)
        result = make_large(path, what) if isinstance(what, str) else make(path, what)
    except Exception as error:
        result = {"failure": f"{type(error).__name__}: {error}"}
    print(json.dumps(result), flush=True)
