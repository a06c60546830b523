"""Reads arrays of a folder with zarr-python, or with tensorstore, and says what they hold.

    python3 read_back.py FOLDER zarr|tensorstore PATH ...

Prints JSON: of each array its shape, and its elements: texts, bytes as numbers, or the place of the others in `values.bin` of the folder, where
they lie in C order, little-endian.
"""

import json
import os
import sys
import warnings

import numpy as np

folder, library, *paths = sys.argv[1:]


def read_zarr(path):
    import zarr

    warnings.simplefilter("ignore")
    array = zarr.open_array(path, mode="r")
    return array[...]


def read_tensorstore(path):
    import tensorstore as ts

    return ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path}}).result().read().result()


answers = []
with open(os.path.join(folder, "values.bin"), "wb") as values:
    for path in paths:
        data = np.asarray({"zarr": read_zarr, "tensorstore": read_tensorstore}[library](os.path.join(folder, path)))
        answer = {"path": path, "shape": list(data.shape)}
        if data.dtype.kind in "OTUS":
            flat = data.reshape(-1).tolist()
            answer["elements"] = [list(e) if isinstance(e, bytes) else e for e in flat]
        else:
            raw = np.ascontiguousarray(data.astype(data.dtype.newbyteorder("<"))).tobytes()
            answer |= {"offset": values.tell(), "length": len(raw)}
            values.write(raw)
        answers.append(answer)
print(json.dumps(answers))
