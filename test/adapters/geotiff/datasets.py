"""Answers, for each path of a line, with what GDAL reads: decoded elements, coordinates and attributes of bands."""
import json
import sys
import warnings

import numpy as np
import rasterio
from rasterio.enums import MaskFlags

warnings.filterwarnings("ignore")
MOST = 400


def coordinates(file):
    a, b, c, d, e, f = tuple(file.transform)[:6]
    if (a, b, c, d, e, f) == (1, 0, 0, 0, 1, 0):
        return None
    if b or d:
        rows, columns = np.mgrid[0 : file.height, 0 : file.width] + 0.5
        return {"xc": (a * columns + b * rows + c).ravel()[:MOST].tolist(), "yc": (d * columns + e * rows + f).ravel()[:MOST].tolist()}
    return {"x": (a * (np.arange(file.width) + 0.5) + c).tolist(), "y": (e * (np.arange(file.height) + 0.5) + f).tolist()}


def band(file, number):
    data = file.read(number)
    missing = np.zeros(data.shape, bool)
    if MaskFlags.nodata in file.mask_flag_enums[number - 1]:
        missing = file.read_masks(number) == 0
    step = max(1, data.size // MOST)
    places = list(range(0, data.size, step))
    scale, offset = file.scales[number - 1], file.offsets[number - 1]
    values = [None if gone else float(value) * scale + offset for value, gone in zip(data.ravel()[::step], missing.ravel()[::step])]
    return {
        "places": places,
        "values": [None if value is None or np.isnan(value) else repr(value) for value in values],
        "missing": int((missing | (np.isnan(data) if data.dtype.kind == "f" else False)).sum()),
        "description": file.descriptions[number - 1],
        "units": file.units[number - 1],
        "scale": scale,
        "offset": offset,
    }


def level(path, **options):
    with rasterio.open(path, **options) as file:
        if np.dtype(file.dtypes[0]).kind == "c":
            return None
        return {
            "shape": [file.height, file.width],
            "epsg": file.crs.to_epsg() if file.crs else None,
            "coordinates": coordinates(file),
            "bands": [band(file, 1 + i) for i in range(file.count)],
        }


for line in sys.stdin:
    path = json.loads(line)["path"]
    try:
        with rasterio.open(path) as file:
            overviews = len(file.overviews(1))
        levels = [level(path)] + [level(path, overview_level=i) for i in range(overviews)]
        # rasterio returns numbers near 0 for the transforms of levels of files without one.
        if levels[0] and levels[0]["coordinates"] is None:
            levels = [{**each, "coordinates": None} for each in levels]
        answer = {"levels": levels}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
