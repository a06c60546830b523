"""Writes TIFFs by tifffile and GDAL: one a line of JSON with name, options and seed; answers with the elements."""
import base64
import json
import sys
import warnings

import numpy as np
import rasterio
import tifffile

warnings.filterwarnings("ignore")


def samples(dtype, shape, seed, bits):
    rng = np.random.default_rng(seed)
    smooth = np.cumsum(rng.integers(-3, 4, shape), axis=-1)
    kind = np.dtype(dtype).kind
    if kind == "u":
        return (smooth % (1 << min(bits, 62))).astype(dtype)
    if kind == "c":
        return (smooth + 1j * rng.integers(0, 9, shape)).astype(dtype)
    return (smooth / 8 if kind == "f" else smooth).astype(dtype)


def by_tifffile(request, data):
    chunky = request["bands"] > 1 and not request["planar"]
    options = {
        "byteorder": ">" if request["big_endian"] else "<",
        "bigtiff": request["bigtiff"],
        "compression": request["compression"],
        "predictor": request["predictor"] if request["predictor"] > 1 else None,
        "photometric": "minisblack",
        "metadata": None,
        "planarconfig": None if request["bands"] == 1 else "contig" if chunky else "separate",
    }
    if request["tile"]:
        options["tile"] = tuple(request["tile"])
    else:
        options["rowsperstrip"] = request["rows"]
    stored = np.moveaxis(data, 0, -1) if chunky else data if request["bands"] > 1 else data[0]
    tifffile.imwrite(request["path"], np.ascontiguousarray(stored), **options)


def by_gdal(request, data):
    options = {
        "COMPRESS": (request["compression"] or "none").upper(),
        "PREDICTOR": request["predictor"],
        "INTERLEAVE": "BAND" if request["planar"] else "PIXEL",
        "ENDIANNESS": "BIG" if request["big_endian"] else "LITTLE",
        "BIGTIFF": "YES" if request["bigtiff"] else "NO",
        "SPARSE_OK": True,
    }
    if options["COMPRESS"] in ("NONE", "PACKBITS"):
        del options["PREDICTOR"]
    if request["bits"] < 8 * data.dtype.itemsize:
        options["NBITS"] = request["bits"]
    if request["tile"]:
        options |= {"TILED": True, "BLOCKXSIZE": request["tile"][1], "BLOCKYSIZE": request["tile"][0]}
    else:
        options["BLOCKYSIZE"] = request["rows"]
    bands, height, width = data.shape
    profile = {"driver": "GTiff", "width": width, "height": height, "count": bands, "dtype": data.dtype}
    with rasterio.open(request["path"], "w", **profile, **options) as file:
        if request["sparse"]:
            half = height // 2
            file.write(data[:, :half], window=((0, half), (0, width)))
        else:
            file.write(data)
    with rasterio.open(request["path"]) as file:
        return file.read()


for line in sys.stdin:
    request = json.loads(line)
    try:
        data = samples(request["dtype"], (request["bands"], *request["shape"]), request["seed"], request["bits"])
        if request["writer"] == "gdal":
            data = by_gdal(request, data)
        else:
            by_tifffile(request, data)
        if data.dtype == np.float16:
            data = data.astype("float32")
        answer = {"data": base64.b64encode(np.ascontiguousarray(data).tobytes()).decode()}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer))
