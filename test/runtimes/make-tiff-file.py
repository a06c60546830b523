"""Writes the TIFF file of the runtimes' suite as a module: python3 make-tiff-file.py > tiff-file.mjs.

Needs tifffile 2026.3.3, with imagecodecs.
"""

import base64
import io

import numpy as np
import tifffile

BANDS, ROWS, COLUMNS = 2, 37, 41
SIZE = BANDS * ROWS * COLUMNS

target = io.BytesIO()
with tifffile.TiffWriter(target) as writer:
    numbers = np.arange(SIZE, dtype="i4").reshape(BANDS, ROWS, COLUMNS)
    tiles = dict(tile=(16, 32), metadata=None)
    geo = [(33550, "d", 3, (0.5, 0.25, 0)), (33922, "d", 6, (0, 0, 0, 10, 60, 0)), (42113, "s", 0, "7")]
    writer.write((numbers % 5000 - 2500).astype("i2"), compression="lzw", predictor=2, planarconfig="separate", photometric="minisblack", extratags=geo, **tiles)
    writer.write(numbers[0].astype("f4") + 0.25, compression="deflate", predictor=3, **tiles)
    writer.write((numbers[0] % 256).astype("u1"), compression="packbits", rowsperstrip=10, metadata=None)
text = base64.b64encode(target.getvalue()).decode()
print("// A TIFF file of three images, which make-tiff-file.py writes, in base64.")
print("export const FILE = [")
for at in range(0, len(text), 120):
    print(f"  '{text[at : at + 120]}',")
print("].join('')")
