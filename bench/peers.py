"""Does what bench/python.mjs asks for, one request a line, and answers with the milliseconds a call took."""

import json
import sys
import time

import numpy as np

works = {}


def timed(work, count):
    start = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - start) * 1e3 / count


def values(dtype, length, seed=1):
    kind = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return (280 + 15 * np.sin(np.arange(length) / 977) + kind.random(length)).astype(dtype)
    return kind.integers(0, 100, length).astype(dtype)


def reduction(op, dtype, length):
    data = values(dtype, length)
    fill = data[length // 2]
    wide = "f8" if np.dtype(dtype).kind == "f" else "i8" if np.dtype(dtype).kind == "i" else "u8"
    return {
        "sum": lambda: data.sum(dtype=wide),
        "min": lambda: data.min(),
        "position of the minimum": lambda: data.argmin(),
        "min, max and count": lambda: (data[data != fill].min(), data[data != fill].max(), np.count_nonzero(data != fill)),
        "sum skipping a fill value": lambda: data.sum(dtype=wide, where=data != fill),
        "sum of squares about a shift": lambda: ((data - np.float64(50.25)) ** 2).sum(),
    }[op]


def copy(dtype, shape, source, target):
    """`source` and `target` are [shape of the memory, slices as [start, stop, step] for each axis, order of the axes]."""

    def view(memory, slices, order):
        array = np.ones(memory, dtype)
        picked = array[tuple(slice(*(None if x is None else int(x) for x in axis)) for axis in slices)]
        return picked.transpose(order)

    a, b = view(*source), view(*target)
    assert list(a.shape) == shape and list(b.shape) == shape, (a.shape, b.shape, shape)
    return lambda: np.copyto(b, a)


def pick(shape, selection):
    """`selection` has for each axis None, [start, stop, step] as {"slice": ...}, or a list of positions."""
    array = values("f4", int(np.prod(shape))).reshape(shape)
    given = [slice(*axis["slice"]) if isinstance(axis, dict) else slice(None) if axis is None else axis for axis in selection]
    if any(isinstance(axis, list) for axis in given):
        given = np.ix_(*[np.arange(n)[axis] for n, axis in zip(shape, given)])
    return lambda: np.ascontiguousarray(array[tuple(given)])


def climate(shape):
    length = int(np.prod(shape))
    data = 280 + 15 * np.sin(np.arange(length) / 977) + np.random.default_rng(1).random(length) * 0.4
    return (np.round(data * 100) / 100).astype("f4").reshape(shape)


def zarr_read(shape, chunks, codec):
    import zarr
    from numcodecs import LZ4

    compressor = LZ4() if codec == "lz4" else None
    return zarr.array(climate(shape), chunks=chunks, store=zarr.MemoryStore(), compressor=compressor)


def zarr_select(source, read):
    array = works[source]
    selection = tuple(slice(None) if axis is None else slice(*axis) for axis in read)
    out = np.empty_like(array[selection])
    return lambda: array.get_basic_selection(selection, out=out)


def tensorstore_read(shape, chunks, codec):
    """One thread, nothing cached. It has no LZ4 of its own: that of Blosc, without a shuffle, is the nearest."""
    import tensorstore

    context = tensorstore.Context({"cache_pool": {"total_bytes_limit": 0}, "data_copy_concurrency": {"limit": 1}})
    compressor = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 0} if codec == "lz4" else None
    metadata = {"shape": shape, "chunks": chunks, "dtype": "<f4", "compressor": compressor}
    spec = {"driver": "zarr", "kvstore": f"memory://{codec}/", "metadata": metadata}
    store = tensorstore.open(spec, create=True, context=context).result()
    store[...] = climate(shape)
    return store


def tensorstore_select(source, read, fresh):
    import tensorstore

    view = works[source][tuple(slice(None) if axis is None else slice(*axis) if isinstance(axis, list) else axis for axis in read)]
    view = view[tensorstore.d[:].translate_to[0]]
    out = tensorstore.array(np.empty(view.shape, "f4"))
    return (lambda: view.read().result()) if fresh else (lambda: out.write(view).result())


def zarr3_write(path, shape, chunks, shards, codec):
    """One array of version 3; `codec` is one of the names in bench/suites/zarr.mjs."""
    import zarr
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

    compressor = {
        "blosc lz4, shuffled": BloscCodec(cname="lz4", clevel=5, shuffle="shuffle"),
        "blosc zstd, shuffled": BloscCodec(cname="zstd", clevel=5, shuffle="shuffle"),
        "zstd": ZstdCodec(level=3),
        "gzip": GzipCodec(level=5),
        "zstd, sharded": ZstdCodec(level=3),
    }[codec]
    shards = shards if "sharded" in codec else None
    array = zarr.create_array(path, shape=shape, chunks=chunks, shards=shards, dtype="f4", compressors=compressor, overwrite=True)
    array[...] = climate(shape)


def zarr3_rewrite(path, shape):
    import zarr

    zarr.config.set({"threading.max_workers": 1})
    array, data = zarr.open_array(path, mode="r+"), climate(shape)

    def work():
        array[...] = data

    return work


