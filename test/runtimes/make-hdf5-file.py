"""Writes the NetCDF-4 file of the runtimes' suite as a module: python3 make-hdf5-file.py > hdf5-file.mjs.

Needs netCDF4 1.7.5 and h5py 3.16.
"""

import base64
import os
import tempfile

import h5py
import netCDF4
import numpy as np

SHAPE = (5, 7, 6)
SIZE = 210


def make(path):
    with netCDF4.Dataset(path, "w") as f:
        f.title = "a small file"
        for name, length in zip(("z", "y", "x"), SHAPE):
            f.createDimension(name, None if name == "z" else length)
        deflate = f.createVariable("deflate", "f4", ("z", "y", "x"), zlib=True, shuffle=True, fletcher32=True, chunksizes=(2, 4, 6))
        deflate[:] = np.arange(SIZE).reshape(SHAPE) + 0.25
        deflate.units = "K"
        big = f.createVariable("big", "i8", ("y", "x"), contiguous=True, endian="big")
        big[:] = np.arange(42, dtype="i8").reshape(7, 6) * -3_000_000_019
        f.createVariable("name", str, ("y",))[:] = np.array([f"n° {i}" for i in range(7)], "O")
        f.createGroup("inner").createVariable("none", "f8", ("x",))
    with h5py.File(path, "a") as f:
        f.create_dataset("lzf", data=np.arange(SIZE, dtype="u2").reshape(SHAPE) * 300, chunks=(2, 7, 6), compression="lzf")


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "small.nc")
    make(path)
    with open(path, "rb") as file:
        text = base64.b64encode(file.read()).decode()
# Zeros, which are most of the file, are runs of `A`.
parts, at = [], 0
while at < len(text):
    end = at
    while end < len(text) and text[end] == "A":
        end += 1
    if end - at >= 40:
        parts.append(str(end - at))
        at = end
        continue
    end = text.find("A" * 40, at)
    end = len(text) if end < 0 else end
    parts.extend(repr(text[i : min(end, i + 120)]) for i in range(at, end, 120))
    at = end
print("// A NetCDF-4 file, which make-hdf5-file.py writes: texts in base64, and numbers of the letter A.")
print("const PARTS = [")
for part in parts:
    print(f"  {part},")
print("]\n")
print("/** The file, in base64. */")
print("export const FILE = PARTS.map((part) => (typeof part === 'number' ? 'A'.repeat(part) : part)).join('')")
