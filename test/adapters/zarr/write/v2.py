"""Writes a group of version 2 with zarr-python, its metadata consolidated: python3 v2.py FOLDER"""

import sys
import warnings

import numpy as np
import zarr
from numcodecs import Blosc, GZip, LZ4, Zlib, Zstd, Shuffle, Delta

warnings.simplefilter("ignore")
group = zarr.open_group(sys.argv[1], mode="w", zarr_format=2)
group.attrs["title"] = "of zarr-python"


def array(name, dtype="i4", **options):
    made = group.create_array(name, shape=(9, 5), chunks=(4, 3), dtype=dtype, fill_value=options.pop("fill_value", 0), **options)
    made[...] = np.arange(45).reshape(9, 5)
    made.attrs["units"] = "K"


array("plain", compressors=None)
array("zstd", compressors=Zstd(level=1))
array("gzip", dtype=">f8", compressors=GZip(level=2), fill_value=-1)
array("zlib", compressors=Zlib(level=2), order="F")
array("lz4", dtype="u2", compressors=LZ4(), filters=[Shuffle(elementsize=2)], chunk_key_encoding={"name": "v2", "separator": "/"})
array("blosc", dtype="f4", compressors=Blosc(cname="lz4", clevel=5, shuffle=Blosc.BITSHUFFLE))
array("half", dtype="f2", compressors=Zstd(level=1))
array("none", compressors=Zstd(level=1), fill_value=None)
array("delta", compressors=None, filters=[Delta(dtype="<i4")])
zarr.consolidate_metadata(sys.argv[1], zarr_format=2)
