"""Encodes and decodes with numcodecs what test/support/numcodecs.ts asks for: one request and one answer a line."""

import base64
import json
import sys

import numcodecs
import numpy as np


def answer(request):
    data = base64.b64decode(request["data"])
    codecs = [numcodecs.get_codec(config) for config in request["codecs"]]
    if request["op"] == "encode":
        if "texts" in request:
            values = np.array(request["texts"], dtype=object)
        else:
            values = np.frombuffer(data, request["dtype"]).reshape(request.get("shape", -1))
        for codec in codecs:
            values = codec.encode(values)
    else:
        values = data
        for codec in reversed(codecs):
            values = codec.decode(values)
    array = np.ascontiguousarray(np.frombuffer(values, "u1") if isinstance(values, (bytes, bytearray)) else values)
    return {"data": base64.b64encode(array.tobytes()).decode()}


for line in sys.stdin:
    try:
        result = answer(json.loads(line))
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(result), flush=True)
