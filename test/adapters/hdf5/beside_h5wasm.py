"""Writes arrays that h5wasm reads wrong or has read wrong, for each line of JSON: { "file" }. Returns the values of h5py."""

import json
import sys

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

FLOATS = np.array([0, 1, -1.5, 0.25, 1000, -1.5 * 2.0**127, 7.5, 1.0078125], "f4")
INTEGERS = np.array([0, 1, -1, 4095, -4096, 1234, -77, 2000], "i4")
BITS = np.array([0, 1, 255, 128, 7, 200, 64, 3], "u1")


def float_type(size, exponent, mantissa, at):
    base = h5t.IEEE_F32LE.copy()
    base.set_fields(at + exponent + mantissa, at + mantissa, exponent, at, mantissa)
    base.set_ebias(2 ** (exponent - 1) - 1)
    base.set_offset(at)
    base.set_precision(exponent + mantissa + 1)
    base.set_size(size)
    return base


def integer_type(base, precision, offset):
    base = base.copy()
    base.set_precision(precision)
    base.set_offset(offset)
    return base


def create(f, name, tid, shape=(8,), chunks=None, nbit=False, fill=None, data=None, mtype=None):
    plist = h5p.create(h5p.DATASET_CREATE)
    if chunks is not None:
        plist.set_chunk(chunks)
    if nbit:
        plist.set_filter(5, 0, ())
    if fill is not None:
        plist.set_fill_value(fill)
    dataset = h5d.create(f.id, name.encode(), tid, h5s.create_simple(shape), plist)
    if data is not None:
        dataset.write(h5s.ALL, h5s.ALL, data, mtype=mtype)


def make(file):
    bfloat16 = float_type(2, 8, 7, 0)
    with h5py.File(file, "w") as f:
        create(f, "nbit_bfloat16", bfloat16, chunks=(3,), nbit=True, data=FLOATS)
        create(f, "nbit_24_bits", float_type(4, 8, 15, 5), chunks=(3,), nbit=True, data=FLOATS)
        for name, base in (("little", h5t.STD_I32LE), ("big", h5t.STD_I32BE)):
            tid = integer_type(base, 13, 6)
            create(f, f"offset_{name}", tid, data=INTEGERS)
            create(f, f"offset_nbit_{name}", tid, chunks=(3,), nbit=True, data=INTEGERS)
        create(f, "bits_8", h5t.STD_B8LE, data=BITS, mtype=h5t.STD_B8LE)
        create(f, "bits_16_big", h5t.STD_B16BE, shape=(4,), data=BITS, mtype=h5t.STD_B16BE)
        create(f, "bits_32", h5t.STD_B32LE, shape=(2,), data=BITS, mtype=h5t.STD_B32LE)
        create(f, "never_contiguous", h5t.STD_I16BE, fill=np.array(-7, "i2"))
        create(f, "never_chunked", h5t.STD_I16BE, chunks=(3,), fill=np.array(-7, "i2"))
        create(f, "never_zeros", h5t.IEEE_F64LE)
    found = {}
    with h5py.File(file) as f:
        for name, dataset in f.items():
            if name.startswith("bits"):
                # h5py has no type for bit fields.
                tid = dataset.id.get_type()
                raw = np.empty(dataset.shape, f"{'>' if tid.get_order() == h5t.ORDER_BE else '<'}u{tid.get_size()}")
                dataset.id.read(h5s.ALL, h5s.ALL, raw, mtype=tid)
                found[name] = raw.tolist()
            elif name.startswith("nbit"):
                values = np.empty(dataset.shape, "f8")
                dataset.id.read(h5s.ALL, h5s.ALL, values, mtype=h5t.NATIVE_DOUBLE)
                found[name] = values.tolist()
            else:
                found[name] = dataset[()].tolist()
    return found


for line in sys.stdin:
    print(json.dumps(make(**json.loads(line))), flush=True)