def zarr3_open(path):
    import zarr

    zarr.config.set({"threading.max_workers": 1})
    return zarr.open_array(path, mode="r")


def zarr3_select(source, read):
    array = works[source]
    selection = tuple(slice(None) if axis is None else slice(*axis) if isinstance(axis, list) else axis for axis in read)
    return lambda: array[selection]


def zarr3_mean(source):
    array = works[source]
    return lambda: array[...].mean(dtype="f8")


def tensorstore_open(path):
    """One thread, nothing cached."""
    import tensorstore

    context = tensorstore.Context({"cache_pool": {"total_bytes_limit": 0}, "data_copy_concurrency": {"limit": 1}})
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path}/"}}
    return tensorstore.open(spec, context=context).result()


def netcdf(path):
    import netCDF4

    variable = netCDF4.Dataset(path).variables["t"]
    variable.set_auto_maskandscale(False)
    return variable


def netcdf_select(source, reads):
    """One read after another, at other places each."""
    from itertools import cycle

    variable = works[source]
    places = cycle([tuple(slice(None) if axis is None else slice(*axis) if isinstance(axis, list) else axis for axis in read) for read in reads])
    return lambda: variable[next(places)]


def netcdf_reduce(source, op, axis):
    variable = works[source]
    return lambda: getattr(variable[:], op)(axis=axis) if op == "min" else getattr(variable[:], op)(axis=axis, dtype="f8")


def tiff_write(path, source, size, compression):
    """A file of 16-bit numbers in tiles of 256 x 256, with predictor 2, and three levels."""
    import warnings

    import rasterio

    warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
    data = np.fromfile(source, "i2").reshape(size, size)
    tiles = {"tiled": True, "blockxsize": 256, "blockysize": 256, "compress": compression, "predictor": 2}
    with rasterio.open(path, "w", driver="GTiff", width=size, height=size, count=1, dtype="int16", **tiles) as file:
        file.write(data, 1)
        file.build_overviews([2, 4, 8])
    return lambda: None


def tiff_window(path, windows):
    """GDAL reads one window after another, each time from a file that it opens anew, so that its cache is empty."""
    import warnings
    from itertools import cycle

    import rasterio

    # Without coordinates, rasterio warns with every opening.
    warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
    places = cycle([tuple(tuple(axis) for axis in window) for window in windows])

    def work():
        with rasterio.Env(GDAL_NUM_THREADS=1), rasterio.open(path) as file:
            return file.read(1, window=next(places))

    return work


def tiff_all(path):
    """tifffile reads the whole first image in this thread."""
    import tifffile

    return lambda: tifffile.imread(path, key=0, maxworkers=1)


def hdf5_write(path, source, shape, chunks, kind):
    """One dataset `t` of the elements of a file, as float32, or as int16 of 12 bits for filters of integers."""
    import h5py
    import hdf5plugin
    from h5py import h5d, h5p, h5s, h5t

    data = np.fromfile(source, "f4").reshape(shape)
    with h5py.File(path, "w") as file:
        if kind in ("nbit", "scaleoffset"):
            data = np.round((data - 280) * 50).astype("i2")
        if kind == "nbit":
            base = h5t.STD_I16LE.copy()
            base.set_precision(12)
            plist = h5p.create(h5p.DATASET_CREATE)
            plist.set_chunk(tuple(chunks))
            plist.set_filter(h5py.h5z.FILTER_NBIT, 0, ())
            h5d.create(file.id, b"t", base, h5s.create_simple(tuple(shape)), plist).write(h5s.ALL, h5s.ALL, data)
        elif kind in ("float64", "float64, big-endian"):
            file.create_dataset("t", data=data, dtype=">f8" if "big" in kind else "<f8")
        else:
            filters = {
                "none": {},
                "deflate, shuffled": {"compression": "gzip", "compression_opts": 4, "shuffle": True},
                "zstd": hdf5plugin.Zstd(clevel=3),
                "blosc lz4": hdf5plugin.Blosc(cname="lz4", clevel=5, shuffle=hdf5plugin.Blosc.SHUFFLE),
                "bitshuffle lz4": hdf5plugin.Bitshuffle(cname="lz4"),
                "szip": {"compression": "szip", "compression_opts": ("ec", 16)},
                "scaleoffset": {"scaleoffset": 0},
            }[kind]
            file.create_dataset("t", data=data, chunks=tuple(chunks), **filters)
    return lambda: None


def hdf5_variables(path, source, shape, chunks, variables, compressed):
    """A file of netCDF's: variables over time, latitude and longitude, with nine attributes each."""
    import netCDF4

    data = np.fromfile(source, "f4").reshape(shape)
    names = ("time", "lat", "lon")
    known = {"units": "K", "long_name": "temperature of the air", "standard_name": "air_temperature"}
    with netCDF4.Dataset(path, "w") as file:
        for name, size in zip(names, (None, *shape[1:])):
            file.createDimension(name, size)
            file.createVariable(name, "f8", (name,)).units = "days since 2000-01-01" if name == "time" else "degrees"
        for i in range(variables):
            packing = {"zlib": True, "complevel": 4} if compressed else {}
            variable = file.createVariable(f"v{i:02}", "f4", names, chunksizes=tuple(chunks), **packing)
            variable.setncatts({**known, **{f"note_{k}": f"note {k}" for k in range(6)}})
            variable[:] = data
        for name, size in zip(names, shape):
            file[name][:] = np.arange(size)
    return lambda: None


