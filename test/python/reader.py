"""Reads containers for the tests: a line of JSON with a file, and maybe a layer, gives all that is in it."""

import json
import math
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
for name in sys.argv[1:]:
    sys.modules[name] = None

import hyperslab_af  # noqa: E402
import numpy as np  # noqa: E402


def plain(value):
    """As JSON has it: numbers by the bits of a double, integers of 64 bits and times as text."""
    if isinstance(value, (list, np.ndarray)):
        return [plain(each) for each in value]
    if isinstance(value, np.datetime64):
        return str(value.astype(np.int64))
    if isinstance(value, (np.int64, np.uint64)):
        return str(value)
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, (bool, float, np.generic)):
        return {"bits": "nan" if math.isnan(value) else struct.pack(">d", value).hex()}
    return value


def flat(part):
    return plain(part.reshape(-1) if isinstance(part, np.ndarray) else [part])


def described(array):
    own = {"dtype": array._kind, "shape": array.shape, "dims": array.dims, "fill": plain(array.fill_value)}
    own["attrs"] = {name: plain(value) for name, value in array.attrs.items()}
    if array.dtype is not None:
        values = np.empty(array.shape, array.dtype)
        values[...] = array[...]
        own["data"] = plain(values.reshape(-1))
        assert np.shape(array[...]) == array.shape
        # Any selection is what numpy makes of the whole.
        for key in selections(array.shape):
            part, whole = array[key], values[key]
            assert np.shape(part) == np.shape(whole) and flat(part) == flat(whole), (array.name, key)
    return own


def selections(shape):
    yield tuple(slice(None, None, -1) for _ in shape)
    yield (..., *(slice(1, length, 2) for length in shape[-1:]))
    yield tuple(slice(-1, None, -2) for _ in shape[:1])
    if all(shape):
        yield tuple(length // 2 for length in shape)
        yield (*(-1 for _ in shape[:1]), ...)


for line in sys.stdin:
    request = json.loads(line)
    try:
        with hyperslab_af.open(request["path"], layer=request.get("layer")) as file:
            answer = {"attrs": {name: plain(value) for name, value in file.attrs.items()}}
            answer["arrays"] = {name: described(array) for name, array in file.items()}
    except hyperslab_af.AfError as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
