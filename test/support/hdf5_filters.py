"""Writes chunked datasets by h5py in memory, and answers with their raw chunks and elements, for each line of JSON."""
import base64
import json
import sys

import h5py
import hdf5plugin  # noqa: F401: registers filters
import numpy as np


def file_type(request):
    """The stored type: that of numpy, or with a precision and an offset."""
    if "members" in request:
        return h5py.h5t.py_create(np.dtype([tuple(member) for member in request["members"]]))
    tid = h5py.h5t.py_create(np.dtype(request["dtype"]), logical=True).copy()
    if "precision" in request:
        tid.set_precision(request["precision"])
        tid.set_offset(request["offset"])
    return tid


def answer(request):
    dtype = np.dtype(request["dtype"]) if "members" not in request else np.dtype([tuple(m) for m in request["members"]])
    data = np.frombuffer(base64.b64decode(request["data"]), dtype)
    chunk = request.get("chunk", data.size)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((chunk,))
    if "fill" in request:
        plist.set_fill_value(np.array(request["fill"], dtype))
    for name, parameters in request["filters"]:
        if name == "deflate":
            plist.set_deflate(*parameters)
        elif name == "shuffle":
            plist.set_shuffle()
        elif name == "fletcher32":
            plist.set_fletcher32()
        elif name == "szip":
            plist.set_szip(*parameters)
        elif name == "nbit":
            plist.set_filter(5, 0, ())
        elif name == "scaleoffset":
            plist.set_scaleoffset(*parameters)
        else:
            plist.set_filter(name, 1, tuple(parameters))
    tid = file_type(request)
    with h5py.File("memory.h5", "w", driver="core", backing_store=False) as file:
        space = h5py.h5s.create_simple((data.size,))
        did = h5py.h5d.create(file.id, b"x", tid, space, plist)
        if "raw" in request:
            for i, (mask, raw) in enumerate(request["raw"]):
                did.write_direct_chunk((i * chunk,), base64.b64decode(raw), mask)
        else:
            did.write(h5py.h5s.ALL, h5py.h5s.ALL, data)
        file.flush()
        made = did.get_create_plist()
        filters = [made.get_filter(i) for i in range(made.get_nfilters())]
        chunks = []
        for i in range(did.get_num_chunks()):
            info = did.get_chunk_info(i)
            mask, raw = did.read_direct_chunk(info.chunk_offset)
            chunks.append({"at": info.chunk_offset[0], "mask": mask, "raw": base64.b64encode(raw).decode()})
        out = np.empty(data.size, dtype)
        # Memory of the stored type: no conversion changes bits.
        did.read(h5py.h5s.ALL, h5py.h5s.ALL, out, mtype=tid)
        return {
            "filters": [
                {"id": code, "flags": flags, "parameters": list(values), "name": name.decode()} for code, flags, values, name in filters
            ],
            "chunks": chunks,
            "bytes": tid.get_size(),
            "data": base64.b64encode(out.tobytes()).decode(),
        }


for line in sys.stdin:
    request = json.loads(line)
    try:
        print(json.dumps(answer(request)), flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
