"""Tells names of dimensions as netCDF4 gives them, and writes files of random dimensions.

Requests: { "file" } is answered with the variables of all groups, by path: their dimensions, shapes and names
of attributes. { "write", "seed" } writes a file and is answered with the same.
"""

import json
import random
import sys

import netCDF4
import numpy

TYPES = ["f4", "f8", "i2", "i4", "u1", "S1", str]


def implied(variable):
    """Names of the attributes that types have here."""
    if isinstance(variable.datatype, netCDF4.EnumType):
        return ["flag_meanings", "flag_values"]
    return ["list_type"] if isinstance(variable.datatype, netCDF4.VLType) and variable.dtype is not str else []


def variables(group):
    found = {}
    prefix = group.path.strip("/")
    for name, variable in group.variables.items():
        # Compounds are groups of fields here.
        if isinstance(variable.datatype, netCDF4.CompoundType):
            continue
        found[f"{prefix}/{name}".strip("/")] = {
            "dims": list(variable.dimensions),
            "shape": list(variable.shape),
            "attributes": sorted([*variable.ncattrs(), *implied(variable)]),
        }
    for child in group.groups.values():
        found.update(variables(child))
    return found


def describe(file):
    with netCDF4.Dataset(file) as root:
        return variables(root)


def fill(group, draw, outer):
    own = {}
    for number in range(draw.randint(0, 3)):
        name = draw.choice(["x", "y", "z", "t"])
        if name in group.dimensions:
            continue
        length = draw.randint(1, 4)
        group.createDimension(name, None if draw.random() < 0.3 else length)
        own[name] = length
    known = {**outer, **own}
    for number in range(draw.randint(0, 4)):
        dims = [draw.choice(list(known)) for _ in range(draw.randint(0, 3))] if known else []
        name = draw.choice([f"v{number}", *known])
        if name in group.variables:
            continue
        try:
            dtype = draw.choice(TYPES)
            fill_value = draw.choice([None, 7]) if dtype not in ("S1", str) else None
            variable = group.createVariable(name, dtype, dims, fill_value=fill_value)
        except RuntimeError:
            continue
        shape = [known[dim] for dim in dims]
        variable[...] = numpy.full(shape, "ä" if dtype is str else "b", "O" if dtype is str else "S1") if dtype in ("S1", str) else numpy.ones(shape)
        if draw.random() < 0.5:
            variable.units = "m"
    return known


def write(file, seed):
    draw = random.Random(seed)
    with netCDF4.Dataset(file, "w", format="NETCDF4") as root:
        known = fill(root, draw, {})
        for name in ["a", "b"][: draw.randint(0, 2)]:
            inner = fill(root.createGroup(name), draw, known)
            if draw.random() < 0.5:
                fill(root.createGroup(f"{name}/c"), draw, inner)
    return describe(file)


for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = write(request["write"], request["seed"]) if "write" in request else describe(request["file"])
    except Exception as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
