"""Makes HDF5 files that lead to other files, for each line of JSON: { "folder" }."""

import ctypes
import glob
import json
import os
import random
import sys

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t


class CacheImage(ctypes.Structure):
    """Settings of the image of the metadata cache, which h5py does not set."""

    _fields_ = [("version", ctypes.c_int), ("generate", ctypes.c_bool), ("resize", ctypes.c_bool), ("ageout", ctypes.c_int)]


def make_image(file):
    library = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(h5py.__file__), "..", "h5py.libs", "libhdf5-*"))[0])
    call = library.H5Pset_mdc_image_config
    call.argtypes = [ctypes.c_int64, ctypes.POINTER(CacheImage)]
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    if call(access.id, ctypes.byref(CacheImage(1, True, False, -1))) < 0:
        raise RuntimeError("no image of the metadata cache")
    with h5py.File(h5py.h5f.create(file.encode(), h5py.h5f.ACC_TRUNC, h5p.create(h5p.FILE_CREATE), access)) as f:
        f["x"] = np.arange(3)


def make_overlapping(folder):
    """Mappings that overlap and leave holes, with and without their sources; values as h5py reads one at a time."""
    draw = random.Random(20261127)
    for number in range(3):
        with h5py.File(f"{folder}/source{number}.h5", "w") as f:
            f["x"] = np.arange(60, dtype="i4").reshape(6, 10) + 1000 * (number + 1)
    expected = {}
    with h5py.File(f"{folder}/overlapping.h5", "w", libver="latest") as f:
        for number in range(40):
            layout = h5py.VirtualLayout((8, 12), "i4")
            for _ in range(draw.randint(2, 5)):
                # Sources 3 and 4 are absent.
                source = h5py.VirtualSource(f"source{draw.randrange(5)}.h5", "x", (6, 10))
                counts = [draw.randint(1, 4), draw.randint(1, 5)]
                steps = [draw.randint(1, 2), draw.randint(1, 2)]
                starts = [draw.randrange(length - (count - 1) * step) for length, count, step in zip((8, 12), counts, steps)]
                shown = tuple(slice(start, start + count * step, step) for start, count, step in zip(starts, counts, steps))
                taken = tuple(slice(start, start + count) for start, count in zip((draw.randrange(2), draw.randrange(5)), counts))
                layout[shown] = source[taken]
            name = f"v{number}"
            f.create_virtual_dataset(name, layout, fillvalue=None if number % 4 == 0 else -9)
    with h5py.File(f"{folder}/overlapping.h5") as f:
        # Reads of several elements leave holes unwritten if mappings overlap (HDF5 2.0).
        for name, array in f.items():
            expected[name] = [int(array[y, x]) for y in range(8) for x in range(12)]
    with open(f"{folder}/overlapping.json", "w") as file:
        json.dump(expected, file)


def make_broad(folder):
    """Virtual arrays within one another, each of which shows the next one many times."""
    for name, source, shape in (("whole", ..., (2, 4)), ("turned", ..., (4, 2)), ("strided", (slice(None), slice(0, 4, 2)), (2, 2))):
        with h5py.File(f"{folder}/broad_{name}.h5", "w", libver="latest") as f:
            for level in range(6):
                layout = h5py.VirtualLayout(shape if level % 2 else (2, 4), "i4")
                for at in range(60):
                    below = h5py.VirtualSource(".", f"level{level + 1}", (2, 4) if level % 2 else shape)
                    if name == "strided" and level % 2 == 0:
                        layout[:, at % 3 : at % 3 + 2] = below
                    else:
                        layout[...] = below[source] if level % 2 else below
                f.create_virtual_dataset(f"level{level}", layout)
            f["level6"] = np.zeros((2, 4), "i4")
    endless = h5s.create_simple((1,), (h5s.UNLIMITED,))
    endless.select_hyperslab((0,), (h5s.UNLIMITED,), (1,), (1,))
    with h5py.File(f"{folder}/broad_endless.h5", "w", libver="latest") as f:
        for level in range(6):
            plist = h5p.create(h5p.DATASET_CREATE)
            plist.set_layout(h5py.h5d.VIRTUAL)
            for _ in range(60):
                plist.set_virtual(endless, b".", f"level{level + 1}".encode(), endless)
            h5d.create(f.id, f"level{level}".encode(), h5t.STD_I32LE, h5s.create_simple((1,), (h5s.UNLIMITED,)), plist)
        f.create_dataset("level6", (1,), "i4", maxshape=(None,))


