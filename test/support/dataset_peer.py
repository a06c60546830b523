"""Writes files of labelled data with xarray, and does with them what it is told, one request a line."""
import json
import math
import operator
import sys
import warnings

import cftime
import numpy as np
import pandas as pd
import xarray as xr

import dataset_files

warnings.filterwarnings("ignore")


def times(kind, count):
    if kind == "daily":
        return pd.date_range("1997-12-20", periods=count, freq="D")
    if kind == "hourly":
        return pd.date_range("2001-02-27T18:00", periods=count, freq="6h")
    if kind == "monthly":
        return pd.date_range("1997-01-01", periods=count, freq="MS") + pd.Timedelta(days=14, hours=12)
    calendar = {"noleap": "noleap", "360_day": "360_day", "julian": "julian"}[kind]
    start = cftime.datetime(1997, 1, 16, calendar=calendar)
    return xr.date_range(start, periods=count, freq="MS", calendar=calendar, use_cftime=True)


def field(rng, shape, missing):
    values = 280 + 15 * rng.standard_normal(shape)
    if missing:
        values[rng.random(shape) < 0.1] = np.nan
    return values


def write(folder):
    rng = np.random.default_rng(16)
    names = []
    grids = {
        "plain": ("daily", np.linspace(-75, 75, 11), np.linspace(-170, 170, 18), {}, False),
        "packed": ("monthly", np.linspace(80, -80, 9), np.arange(0, 360, 20.0), {"dtype": "int16", "scale_factor": 0.01, "add_offset": 280.0, "_FillValue": np.int16(-32768)}, True),
        "float": ("hourly", np.linspace(30, 60, 7).astype("f4"), np.linspace(-10, 25, 8).astype("f4"), {"_FillValue": np.float32(1e20)}, True),
        "noleap": ("noleap", np.linspace(-60, 60, 5), np.linspace(0, 315, 8), {}, True),
        "360_day": ("360_day", np.linspace(60, -60, 5), np.linspace(0, 315, 8), {"missing_value": np.float64(-999.0), "_FillValue": np.float64(-999.0)}, True),
        "julian": ("julian", np.linspace(60, -60, 5), np.linspace(0, 315, 8), {}, False),
    }
    for name, (kind, lat, lon, encoding, missing) in grids.items():
        count = {"daily": 60, "hourly": 40}.get(kind, 30)
        time = times(kind, count)
        level = np.array([1000, 850, 500], dtype="i4")
        dtype = "f8" if encoding.get("_FillValue", np.float64(0)).dtype == np.float64 or "scale_factor" in encoding else "f4"
        ds = xr.Dataset(
            {
                "tas": (("time", "lat", "lon"), field(rng, (count, len(lat), len(lon)), missing).astype(dtype), {"units": "K", "long_name": "temperature"}),
                "ua": (("time", "level", "lat"), field(rng, (count, 3, len(lat)), False), {"units": "m s-1"}),
                "orog": (("lat", "lon"), rng.random((len(lat), len(lon))), {"units": "m"}),
                "seen": (("time", "level"), seen(time)),
            },
            coords={
                "time": ("time", time),
                "level": ("level", level, {"units": "hPa", "positive": "down"}),
                "lat": ("lat", lat, {"units": "degrees_north", "standard_name": "latitude"}),
                "lon": ("lon", lon, {"units": "degrees_east", "standard_name": "longitude"}),
                "area": (("lat", "lon"), np.abs(np.cos(np.deg2rad(lat)))[:, None] * np.ones(len(lon)), {"units": "m2"}),
            },
            attrs={"title": name},
        )
        encodings = {"tas": encoding} if encoding else {"tas": {"_FillValue": None}}
        encodings["seen"] = {"units": "minutes since 1995-03-01", "dtype": "float64"}
        encodings["time"] = {"units": "hours since 1990-01-01" if kind == "hourly" else "days since 1990-01-01", "dtype": "float64"}
        ds.to_netcdf(f"{folder}/{name}.nc", engine="scipy", format="NETCDF3_CLASSIC", encoding=encodings)
        for version in (2, 3):
            chunks = {"chunks": (7, 4, 5)}
            own = {**encodings, "tas": {**encodings["tas"], **chunks}}
            ds.to_zarr(f"{folder}/{name}.v{version}.zarr", zarr_format=version, encoding=own, mode="w", consolidated=version == 2)
        names.append(name)
    return names


def seen(time):
    """Times beside those of the dimension; the first is missing where no time can be."""
    values = np.stack([time + pd.Timedelta(hours=7 * k, minutes=13) for k in range(3)], axis=1)
    if values.dtype.kind == "M":
        values[0, 0] = np.datetime64("NaT")
    return values


opened = {}


def dataset(path):
    """A file; several are joined as open_mfdataset, which needs dask, does it."""
    if isinstance(path, list):
        options = {"data_vars": "minimal", "coords": "minimal", "compat": "equals", "join": "exact", "combine_attrs": "override"}
        return xr.combine_by_coords([dataset(each) for each in path], **options)
    if path not in opened:
        if path.endswith(".nc"):
            opened[path] = xr.open_dataset(path, engine="scipy")
        else:
            opened[path] = xr.open_zarr(path, consolidated=None, chunks=None)
    return opened[path]


