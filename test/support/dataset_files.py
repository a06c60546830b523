"""Files of labelled data that are joined, and grids that go wrong, as xarray writes them."""
import warnings

import numpy as np
import pandas as pd
import xarray as xr

warnings.filterwarnings("ignore")


def store(ds, path, encoding):
    """The same as NetCDF-3 and as Zarr of both versions; returns nothing."""
    ds.to_netcdf(f"{path}.nc", engine="scipy", format="NETCDF3_CLASSIC", encoding=encoding)
    for version in (2, 3):
        ds.to_zarr(f"{path}.v{version}.zarr", zarr_format=version, encoding=encoding, mode="w", consolidated=version == 2)


def month(rng, time, lat, lon, number):
    return xr.Dataset(
        {
            "tas": (("time", "lat", "lon"), 280 + 10 * number + rng.standard_normal((len(time), len(lat), len(lon))), {"units": "K"}),
            "count": (("time", "lat"), rng.integers(0, 50, (len(time), len(lat))).astype("i4"), {"long_name": "stations"}),
            "orog": (("lat", "lon"), np.add.outer(lat, lon), {"units": "m"}),
        },
        coords={
            "time": ("time", time),
            "lat": ("lat", lat, {"units": "degrees_north"}),
            "lon": ("lon", lon, {"units": "degrees_east"}),
            "age": ("time", np.arange(len(time)) + 100.0 * number, {"units": "days"}),
            "height": ((), 2.0, {"units": "m"}),
        },
        attrs={"title": f"part {number}"},
    )


def write_parts(folder):
    """Parts of three series: of packing and origins of their own, of another calendar, along levels."""
    rng = np.random.default_rng(17)
    lat, lon = np.linspace(60, -60, 5), np.arange(0, 360, 60.0)
    for number, start in enumerate(["1998-01-01", "1998-02-01", "1998-03-01"]):
        time = pd.date_range(start, periods=[31, 28, 31][number], freq="D")
        ds = month(rng, time, lat, lon, number)
        ds["tas"] = ds.tas.where(rng.random(ds.tas.shape) > 0.1)
        packing = {"dtype": "int16", "scale_factor": 0.01 * (number + 1), "add_offset": 280.0 + 10 * number, "_FillValue": np.int16(-32768 + number)}
        units = [f"days since {start}", "hours since 1900-01-01", "days since 1850-01-01"][number]
        store(ds, f"{folder}/packed{number}", {"tas": packing, "time": {"units": units, "dtype": "float64" if number else "int32"}})
    for number in range(3):
        time = xr.date_range(f"{2000 + number}-01-16", periods=12, freq="MS", calendar="noleap", use_cftime=True)
        ds = month(rng, time, lat, lon, number)
        units = ["days since 2000-01-01", "hours since 2001-01-01", "days since 1850-01-01"][number]
        ds["seen"] = ("time", time)
        own = {"units": units, "dtype": "float64", "calendar": "noleap"}
        store(ds, f"{folder}/noleap{number}", {"time": own, "seen": {**own, "units": f"days since {1990 + number}-01-01"}})
    for number, level in enumerate([[1000.0, 925.0, 850.0], [700.0, 600.0], [500.0, 250.0, 100.0]]):
        ds = xr.Dataset({"ua": (("level", "lat"), rng.standard_normal((len(level), 5)).astype("f4"))}, coords={"level": ("level", np.array(level)), "lat": ("lat", lat)})
        store(ds, f"{folder}/levels{number}", {})
