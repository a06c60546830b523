"""Opens the arrays of a folder by zarr-python, and says of each its type, its fill value and its attributes."""

import json
import sys
import warnings

import numpy as np
import zarr

warnings.simplefilter("ignore")
group = zarr.open_group(sys.argv[1], mode="r")
found = {}
for name, array in group.members(max_depth=None):
    if isinstance(array, zarr.Group):
        continue
    fill = array.fill_value
    # Numbers by their bytes: -0, NaN and what is beyond 2^53 are compared, too.
    spelt = fill if isinstance(fill, (str, bytes)) else np.asarray(fill).tobytes()
    found[name] = {
        "dtype": str(array.dtype),
        "fill": spelt if isinstance(spelt, str) else list(spelt),
        "shape": list(array.shape),
        "chunks": list(array.chunks),
        "shards": array.shards and list(array.shards),
        "dims": list(array.metadata.dimension_names or []),
        "attrs": dict(array.attrs),
    }
json.dump({"attrs": dict(group.attrs), "arrays": found}, sys.stdout)