def hdf5_many(path, count, bounds):
    """A dataset `t` of `count` chunks of four elements, indexed as the library bound says."""
    import h5py

    with h5py.File(path, "w", libver=bounds) as file:
        file.create_dataset("t", data=np.arange(4 * count, dtype="i4"), chunks=(4,), maxshape=(None,))
    return lambda: None


def hdf5_list(path):
    """Opens the file and lists its variables with shapes, types and attributes, each time."""
    import h5py

    def work():
        with h5py.File(path) as file:
            return [(name, each.shape, each.dtype, dict(each.attrs)) for name, each in file.items()]

    return work


def hdf5_read(path, name, read, mean):
    """Opens the file and reads a selection, each time; the mean of it, if asked."""
    import h5py
    import hdf5plugin  # noqa: F401: registers filters

    selection = tuple(slice(None) if axis is None else slice(*axis) for axis in read)

    def work():
        with h5py.File(path) as file:
            data = file[name][selection]
            return data.mean(dtype="f8") if mean else data

    return work


def dataset_write(folder, shape):
    """A packed variable over time, latitude and longitude, as `packed.nc` and `packed.zarr`."""
    import pandas as pd
    import xarray as xr

    steps, rows, columns = shape
    values = climate(shape)
    values[:, : rows // 10, : columns // 10] = np.nan
    coords = {
        "time": pd.date_range("1990-01-01", periods=steps, freq="MS"),
        "lat": np.linspace(90, -90, rows),
        "lon": np.arange(columns) * (360 / columns),
    }
    ds = xr.Dataset({"t": (("time", "lat", "lon"), values)}, coords=coords)
    packing = {"dtype": "int16", "scale_factor": 0.01, "add_offset": 280.0, "_FillValue": np.int16(-32768)}
    ds.to_netcdf(f"{folder}/packed.nc", engine="scipy", format="NETCDF3_CLASSIC", encoding={"t": packing})
    ds.to_zarr(f"{folder}/packed.zarr", mode="w", zarr_format=3, encoding={"t": {**packing, "chunks": (12, rows, columns)}})
    return lambda: None


def dataset_mean(path, sel, dim):
    """Opens the file, selects by labels, and takes the mean, each time."""
    import xarray as xr

    labels = {name: slice(*value) if isinstance(value, list) else value for name, value in sel.items()}
    engine = {"engine": "scipy"} if path.endswith(".nc") else {"engine": "zarr", "consolidated": False}

    def work():
        with xr.open_dataset(path, **engine) as ds:
            return ds["t"].sel(labels).mean(dim).values

    return work


def blosc(source, itemsize, count, codec, target):
    """Writes `count` frames of equal parts of a file to others beside it, and decodes them by turns in this thread."""
    from itertools import cycle

    import numcodecs
    from numcodecs import blosc as frames

    frames.use_threads = False
    parts = np.fromfile(source, f"V{itemsize}").reshape(count, -1)
    compressor = numcodecs.Blosc(**codec)
    packed = [compressor.encode(part) for part in parts]
    for i, frame in enumerate(packed):
        with open(f"{target}.{i}", "wb") as file:
            file.write(frame)
    next_frame = cycle(packed)
    out = np.empty(parts[0].nbytes, "u1")
    return lambda: frames.decompress(next(next_frame), out)


makers = {
    "reduction": reduction,
    "blosc": blosc,
    "copy": copy,
    "pick": pick,
    "zarr_read": zarr_read,
    "zarr_select": zarr_select,
    "tensorstore_read": tensorstore_read,
    "tensorstore_select": tensorstore_select,
    "zarr3_write": zarr3_write,
    "zarr3_rewrite": zarr3_rewrite,
    "zarr3_open": zarr3_open,
    "zarr3_select": zarr3_select,
    "zarr3_mean": zarr3_mean,
    "tensorstore_open": tensorstore_open,
    "netcdf": netcdf,
    "netcdf_select": netcdf_select,
    "netcdf_reduce": netcdf_reduce,
    "tiff_write": tiff_write,
    "tiff_window": tiff_window,
    "tiff_all": tiff_all,
    "hdf5_write": hdf5_write,
    "hdf5_variables": hdf5_variables,
    "hdf5_many": hdf5_many,
    "hdf5_list": hdf5_list,
    "hdf5_read": hdf5_read,
    "dataset_write": dataset_write,
    "dataset_mean": dataset_mean,
}

for line in sys.stdin:
    request = json.loads(line)
    if "make" in request:
        works[request["name"]] = makers[request["make"]](**request["args"])
        answer = {}
    elif "drop" in request:
        works.pop(request["drop"])
        answer = {}
    else:
        answer = {"ms": timed(works[request["run"]], request["count"])}
    print(json.dumps(answer))
