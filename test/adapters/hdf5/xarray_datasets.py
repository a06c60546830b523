"""Answers requests, a line of JSON each, with the dataset that xarray opens of a file: { "file", "group", "engine" }."""

import json
import sys
import warnings

import numpy as np
import xarray as xr

warnings.filterwarnings("ignore")
MOST = 20000


def listed(values):
    """Values as JSON has them: null for NaN and NaT, nanoseconds of times as text."""
    if values.dtype.kind in "mM":
        # Milliseconds from 1970, or of an interval, hold all that the files contain.
        ns = values.astype(f"{values.dtype.kind}8[ns]").astype("i8").reshape(-1)
        return [None if each == np.iinfo("i8").min else str(each) for each in ns.tolist()]
    if values.dtype.kind == "O":
        return [each.decode() if isinstance(each, bytes) else str(each) for each in values.reshape(-1)]
    if values.dtype.kind in "SU":
        return [each.decode() if isinstance(each, bytes) else each for each in values.reshape(-1).tolist()]
    if values.dtype.kind in "iub":
        return [str(int(each)) for each in values.reshape(-1).tolist()]
    return [None if np.isnan(each) else float(each) for each in values.reshape(-1).tolist()]


def is_compared(variable):
    """Compounds are groups of fields here, and lists of variable length are not read."""
    if variable.dtype.kind == "O":
        return all(isinstance(each, (str, bytes)) for each in variable.values.reshape(-1))
    return variable.dtype.kind != "V"


def describe(file, group, dropped, engine):
    with xr.open_dataset(file, engine=engine, group=group or None, drop_variables=dropped) as ds:
        ds = ds.drop_vars([name for name, variable in ds.variables.items() if not is_compared(variable)])
        return {
            "dims": {str(name): size for name, size in ds.sizes.items()},
            "coords": sorted(map(str, ds.coords)),
            "variables": {
                str(name): {
                    "dims": list(map(str, variable.dims)),
                    "kind": variable.dtype.kind,
                    "attributes": sorted(map(str, variable.attrs)),
                    "values": listed(variable.values) if variable.size <= MOST else None,
                }
                for name, variable in ds.variables.items()
            },
        }


for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = describe(request["file"], request.get("group"), request.get("dropped"), request.get("engine", "netcdf4"))
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
