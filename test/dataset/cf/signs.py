"""Writes variables of integers with attributes of their type. Reads one JSON document from standard input: places
and formats of files, and variables with their type, elements as text, and attributes as lists of type and texts.
"""

import json
import sys

import netCDF4
import numpy as np

files, variables = json.load(sys.stdin)
for path, form in files:
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.createDimension("x", None if form == "NETCDF4" else len(variables[0][2]))
        for name, kind, elements, attributes in variables:
            numbers = {each: np.array([int(n) for n in texts], kind) for each, (kind, texts) in attributes.items()}
            fill = numbers.pop("_FillValue", None)
            variable = file.createVariable(name, kind, ("x",), fill_value=False if fill is None else fill[0])
            variable.set_auto_maskandscale(False)
            for each, value in numbers.items():
                variable.setncattr(each, value)
            variable.scale_factor = 0.5
            variable.setncattr("_Unsigned", "false" if kind.startswith("u") else "true")
            variable[:] = np.array([int(n) for n in elements], kind)
