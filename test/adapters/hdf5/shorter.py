"""Writes NetCDF-4 files with variables that are shorter than their unlimited dimensions.

A request { "write", "seed" } is answered with the variables of all groups as netCDF4 reads them: dimensions, shape, elements, and
which of them netCDF masks.
"""

import json
import random
import sys

import netCDF4
import numpy

TYPES = ["f4", "f8", "i2", "i4", "i8", "u2", "u4", "u8", "i1", "u1", "S1", str]


# Elements that were written, by the paths of the variables.
WRITTEN = {}


def is_cut(variable):
    """
    Whether netCDF-C does not read it. Variables of two unlimited dimensions have zeros among the fill values, elements of
    those that are shorter along another axis than the first are in wrong places, and texts behind the end end the process.
    """
    return variable.dtype is str or "t" in variable.dimensions[1:] or "u" in variable.dimensions[1:]


def at_full_length(variable, data):
    fill = getattr(variable, "_FillValue", "" if variable.dtype is str else netCDF4.default_fillvals[variable.dtype.str[1:]])
    values = numpy.full(variable.shape, fill, data.dtype)
    values[tuple(slice(0, n) for n in data.shape)] = data
    return values


def describe(group):
    found = {}
    for name, variable in group.variables.items():
        variable.set_auto_maskandscale(False)
        variable.set_auto_chartostring(False)
        path = f"{group.path}/{name}".strip("/")
        values = at_full_length(variable, WRITTEN[path]) if is_cut(variable) else variable[...]
        flat = numpy.asarray(values).reshape(-1)
        if flat.dtype.kind == "S":
            flat = [each.decode() for each in flat]
        variable.set_auto_mask(True)
        masked = [] if variable.dtype is str or is_cut(variable) else numpy.ma.getmaskarray(variable[...]).reshape(-1)
        if variable.dtype is not str and variable.dtype.itemsize == 1 and "_FillValue" not in variable.ncattrs():
            # All bytes are valid here.
            masked = numpy.zeros(variable.size, bool)
        elif is_cut(variable) and variable.dtype is not str:
            own = netCDF4.default_fillvals[variable.dtype.str[1:]] if variable.dtype.itemsize > 1 else None
            masked = numpy.asarray(values).reshape(-1) == getattr(variable, "_FillValue", own)
        found[path] = {
            "dims": list(variable.dimensions),
            "shape": list(variable.shape),
            "values": [str(each) if isinstance(each, str) else repr(each.item()) for each in flat],
            "masked": [] if variable.dtype is str or variable.dtype.kind == "S" else [bool(each) for each in masked],

        }
    for child in group.groups.values():
        found.update(describe(child))
    return found


def fill(group, draw, known):
    for number in range(draw.randint(1, 5)):
        dims = draw.choice([["t"], ["t", "x"], ["x", "t"], ["t", "u"], ["u"], ["x"]])
        dtype = draw.choice(TYPES)
        options = {} if dtype in ("S1", str) else draw.choice([{}, {}, {"fill_value": 7}, {"fill_value": False}])
        options["chunksizes"] = [2] * len(dims)
        variable = group.createVariable(draw.choice([f"v{number}", f"v{number}", "t"]) if dims == ["t"] and "t" not in group.variables else f"v{number}", dtype, dims, **options)
        lengths = [2 if dim == "x" else draw.randint(0, 4) for dim in dims]
        if 0 in lengths:
            WRITTEN[f"{group.path}/{variable.name}".strip("/")] = numpy.empty([2 if dim == "x" else 0 for dim in dims], "O" if dtype is str else dtype)
            continue
        if dtype in ("S1", str):
            data = numpy.full(lengths, "b", "S1" if dtype == "S1" else "O")
        else:
            data = numpy.arange(numpy.prod(lengths)).reshape(lengths).astype(dtype)
        variable[tuple(slice(0, n) for n in lengths)] = data
        WRITTEN[f"{group.path}/{variable.name}".strip("/")] = data


for line in sys.stdin:
    request = json.loads(line)
    try:
        draw = random.Random(request["seed"])
        WRITTEN.clear()
        with netCDF4.Dataset(request["write"], "w", format="NETCDF4") as root:
            root.createDimension("t", None)
            root.createDimension("u", None)
            root.createDimension("x", 2)
            fill(root, draw, [])
            if draw.random() < 0.5:
                fill(root.createGroup("a"), draw, [])
            if draw.random() < 0.5:
                fill(root.createGroup("b/c"), draw, [])
        with netCDF4.Dataset(request["write"]) as root:
            answer = describe(root)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
