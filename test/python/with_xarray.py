"""Opens a container and the NetCDF file that it was made of with xarray, as JSON the request says, and compares."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

import hyperslab_af  # noqa: E402
import numpy as np  # noqa: E402
import xarray as xr  # noqa: E402

for line in sys.stdin:
    request = json.loads(line)
    with xr.open_dataset(request["netcdf"], engine="scipy") as want, xr.open_dataset(
        request["container"], engine=hyperslab_af.AfBackend
    ) as got:
        lazy = [name for name in got.variables if not got[name].variable._in_memory]
        xr.testing.assert_equal(got, want)
        name = request["variable"]
        mean = got[name].isel({got[name].dims[-1]: slice(None, None, -3)}).mean()
        np.testing.assert_equal(mean.values, want[name].isel({got[name].dims[-1]: slice(None, None, -3)}).mean().values)
        with xr.open_dataset(request["netcdf"], engine="scipy", decode_cf=False) as raw_want, xr.open_dataset(
            request["container"], engine=hyperslab_af.AfBackend, decode_cf=False
        ) as raw:
            # Imported as they are, stored values are those of the file; written again, all are numbers as they were.
            assert raw["time"].dtype.kind != "M", raw["time"].dtype
            np.testing.assert_array_equal(raw["time"].values, raw_want["time"].values)
            np.testing.assert_array_equal(raw[name].values, raw_want[name].values)
        answer = {
            "variables": sorted(got.variables),
            "lazy": sorted(lazy),
            "attrs": {key: str(value) for key, value in got[name].attrs.items()},
            "want": {key: str(value) for key, value in want[name].attrs.items()},
            "dtype": str(got[name].dtype),
            "mean": float(mean),
        }
    print(json.dumps(answer), flush=True)