def oriented(array, dim, low, high):
    index = array.indexes[dim]
    return slice(low, high) if len(index) < 2 or index[0] <= index[-1] else slice(high, low)


def selector(array, dim, spec):
    if isinstance(spec, dict):
        return oriented(array, dim, *spec["between"])
    return spec


def step(array, name, options):
    if name == "sel":
        labels = {dim: selector(array, dim, spec) for dim, spec in options["labels"].items()}
        tolerance = options.get("tolerance")
        return array.sel(labels, method=options.get("method"), tolerance=tolerance)
    if name == "points":
        return array.sel({key: xr.DataArray(values, dims="points") for key, values in options["labels"].items()}, method=options.get("method"))
    if name == "isel":
        return array.isel({dim: slice(*spec["slice"]) if isinstance(spec, dict) else spec for dim, spec in options.items()})
    if name == "quantile":
        return array.quantile(options["q"], dim=options["axis"])
    if name == "reduce":
        return reduce(array, options)
    if name == "groupBy":
        key = options["key"]
        if isinstance(key, dict):
            (dim, bins), = key.items()
            grouped = array.groupby_bins(dim, bins)
        else:
            grouped = array.groupby(key)
        return reduce(grouped, options)
    if name == "anomaly":
        grouped = array.groupby(options["key"])
        return grouped - reduce(array.groupby(options["key"]), {"kind": "mean"})
    if name == "resample":
        return reduce(array.resample(time=options["frequency"]), options)
    if name == "rolling":
        return reduce(array.rolling(options["windows"], center=options.get("center", False), min_periods=options.get("minPeriods")), options)
    if name == "coarsen":
        return reduce(array.coarsen(options["windows"], boundary=options.get("boundary", "exact")), options)
    if name == "weighted":
        weights = np.cos(np.deg2rad(array["lat"]))
        return reduce(array.weighted(weights), options)
    if name == "quantile":
        return array.quantile(options["q"], dim=options.get("axis"))
    if name == "scalar":
        a = options["value"]
        return {"add": array + a, "sub": array - a, "mul": array * a, "div": array / a}[options["operation"]]
    if name == "interp":
        times = lambda labels: np.array(labels, dtype="datetime64[ns]") if "time" in array.dims else labels
        return array.interp({dim: times(labels) if dim == "time" else labels for dim, labels in options.items()})
    if name in OPERATIONS:
        return OPERATIONS[name](array, options)
    raise ValueError(name)


def any_true(array, o):
    """A missing value is not true, other than in numpy."""
    return reduce(array.fillna(0) if array.dtype.kind == "f" else array, {**o, "kind": "any"})


def arg_extreme(kind):
    """Positions of extremes; NaN for cells without values, of which xarray refuses the whole array."""

    def find(array, o):
        none = array.isnull().all(o["axis"])
        last = {"f": (np.inf, -np.inf), "M": (np.datetime64("2200-01-01"), np.datetime64("1900-01-01"))}.get(array.dtype.kind)
        filled = array if last is None else array.fillna(last[kind == "argmax"])
        return getattr(filled, kind)(o["axis"]).astype("f8").where(~none)

    return find


def condition(array, o):
    return array > o["above"]


def function(array, name):
    return abs(array) if name == "abs" else getattr(np, name)(array)


def shifted(array, o):
    """Booleans and NaN are objects in xarray, and floats here."""
    moved = array.shift(o["by"], **({"fill_value": o["fillValue"]} if "fillValue" in o else {}))
    return moved.astype("f8") if moved.dtype == object else moved


def kept_dims(array, o):
    """Reduces and keeps dimensions. xarray keeps labels only of those that had length 1 before."""
    kept = getattr(array, NAMES.get(o["kind"], o["kind"]))(dim=o["axis"], keepdims=True)
    return kept.drop_vars([name for name, coord in kept.coords.items() if set(coord.dims) & set(o["axis"])])


