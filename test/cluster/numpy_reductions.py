"""Reductions of arrays with missing elements by numpy, as JSON: of all elements, and along the first axis."""

import json
import math
import sys

import numpy as np


def text(value):
    """Integers of 64 bits do not fit in the numbers of JSON."""
    return str(int(value)) if isinstance(value, (int, np.integer)) else float(value)


def reductions(values, there):
    """Of the elements of one cell, exact where they are integers, and where floats are summed."""
    own = values[there]
    exact = [int(v) for v in own] if np.issubdtype(values.dtype, np.integer) else [float(v) for v in own]
    isinteger = np.issubdtype(values.dtype, np.integer)
    mean = math.fsum(exact) / len(exact)
    variance = math.fsum((float(v) - mean) ** 2 for v in exact) / len(exact)
    return {
        "sum": text(sum(exact) if isinteger else math.fsum(exact)),
        "magnitude": math.fsum(abs(float(v)) for v in exact),
        "mean": mean,
        "variance": variance,
        "std": math.sqrt(variance),
        "min": text(own.min()),
        "max": text(own.max()),
        "count": int(own.size),
        "countNonzero": int(np.count_nonzero(own)),
        "any": bool(own.any()),
        "all": bool(own.all()),
    }


def position(values, there, which):
    """The first extreme among the elements that are there."""
    flat = np.flatnonzero(there)
    own = values.ravel()[flat]
    return int(flat[own.argmin() if which == "argMin" else own.argmax()])


def described(path, dtype, shape, fill):
    values = np.fromfile(path, dtype).reshape(shape)
    there = values != np.array(int(fill), dtype)
    own = values[there]
    unique, counts = np.unique(own, return_counts=True)
    low, high = -1e9, 2e9
    columns = values.reshape(shape[0], -1)
    known = there.reshape(shape[0], -1)
    return {
        **reductions(values, there),
        "argMin": position(values, there, "argMin"),
        "argMax": position(values, there, "argMax"),
        "unique": {"values": [text(v) for v in unique], "counts": counts.tolist()},
        "histogram": np.histogram(own.astype(np.float64), bins=7, range=(low, high))[0].tolist(),
        "quantile": np.quantile(own.astype(np.float64), [0, 0.3, 1]).tolist(),
        "median": float(np.median(own.astype(np.float64))),
        "cells": [reductions(columns[:, i], known[:, i]) for i in range(columns.shape[1])],
    }


print(json.dumps([described(*each) for each in json.load(sys.stdin)]))