def make(folder):
    os.makedirs(f"{folder}/inner/sub", exist_ok=True)
    make_image(f"{folder}/image.h5")
    outside = f"{folder}/outside.h5"
    with h5py.File(outside, "w") as f:
        f["x"] = np.arange(3)
    os.symlink(outside, f"{folder}/inner/linked.h5")
    os.symlink(folder, f"{folder}/inner/linked")
    with h5py.File(f"{folder}/inner/sub/b.h5", "w") as f:
        f["x"] = np.arange(5)
        f["back"] = h5py.ExternalLink("c.h5", "/back")
        f["up"] = h5py.ExternalLink("../main.h5", "/")
        f["c"] = h5py.ExternalLink("c.h5", "/x")
    with h5py.File(f"{folder}/inner/sub/c.h5", "w") as f:
        f["x"] = np.arange(6)
        f["back"] = h5py.ExternalLink("b.h5", "/back")
        f["cycle"] = h5py.ExternalLink("b.h5", "/")
    with open(f"{folder}/inner/sub/text.h5", "w") as f:
        f.write("no HDF5")
    targets = {
        "read": ("sub/b.h5", "/x"),
        "through": ("sub/b.h5", "/c"),
        "group": ("sub/b.h5", "/"),
        "itself": ("main.h5", "/own"),
        "circle": ("sub/b.h5", "/back"),
        "home": ("main.h5", "/"),
        "absolute": (f"{folder}/outside.h5", "/x"),
        "upwards": ("../outside.h5", "/x"),
        "hidden": ("sub/../../outside.h5", "/x"),
        "linked": ("linked.h5", "/x"),
        "folder": ("linked/outside.h5", "/x"),
        "url": ("https://example.org/x.h5", "/x"),
        "absent": ("sub/none.h5", "/x"),
        "nothing": ("sub/b.h5", "/none"),
        "text": ("sub/text.h5", "/x"),
    }
    with h5py.File(f"{folder}/inner/main.h5", "w") as f:
        f["own"] = np.arange(4)
        for name, target in targets.items():
            f[name] = h5py.ExternalLink(*target)
        for name, raw in (("raw", "sub/x.raw"), ("raw_upwards", "../x.raw"), ("raw_absent", "none.raw")):
            plist = h5p.create(h5p.DATASET_CREATE)
            plist.set_external(raw.encode(), 4, 40)
            h5d.create(f.id, name.encode(), h5t.STD_I32BE, h5s.create_simple((5, 2)), plist)
    for name, other in (("one", "two"), ("two", "one")):
        with h5py.File(f"{folder}/inner/{name}.h5", "w", libver="latest") as f:
            circle = h5py.VirtualLayout((5,), "i4")
            circle[:] = h5py.VirtualSource(f"{other}.h5", "circle", (5,))
            f.create_virtual_dataset("circle", circle)
    layout = h5py.VirtualLayout((4, 10), "i4")
    for row in range(4):
        layout[row] = h5py.VirtualSource(f"sub/row{row}.h5", "x", (10,))
        # Row 2 is absent.
        if row != 2:
            with h5py.File(f"{folder}/inner/sub/row{row}.h5", "w") as f:
                f["x"] = np.arange(10, dtype="i4") + 100 * row
    with h5py.File(f"{folder}/inner/virtual.h5", "w", libver="latest") as f:
        f["own"] = np.arange(4)
        f.create_virtual_dataset("rows", layout, fillvalue=-5)
        upwards = h5py.VirtualLayout((10,), "i4")
        upwards[:] = h5py.VirtualSource("../outside.h5", "x", (10,))
        f.create_virtual_dataset("upwards", upwards)
    make_overlapping(f"{folder}/inner")
    make_broad(f"{folder}/inner")
    np.arange(-1, 10, dtype=">i4").tofile(f"{folder}/inner/sub/x.raw")
    return True


for line in sys.stdin:
    print(json.dumps(make(**json.loads(line))), flush=True)