COMPARE = {name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")}
LOGIC = {"and": operator.and_, "or": operator.or_}

OPERATIONS = {
    "any": any_true,
    "all": lambda array, o: reduce(array, {**o, "kind": "all"}),
    "argMin": arg_extreme("argmin"),
    "argMax": arg_extreme("argmax"),
    "idxMin": lambda array, o: array.idxmin(o["axis"]),
    "idxMax": lambda array, o: array.idxmax(o["axis"]),
    "cumsum": lambda array, o: array.cumsum(o.get("axis"), skipna=o["skipMissing"]) if array.dtype.kind == "f" else array.cumsum(o.get("axis")),
    "isnull": lambda array, o: array.isnull(),
    "notnull": lambda array, o: array.notnull(),
    "fillna": lambda array, o: array.fillna(o["value"]),
    "fillnaWith": lambda array, o: array.fillna(array.mean(o["axis"])),
    "where": lambda array, o: array.where(condition(array, o)),
    "compare": lambda array, o: COMPARE[o["kind"]](array, o["value"]),
    "compareWith": lambda array, o: COMPARE[o["kind"]](array, array.mean(o["axis"])),
    "mask": lambda array, o: array.where(LOGIC[o["kind"]](array > o["above"], ~(array <= o["value"]))),
    "compute": lambda array, o: function(array.astype("f8") if array.dtype.kind == "b" else array, o["kind"]),
    "clip": lambda array, o: array.clip(o.get("min"), o.get("max")),
    "round": lambda array, o: array.round(o["decimals"]),
    "astype": lambda array, o: array.astype(o["dtype"]),
    "transpose": lambda array, o: array.transpose(*o["order"]),
    "squeeze": lambda array, o: array.squeeze(),
    "expandDims": lambda array, o: array.expand_dims(o["name"], axis=o["axis"]),
    "sortBy": lambda array, o: array.sortby(o["keys"], ascending=o["ascending"]),
    "diff": lambda array, o: array.diff(o["axis"], n=o["n"], label=o["label"]),
    "shift": shifted,
    "keep": kept_dims,
    "spread": lambda array, o: getattr(array, NAMES.get(o["kind"], o["kind"]))(dim=o["axis"], ddof=o["ddof"]),
}


def build(spec):
    """An array in memory; null is NaN, and labels along `time` are days."""
    values = np.array([np.nan if value is None else value for value in spec["values"]], dtype=spec["dtype"])
    coords = {}
    for dim, labels in spec["coords"].items():
        coords[dim] = np.array(labels, dtype="datetime64[D]").astype("datetime64[ns]") if dim == "time" else np.array(labels, dtype="f8")
    return xr.DataArray(values.reshape(spec["shape"]), dims=spec["dims"], coords=coords)


def build_dataset(specs):
    return xr.Dataset({name: build(spec) for name, spec in specs.items()})


NAMES = {"variance": "var", "std": "std", "prod": "prod"}


def reduce(array, options):
    kind = options["kind"]
    if kind == "quantile" and not hasattr(array, "quantile"):
        # Windows of xarray have no quantiles of their own.
        return array.reduce(lambda values, axis=None, **_: np.nanquantile(values, options["q"], axis=axis))
    method = getattr(array, NAMES.get(kind, kind))
    axis = options.get("axis")
    share = [options["q"]] if kind == "quantile" else []
    return method(*share, dim=axis) if axis is not None else method(*share)


def plain(values):
    """Numbers, with null for NaN; times as text; others as text."""
    values = np.asarray(values)
    if values.dtype.kind == "M":
        return [None if np.isnat(v) else str(np.datetime64(v, "ns")) for v in values.ravel()]
    if values.dtype.kind in "iufb":
        # JSON has no infinity.
        return [None if math.isnan(v) else v if math.isfinite(v) else str(v) for v in values.astype("f8").ravel().tolist()]
    if values.dtype.kind == "S":
        return [v.decode() for v in values.ravel()]
    return [v.isoformat() if isinstance(v, cftime.datetime) else str(v) for v in values.ravel()]


def run(path, variable, steps):
    array = dataset(path)[variable]
    for name, options in steps:
        array = step(array, name, options)
    return described(array)


def script(code):
    names = {}
    exec(code, names)
    return described(names["array"])


# Scripts open the same files again and again.
open_dataset = xr.open_dataset
files = {}


def open_once(path, **options):
    key = (path, tuple(sorted(options.items())))
    if key not in files:
        files[key] = open_dataset(path, **options)
    return files[key]


xr.open_dataset = open_once


def described(array):
    array = array.load()
    coords = {name: {"dims": list(coord.dims), "values": plain(coord.values)} for name, coord in array.coords.items()}
    return {"dims": list(array.dims), "shape": list(array.shape), "values": plain(array.values), "coords": coords}


def table(path, variable):
    ds = dataset(path)
    return (ds if variable is None else ds[variable]).to_dataframe().to_csv()


for line in sys.stdin:
    request = json.loads(line)
    try:
        if "write" in request:
            answer = {"result": write(request["write"])}
        elif "writeParts" in request:
            answer = {"result": dataset_files.write_parts(request["writeParts"])}
        elif "array" in request:
            array = build(request["array"])
            for name, options in request["steps"]:
                array = step(array, name, options)
            answer = {"result": described(array)}
        elif "dataset" in request:
            ds = build_dataset(request["dataset"])
            for name, options in request["steps"]:
                ds = ds.where(ds[options["variable"]] > options["above"]) if name == "whereVariable" else step(ds, name, options)
            answer = {"result": {name: described(ds[name]) for name in ds.data_vars}}
        elif "script" in request:
            answer = {"result": script(request["script"])}
        elif "table" in request:
            answer = {"result": table(request["table"], request["variable"])}
        else:
            answer = {"result": run(request["path"], request["variable"], request["steps"])}
    except Exception as error:  # what xarray refuses is an answer, too
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
