"""Makes HDF5 files by h5py and netCDF4, and judges reads of them, for each line of JSON.

Requests: { "list" } is answered with the names of all files. { "make", "file", "seed" } makes a file and is
answered with its arrays and attributes. { "judge", "file", "path", "dtype", "reads", "reductions" } is answered
with the differences from h5py and numpy, as texts.
"""

import ctypes
import glob
import hashlib
import json
import os
import random
import sys
import zlib

# External raw data are beside the file that names them.
os.environ["HDF5_EXTFILE_PREFIX"] = "${ORIGIN}"

import h5py
import hdf5plugin  # noqa: F401: registers filters
import netCDF4
import numpy as np
from h5py import h5d, h5p, h5s, h5t

# The library that h5py has loaded, for properties that h5py does not set.
LIBRARY = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(h5py.__file__), "..", "h5py.libs", "libhdf5-*"))[0])
for call in ("H5Pset_chunk_opts", "H5Pset_istore_k", "H5Pset_sym_k", "H5Pset_shared_mesg_nindexes", "H5Pset_shared_mesg_index"):
    getattr(LIBRARY, call).argtypes = [ctypes.c_int64, *([ctypes.c_uint] * (3 if call.endswith("index") else 2 if call.endswith("sym_k") else 1))]

BOUNDS = ["earliest", "v108", "v110", "v112", "v114", "latest"]
LIBVER = {"earliest": ("earliest", "latest"), **{each: (each, "latest") for each in BOUNDS[1:]}}
NUMBERS = ["<i1", "<u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8", "<f4", ">f4", "<f8", ">f8", "<f2", ">f2"]


def numbers(rng, dtype, shape):
    """Smooth numbers with noise, some of them extreme."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape))
    base = np.sin(np.arange(size) / 40) * 100 + rng.integers(0, 9, size)
    if dtype.kind == "c":
        return (base + 1j * base[::-1]).astype(dtype).reshape(shape)
    if dtype.kind == "b":
        return (base > 0).reshape(shape)
    if dtype.kind == "f":
        out = base.astype(dtype)
    else:
        info = np.iinfo(dtype)
        out = (abs(base) if dtype.itemsize == 8 else base).astype("i8").astype(dtype)
        for at in rng.integers(0, max(1, size), 3 if size > 0 else 0):
            # Sums of 64-bit integers must fit their type.
            out[at] = (info.min if rng.random() < 0.5 else info.max) // (8 if dtype.itemsize == 8 else 1)
    return out.reshape(shape)


def opened(file, bounds, **more):
    return h5py.File(file, "w", libver=LIBVER[bounds], **more)


def properties(chunks=None, layout=None, filters=(), fill=None, undefined=False, fill_time=None, alloc=None, edges=False):
    plist = h5p.create(h5p.DATASET_CREATE)
    plist.set_obj_track_times(False)
    if chunks is not None:
        plist.set_chunk(chunks)
    if layout is not None:
        plist.set_layout(layout)
    if edges:
        LIBRARY.H5Pset_chunk_opts(plist.id, 2)
    if fill is not None:
        plist.set_fill_value(fill)
    if fill_time is not None:
        plist.set_fill_time(fill_time)
    if alloc is not None:
        plist.set_alloc_time(alloc)
    for code, values in filters:
        if code == "deflate":
            plist.set_deflate(*values)
        elif code == "shuffle":
            plist.set_shuffle()
        elif code == "fletcher32":
            plist.set_fletcher32()
        elif code == "szip":
            plist.set_szip(*values)
        elif code == "nbit":
            plist.set_filter(5, 0, ())
        elif code == "scaleoffset":
            plist.set_scaleoffset(*values)
        else:
            plist.set_filter(code, h5py.h5z.FLAG_OPTIONAL, values)
    return plist


def create(group, name, dtype, shape, data=None, maxshape=None, **props):
    """Creates a dataset by the low-level interface. `dtype` may be a type of HDF5."""
    tid = dtype if isinstance(dtype, h5t.TypeID) else h5t.py_create(np.dtype(dtype), logical=True)
    space = h5s.create_simple(tuple(shape), maxshape and tuple(h5s.UNLIMITED if each is None else each for each in maxshape))
    plist = properties(**props)
    links = h5p.create(h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    dataset = h5py.Dataset(h5d.create(group.id, name.encode(), tid, space, plist, links))
    if data is not None and dataset.size:
        dataset[...] = data
    return dataset


# Layouts: shape, longest shape, chunks, and properties.
LAYOUTS = {
    "compact": ((5, 7), None, {"layout": h5d.COMPACT}),
    "contiguous": ((20, 30), None, {}),
    "contiguous-early": ((20, 30), None, {"alloc": h5d.ALLOC_TIME_EARLY}),
    "single": ((20, 30), None, {"chunks": (20, 30)}),
    "single-larger": ((20, 30), (40, 50), {"chunks": (32, 50)}),
    "implicit": ((20, 30), None, {"chunks": (3, 7), "alloc": h5d.ALLOC_TIME_EARLY}),
    "fixed": ((20, 30), None, {"chunks": (3, 7)}),
    "fixed-max": ((20, 30), (33, 44), {"chunks": (3, 7)}),
    "fixed-paged": ((36, 60), None, {"chunks": (1, 2)}),
    "first-unlimited": ((23, 30), (None, 30), {"chunks": (2, 11)}),
    "last-unlimited": ((23, 30), (23, None), {"chunks": (2, 11)}),
    "middle-unlimited": ((5, 6, 7), (5, None, 9), {"chunks": (2, 3, 4)}),
    "long-unlimited": ((700,), (None,), {"chunks": (1,)}),
    "paged-unlimited": ((400000,), (None,), {"chunks": (1,)}),
    "two-unlimited": ((23, 30), (None, None), {"chunks": (4, 5)}),
    "many-two-unlimited": ((20, 30), (None, None), {"chunks": (1, 1)}),
    "five-axes": ((3, 4, 5, 2, 3), None, {"chunks": (2, 2, 2, 2, 2)}),
    "five-unlimited": ((3, 4, 5, 2, 3), (None,) * 5, {"chunks": (2, 3, 2, 2, 2)}),
}


def layout_file(file, rng, draw, bounds, layout, how):
    shape, longest, props = LAYOUTS[layout]
    dtype = draw.choice(["<i4", ">f8", "<u2", "<f4"])
    filters = [("shuffle", ()), ("deflate", (draw.randint(1, 6),))] if how != "plain" and "chunks" in props and "alloc" not in props else []
    with opened(file, bounds) as f:
        data = numbers(rng, dtype, shape)
        written = create(f, "x", dtype, shape, None if layout == "paged-unlimited" else data, longest, filters=filters, edges=how == "edges" and "chunks" in props, **props)
        if layout == "paged-unlimited":
            for start in (0, 140000, 200000, draw.randrange(399000)):
                written[start : start + 200] = data[start : start + 200]
        written.attrs["units"] = "m"
        sparse = create(f, "sparse", dtype, shape, None, longest, filters=filters, fill=np.array(7, dtype), **{**props})
        for _ in range(draw.randint(0, 4)):
            at = tuple(draw.randrange(length) for length in shape)
            sparse[at] = data[at]


CHAINS = [
    [("deflate", (1,))], [("deflate", (9,))], [("shuffle", ())], [("fletcher32", ())],
    [("shuffle", ()), ("deflate", (4,))], [("shuffle", ()), ("deflate", (4,)), ("fletcher32", ())],
    [("fletcher32", ()), ("shuffle", ()), ("deflate", (4,))], [("deflate", (1,)), ("deflate", (1,))],
    [("shuffle", ()), ("shuffle", ())], [(32000, ())], [("shuffle", ()), (32000, ()), ("fletcher32", ())],
    [("szip", (32, 16))], [("szip", (4, 8))], [("szip", (32, 32)), ("fletcher32", ())], [("shuffle", ()), ("szip", (32, 8))],
    [("nbit", ())], [("nbit", ()), ("deflate", (3,))], [("scaleoffset", (2, 0))], [("scaleoffset", (0, 2))],
    [("scaleoffset", (2, 0)), ("deflate", (3,))], [("shuffle", ()), (32015, (3,))], [(32015, (1,)), ("fletcher32", ())],
    *[[(32001, (0, 0, 0, 0, level, shuffle, compressor))] for compressor in (0, 1, 2, 4, 5) for shuffle in (0, 1, 2) for level in (1, 9)],
    *[[(32008, (block, kind))] for block in (0, 64) for kind in (0, 2, 3)],
    [(32004, ())], [("shuffle", ()), (32004, (256,))], [(32004, ()), ("fletcher32", ())], [(32015, ()), (32004, ())],
]  # fmt: skip


def chain_file(file, rng, draw, chain):
    with opened(file, draw.choice(BOUNDS)) as f:
        for number, dtype in enumerate(draw.sample(NUMBERS, 4)):
            kind = np.dtype(dtype).kind
            names = [name for name, _ in CHAINS[chain]]
            if "scaleoffset" in names and ((CHAINS[chain][0][1][0] == 0) != (kind == "f") or dtype[1:] == "f2"):
                continue
            if "nbit" in names and dtype[1:] == "f2":
                continue
            length, chunk = draw.choice([(1000, 100), (129, 50), (64, 64), (5000, 4999), *([] if "szip" in names else [(10, 3)])])
            limit = draw.choice([None, (None,)])
            create(f, f"x{number}", dtype, (length,), numbers(rng, dtype, (length,)), limit, chunks=(chunk,), filters=CHAINS[chain])
            create(f, f"noise{number}", dtype, (60, 40), rng.integers(0, 100, (60, 40)).astype(dtype), chunks=(17, 40), filters=CHAINS[chain])


def integer_type(draw):
    base = h5t.py_create(np.dtype(draw.choice(["<i2", ">i2", "<i4", ">i4", "<u4", "<i8", ">u8", "<i1"]))).copy()
    bits = 8 * base.get_size()
    precision = draw.randint(bits // 2 + 1, bits)
    base.set_precision(precision)
    base.set_offset(draw.randint(0, bits - precision))
    return base


def float_type(draw):
    base = draw.choice([h5t.IEEE_F64LE, h5t.IEEE_F64BE]).copy()
    exponent, mantissa, size = draw.choice([(8, 7, 2), (5, 12, 3), (8, 15, 3), (8, 15, 4), (5, 2, 1), (4, 3, 1), (9, 30, 5)])
    offset = 8 * size - exponent - mantissa - 1
    at = draw.randint(0, offset)
    base.set_fields(at + exponent + mantissa, at + mantissa, exponent, at, mantissa)
    base.set_ebias(2 ** (exponent - 1) - 1)
    base.set_offset(at)
    base.set_precision(exponent + mantissa + 1)
    base.set_size(size)
    return base


def text_type(length, padding, utf8):
    base = h5t.C_S1.copy()
    base.set_size(length)
    base.set_strpad(padding)
    if utf8:
        base.set_cset(h5t.CSET_UTF8)
    return base


WORDS = ["", "a", "sea", "Überlauf", "temperature of the air", "数"]


def type_file(file, rng, draw, kind, bounds):
    layout = draw.choice(["compact", "contiguous", "single", "fixed", "first-unlimited", "two-unlimited"])
    shape, longest, props = LAYOUTS[layout]
    filters = draw.choice([[], [("shuffle", ()), ("deflate", (4,))]]) if "chunks" in props else []
    size = int(np.prod(shape))
    with opened(file, bounds) as f:
        where = {"maxshape": longest, "filters": filters, **props}
        if kind in NUMBERS:
            create(f, "x", kind, shape, numbers(rng, kind, shape), **where)
        elif kind == "integer":
            for number in range(4):
                tid = integer_type(draw)
                dataset = create(f, f"x{number}", tid, shape, **where)
                low = 0 if tid.get_sign() == h5t.SGN_NONE else -(2 ** (min(40, tid.get_precision()) - 1))
                high = low + 2 ** min(40, tid.get_precision())
                dataset[...] = rng.integers(low, high, shape)
        elif kind == "nbit":
            for number in range(4):
                tid = integer_type(draw)
                props = {"chunks": (3, 7), "filters": [("nbit", ())]}
                low = 0 if tid.get_sign() == h5t.SGN_NONE else -(2 ** (min(40, tid.get_precision()) - 1))
                create(f, f"x{number}", tid, (20, 30), rng.integers(low, low + 2 ** min(40, tid.get_precision()), (20, 30)), **props)
        elif kind == "float":
            for number in range(4):
                create(f, f"x{number}", float_type(draw), shape, numbers(rng, "f4", shape), **where)
        elif kind == "nbit-float":
            for number in range(3):
                create(f, f"x{number}", float_type(draw), (20, 30), numbers(rng, "f4", (20, 30)), chunks=(3, 7), filters=[("nbit", ())])
        elif kind == "bits":
            for number, base in enumerate([h5t.STD_B8LE, h5t.STD_B16BE, h5t.STD_B32LE]):
                dataset = create(f, f"x{number}", base, shape, **where)
                raw = rng.integers(0, 256, size * base.get_size()).astype("u1")
                dataset.id.write(h5s.ALL, h5s.ALL, raw, mtype=base)
        elif kind in ("complex64", "complex128"):
            create(f, "x", kind, shape, numbers(rng, kind, shape), **where)
        elif kind == "bool":
            create(f, "x", "?", shape, numbers(rng, "?", shape), **where)
        elif kind == "enum":
            base = draw.choice(["i1", ">i2", "<u4"])
            dtype = h5py.enum_dtype({"red": 0, "green": 1, "blue": 42}, basetype=base)
            create(f, "x", dtype, shape, rng.choice([0, 1, 42], shape), **where)
        elif kind == "text":
            for number, padding in enumerate([h5t.STR_NULLTERM, h5t.STR_NULLPAD, h5t.STR_SPACEPAD]):
                length = draw.choice([1, 5, 30])
                dataset = create(f, f"x{number}", text_type(length, padding, draw.random() < 0.5), shape, **where)
                words = ["", "a", "sea", "temperature of the air"]
                pad = b" " if padding == h5t.STR_SPACEPAD else b"\0"
                texts = [draw.choice(words)[: length - 1].encode().ljust(length, pad) for _ in range(size)]
                dataset.id.write(h5s.ALL, h5s.ALL, np.array(texts, f"S{length}"), mtype=dataset.id.get_type())
        elif kind == "texts":
            dtype = h5py.string_dtype(draw.choice(["utf-8", "ascii"]))
            words = WORDS if dtype.metadata["vlen"] is str else WORDS[:3]
            create(f, "x", dtype, shape, np.array([draw.choice(words) for _ in range(size)], "O").reshape(shape), **where)
            create(f, "unwritten", dtype, shape, **where)
        elif kind == "array":
            dtype = np.dtype((draw.choice(["<i2", ">f4"]), draw.choice([(3,), (2, 2)])))
            create(f, "x", dtype, shape, numbers(rng, dtype.base, (*shape, *dtype.shape)), **where)
        elif kind == "compound":
            inner = np.dtype([("u", ">f4"), ("v", "<f8"), ("n", "<i2", (2,))])
            dtype = np.dtype([("a", "<i1"), ("wind", inner), ("b", ">u4"), ("t", "S5")], align=draw.random() < 0.5)
            data = np.zeros(shape, dtype)
            data["a"], data["b"] = numbers(rng, "<i1", shape), numbers(rng, ">u4", shape)
            data["wind"]["u"], data["wind"]["v"] = numbers(rng, "f4", shape), numbers(rng, "f8", shape)
            data["wind"]["n"] = numbers(rng, "<i2", (*shape, 2))
            data["t"] = b"ab"
            create(f, "x", dtype, shape, data, **where)
        elif kind == "committed":
            f["named"] = np.dtype(">f4")
            create(f, "x", f["named"].id, shape, numbers(rng, "f4", shape), **where)
            f["x"].attrs.create("t", 5, dtype=f["named"])
        elif kind == "spaces":
            f["scalar"] = np.float32(5)
            f["text"] = "a text"
            f.create_dataset("null", data=h5py.Empty(">f4"))
            create(f, "none", "<i4", (0, 5))
            create(f, "none-chunked", "<i4", (3, 0), maxshape=(None, None), chunks=(2, 2))


KINDS = [*NUMBERS, "integer", "nbit", "float", "nbit-float", "bits", "complex64", "complex128", "bool", "enum", "text", "texts", "array", "compound", "committed", "spaces"]


def fill_file(file, rng, draw, bounds, time, alloc):
    times = {"never": h5d.FILL_TIME_NEVER, "alloc": h5d.FILL_TIME_ALLOC, "ifset": h5d.FILL_TIME_IFSET}
    allocs = {"early": h5d.ALLOC_TIME_EARLY, "late": h5d.ALLOC_TIME_LATE, "incr": h5d.ALLOC_TIME_INCR}
    with opened(file, bounds) as f:
        for layout in ("contiguous", "fixed", "first-unlimited", "two-unlimited", "compact"):
            shape, longest, props = LAYOUTS[layout]
            dtype = draw.choice(NUMBERS)
            given = draw.choice([None, np.array(draw.choice([0, 1, 99]), dtype)])
            # Unwritten elements without a fill that is written are any bytes of the disk.
            is_written = time == "never" and (alloc == "early" or layout in ("contiguous", "compact"))
            chosen = {"early": "early" if layout != "compact" else "early", "late": "late", "incr": "incr" if "chunks" in props else "late"}[alloc]
            if layout == "compact":
                chosen = "early"
            dataset = create(f, layout, dtype, shape, None, longest, fill=given, fill_time=times[time], **{**props, "alloc": allocs[chosen]})
            if is_written:
                dataset[...] = numbers(rng, dtype, shape)
            elif draw.random() < 0.7 and "chunks" in props:
                chunk = tuple(slice(0, length) for length in props["chunks"])
                dataset[chunk] = numbers(rng, dtype, props["chunks"])


def grown_file(file, rng, draw, bounds):
    with opened(file, bounds) as f:
        for number in range(3):
            rank = draw.randint(1, 3)
            shape = [draw.randint(0, 9) for _ in range(rank)]
            longest = [None if draw.random() < 0.6 else length + draw.randint(0, 20) for length in shape]
            longest = [max(1, each) if each is not None else None for each in longest]
            chunks = tuple(draw.randint(1, 5) if each is None else min(draw.randint(1, 5), each) for each in longest)
            dtype = draw.choice(NUMBERS)
            filters = draw.choice([[], [("deflate", (1,))], [("shuffle", ()), ("deflate", (1,)), ("fletcher32", ())]])
            dataset = create(f, f"x{number}", dtype, shape, None, longest, chunks=chunks, filters=filters, fill=np.array(3, dtype))
            for _ in range(draw.randint(0, 8)):
                step = draw.random()
                if step < 0.5:
                    dataset.resize([min(each if each is not None else 40, draw.randint(0, 40)) for each in longest])
                elif dataset.size:
                    box = []
                    for length in dataset.shape:
                        start = draw.randrange(length)
                        box.append(slice(start, draw.randint(start + 1, length)))
                    dataset[tuple(box)] = numbers(rng, dtype, [each.stop - each.start for each in box])


def links_file(file, rng, draw, bounds, count, ordered):
    with opened(file, bounds, track_order=ordered) as f:
        group = f.create_group("g", track_order=ordered)
        names = [f"{'n' * draw.randint(1, 20)}{number}" for number in range(count)]
        draw.shuffle(names)
        for number, name in enumerate(names):
            if number % 50 == 0:
                group[name] = np.arange(number % 7)
            elif number % 50 == 1:
                group[name] = h5py.SoftLink(f"/g/{names[0]}")
            elif number % 50 == 2:
                group[name] = group[names[0]]
            else:
                group.create_group(name)
        for name in names[3::7]:
            if draw.random() < 0.3:
                del group[name]


def attributes_file(file, rng, draw, bounds, count, most):
    with opened(file, bounds) as f:
        dataset = create(f, "x", "<f4", (3,), [1, 2, 3])
        group = f.create_group("g", track_order=draw.random() < 0.5)
        for target in (dataset, group, f):
            for number in range(count):
                size = draw.randint(0, most)
                name = f"{'é' if number % 5 == 0 else 'a'}{number}"
                kind = draw.choice(["text", "texts", "fixed", "numbers", "numbers", "scalar", "empty"])
                try:
                    if kind == "text":
                        target.attrs[name] = "x" * size
                    elif kind == "texts":
                        target.attrs[name] = [draw.choice(WORDS) for _ in range(1 + size // 30)]
                    elif kind == "fixed":
                        target.attrs[name] = np.bytes_(b"y" * max(1, size))
                    elif kind == "empty":
                        target.attrs[name] = h5py.Empty("f4")
                    elif kind == "scalar":
                        target.attrs[name] = numbers(rng, draw.choice(NUMBERS), (1,))[0]
                    else:
                        dtype = draw.choice(NUMBERS)
                        target.attrs[name] = numbers(rng, dtype, (size // np.dtype(dtype).itemsize,))
                except (RuntimeError, OSError):
                    # Headers of old files have no room for 64 kB.
                    continue


def place_file(file, rng, draw, bounds, kind, number):
    more = {}
    plist = h5p.create(h5p.FILE_CREATE)
    if kind == "user":
        plist.set_userblock(number)
    elif kind == "paged":
        plist.set_file_space_strategy(h5py.h5f.FSPACE_STRATEGY_PAGE, draw.random() < 0.5, 1)
        plist.set_file_space_page_size(number)
    elif kind == "sizes":
        plist.set_sizes(number, number)
    elif kind == "nodes":
        LIBRARY.H5Pset_istore_k(plist.id, number)
        LIBRARY.H5Pset_sym_k(plist.id, number, number)
    elif kind == "shared":
        LIBRARY.H5Pset_shared_mesg_nindexes(plist.id, 1)
        LIBRARY.H5Pset_shared_mesg_index(plist.id, 0, 0x1F, number)
    access = h5p.create(h5p.FILE_ACCESS)
    names = h5py._hl.files.libver_dict
    access.set_libver_bounds(*(names[each] for each in LIBVER[bounds]))
    with h5py.File(h5py.h5f.create(file.encode(), h5py.h5f.ACC_TRUNC, plist, access)) as f:
        # libhdf5 makes no unlimited axis in a file of short lengths.
        fitting = sorted(each for each in LAYOUTS if kind != "sizes" or LAYOUTS[each][1] is None)
        for each in draw.sample([each for each in fitting if each != "paged-unlimited"], 5):
            shape, longest, props = LAYOUTS[each]
            dataset = create(f, f"group/{each}", draw.choice(NUMBERS), shape, maxshape=longest, **props)
            dataset[...] = numbers(rng, dataset.dtype, shape)
            dataset.attrs["long_name"] = f"the array {each}"
            dataset.attrs["numbers"] = np.arange(20)
        f["texts"] = np.array(WORDS, h5py.string_dtype())
    if kind == "user":
        with open(file, "r+b") as raw:
            raw.write(b"MATLAB 7.3 MAT-file" + bytes(100))


def masked_file(file, rng, draw, bounds):
    with opened(file, bounds) as f:
        filters = [("shuffle", ()), ("deflate", (4,)), ("fletcher32", ())][: draw.randint(1, 3)]
        longest = draw.choice([None, (None, 30), (None, None)])
        dataset = create(f, "x", "<i4", (20, 30), None, longest, chunks=(4, 30), filters=filters, fill=np.array(-1, "<i4"))
        for row in range(0, 20, 4):
            data = numbers(rng, "<i4", (4, 30)).tobytes()
            mask = draw.randrange(2 ** len(filters))
            if draw.random() < 0.15:
                continue
            for bit, (name, _) in enumerate(filters):
                if (mask >> bit) & 1:
                    continue
                if name == "shuffle":
                    data = np.frombuffer(data, "u1").reshape(-1, 4).T.tobytes()
                elif name == "deflate":
                    data = zlib.compress(data, draw.randint(0, 9))
                else:
                    data += fletcher(data).to_bytes(4, "little")
            dataset.id.write_direct_chunk((row, 0), data, mask)


def fletcher(data):
    one = two = 0
    padded = data + b"\0" * (len(data) % 2)
    for at in range(0, len(padded), 2):
        one = (one + (padded[at] << 8 | padded[at + 1])) % 65535
        two = (two + one) % 65535
    return two << 16 | one


def sparse_file(file, rng, draw, bounds, kind):
    with opened(file, bounds) as f:
        gap = create(f, "gap", "<f4", (1200, 1024, 1024), alloc=h5d.ALLOC_TIME_EARLY, fill_time=h5d.FILL_TIME_NEVER)
        for at in (0, 1, 700, 1199):
            gap[at, 5, 7:20] = np.arange(13)
        shape, longest, props = LAYOUTS[kind]
        create(f, "x", ">i4", shape, numbers(rng, "i4", shape), longest, **props)
        f["x"].attrs["far"] = ["text", "behind 4 GiB"]


def beside(file, name):
    """Returns a name beside a file, and its path. The files beside it are in a folder of their own."""
    folder = f"{file}.d"
    os.makedirs(os.path.join(folder, "sub"), exist_ok=True)
    return f"{os.path.basename(folder)}/{name}", os.path.join(folder, name)


def links_out_file(file, rng, draw, bounds):
    first, first_path = beside(file, "first.h5")
    _, second_path = beside(file, "sub/second.h5")
    with opened(second_path, draw.choice(BOUNDS)) as f:
        shape, longest, props = LAYOUTS[draw.choice(sorted(set(LAYOUTS) - {"paged-unlimited"}))]
        create(f, "deep/x", draw.choice(NUMBERS), shape, numbers(rng, "i1", shape), longest, **props)
        f["deep"].attrs["place"] = "second"
        f["deep/again"] = h5py.SoftLink("/deep/x")
    with opened(first_path, draw.choice(BOUNDS)) as f:
        data = numbers(rng, "<i4", (9, 11))
        f.create_dataset("x", data=data, chunks=(4, 5), compression="gzip")
        f["group/y"] = numbers(rng, ">f8", (7,))
        f["pair"] = np.rec.fromarrays([np.arange(5), np.arange(5) / 2], names="a,b")
        f["soft"] = h5py.SoftLink("/group")
        f["next"] = h5py.ExternalLink("sub/second.h5", "/deep")
        f["x"].attrs["units"] = "m"
    with opened(file, bounds) as f:
        f["own"] = np.arange(4)
        f["all"] = h5py.ExternalLink(first, "/")
        f["some/x"] = h5py.ExternalLink(first, "/x")
        f["some/dotted"] = h5py.ExternalLink(f"./{first}", "x")
        f["some/pair"] = h5py.ExternalLink(first, "/pair")
        f["some/soft"] = h5py.ExternalLink(first, "/soft/y")
        f["far"] = h5py.ExternalLink(first, "/next/x")
        f["alias"] = h5py.SoftLink("/all/group")


def hyperslab(shape, *blocks):
    """A dataspace with selected blocks: (start, stride, count, block) each, or all of it."""
    space = h5s.create_simple(shape, (h5s.UNLIMITED,) * len(shape))
    for number, (start, stride, count, block) in enumerate(blocks):
        space.select_hyperslab(start, count, stride, block, h5s.SELECT_OR if number else h5s.SELECT_SET)
    return space


U = h5s.UNLIMITED
# Virtual shape, shapes of sources, and mappings: file, array, source blocks, virtual blocks.
ONE = (1, 1)
VIRTUALS = {
    "rows": ((6, 30), [(30,)] * 6, [(i, "x", [], [((i, 0), ONE, ONE, (1, 30))]) for i in range(6)]),
    "blocks": ((20, 24), [(10, 12)] * 3, [(i, "x", [], [((10 * (i // 2), 12 * (i % 2)), ONE, ONE, (10, 12))]) for i in range(3)]),
    "interleaved": ((12, 7), [(4, 7)] * 3, [(i, "x", [], [((i, 0), (3, 1), (4, 1), (1, 7))]) for i in range(3)]),
    "spread": ((20, 9), [(8, 9)] * 2, [(i, "x", [], [((2 * i, 0), (5, 1), (4, 1), (2, 9))]) for i in range(2)]),
    "strided": ((5, 6), [(20, 30)], [(0, "x", [((1, 2), (4, 5), (5, 6), ONE)], [((0, 0), ONE, ONE, (5, 6))])]),
    "reshaped": ((6, 20), [(120,)], [(0, "x", [], [((0, 0), ONE, ONE, (6, 20))])]),
    "merged": ((120,), [(4, 5, 6)], [(0, "x", [], [((0,), (1,), (1,), (120,))])]),
    "turned": ((8, 15), [(10, 12)], [(0, "x", [], [((0, 0), ONE, ONE, (8, 15))])]),
    "irregular": ((10, 12), [(9, 11)], [(0, "x", [((0, 0), ONE, ONE, (3, 4)), ((2, 2), ONE, ONE, (4, 5))], [((1, 1), ONE, ONE, (2, 8)), ((5, 3), ONE, ONE, (2, 5)), ((8, 0), ONE, ONE, (1, 4))])]),
    "missing": ((9, 8), [(3, 8), None, (3, 8)], [(i, "x" if i else "none", [], [((3 * i, 0), ONE, ONE, (3, 8))]) for i in range(3)]),
    "overlapping": ((10, 8), [(4, 8)] * 3, [(i, "x", [], [((3 * i, 0), ONE, ONE, (4, 8))]) for i in range(3)]),
    "own": ((4, 10), [], [(None, "own", [], [((1, 0), ONE, ONE, (1, 10))]), (None, "own", [], [((3, 0), ONE, ONE, (1, 10))])]),
    "named": ((4, 10), [(4, 10)], [*[(0, "x", [((i, 0), ONE, ONE, (1, 10))], [((i, 0), ONE, ONE, (1, 10))]) for i in range(2)], *[(None, "an_array_of_a_long_name", [], [((i, 0), ONE, ONE, (1, 10))]) for i in (2, 3)]]),
    "nested": ((4, 10), [], [(None, "inner", [], [((0, 0), ONE, ONE, (4, 10))])]),
    "unlimited": ((0, 7), [(5, 7)], [(0, "x", [((0, 0), (1, 1), (U, 1), (1, 7))], [((0, 0), (1, 1), (U, 1), (1, 7))])]),
    "unlimited-spread": ((0, 7), [(6, 7), (7, 7)], [(i, "x", [((0, 0), (2, 1), (U, 1), (2, 7))], [((2 * i, 0), (4, 1), (U, 1), (2, 7))]) for i in range(2)]),
    "pattern": ((0, 7), [(3, 7)] * 4, [("%b", "x", [((0, 0), ONE, ONE, (3, 7))], [((0, 0), (3, 1), (U, 1), (3, 7))])]),
    "pattern-gaps": ((0, 7), [(3, 7)] * 3, [("%b", "x", [((0, 0), ONE, ONE, (3, 7))], [((1, 0), (5, 1), (U, 1), (3, 7))])]),
    "pattern-array": ((0, 10), [], [(None, "some/%b", [((0, 0), ONE, ONE, (2, 10))], [((0, 0), (2, 1), (U, 1), (2, 10))])]),
}


def virtual_file(file, rng, draw, bounds, kind):
    shape, sources, mappings = VIRTUALS[kind]
    dtype = draw.choice(["<i4", ">f8", "<u2", ">i8"])
    for number, each in enumerate(sources):
        if each is not None:
            with opened(beside(file, f"{number}.h5")[1], draw.choice(BOUNDS)) as f:
                chunks = tuple(max(1, length // 2) for length in each) if draw.random() < 0.5 else None
                create(f, "x", dtype, each, numbers(rng, dtype, each), (None,) * len(each) if chunks else None, chunks=chunks)
    with opened(file, bounds) as f:
        f["own"] = numbers(rng, dtype, (10,))
        f["an_array_of_a_long_name"] = numbers(rng, dtype, (10,))
        for number in range(3):
            f[f"some/{number}"] = numbers(rng, dtype, (2, 10))
        made = {"x": (shape, mappings)}
        if kind == "nested":
            made = {"inner": VIRTUALS["own"][::2], **made}
        for name, (lengths, each) in made.items():
            plist = properties(fill=np.array(draw.randint(0, 9), dtype) if draw.random() < 0.7 else None)
            plist.set_layout(h5d.VIRTUAL)
            for source, array, taken, shown in each:
                target = hyperslab(lengths, *shown)
                if any(U in block[2] for block in taken):
                    taken_from = hyperslab(sources[source], *taken)
                elif source is None:
                    taken_from = hyperslab((2, 10) if taken else (4, 10) if array == "inner" else (10,), *taken)
                else:
                    taken_from = hyperslab(sources[0 if source == "%b" else source] or (3, 8), *taken)
                where = "." if source is None else beside(file, f"{source}.h5")[0]
                plist.set_virtual(target, where.encode(), array.encode(), taken_from)
            longest = (U, *lengths[1:]) if 0 in lengths else lengths
            h5d.create(f.id, name.encode(), h5t.py_create(np.dtype(dtype)), h5s.create_simple(lengths, longest), plist)


def raw_file(file, rng, draw, bounds, parts):
    dtype, shape = draw.choice(NUMBERS), (draw.randint(1, 30), draw.randint(1, 40))
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    data = numbers(rng, dtype, shape).tobytes()
    cuts = sorted(draw.randrange(size + 1) for _ in range(parts - 1))
    plist = properties()
    for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, size])):
        name, path = beside(file, f"{number}.raw")
        offset = draw.randrange(50)
        kept = data[start:stop]
        if draw.random() < 0.2:
            # Bytes behind the end of the file are zeros.
            kept = kept[: len(kept) // 2]
        with open(path, "wb") as raw:
            raw.write(bytes(offset) + kept)
        unlimited = number == parts - 1 and draw.random() < 0.3
        plist.set_external(name.encode(), offset, h5py.h5f.UNLIMITED if unlimited else stop - start)
    with opened(file, bounds) as f:
        h5d.create(f.id, b"x", h5t.py_create(np.dtype(dtype)), h5s.create_simple(shape), plist)
        f["own"] = np.arange(4)


def netcdf_file(file, rng, draw, form):
    with netCDF4.Dataset(file, "w", format=form) as f:
        lengths = {"t": draw.choice([None, 5]), "y": draw.randint(1, 20), "x": draw.randint(1, 20), "n": 7}
        for name, length in lengths.items():
            f.createDimension(name, length)
        steps = draw.randint(0, 5) if lengths["t"] is None else 5
        groups = [f] if form == "NETCDF4_CLASSIC" else [f, f.createGroup("inner"), f.createGroup("inner/most")]
        for group in groups:
            for number in range(draw.randint(1, 5)):
                kinds = ["f4", "f8", "i1", "i2", "i4", "S1"] + ([] if form == "NETCDF4_CLASSIC" else ["u1", "u2", "u4", "i8", "u8", str])
                dtype = draw.choice(kinds)
                dims = draw.choice([(), ("x",), ("y", "x"), ("t", "y", "x"), ("t",), ("t", "n")])
                more = {} if dtype is str or not dims else draw.choice(
                    [{}, {"zlib": True}, {"compression": "zstd"}, {"zlib": True, "shuffle": False, "fletcher32": True}, {"contiguous": "t" not in dims}]
                )
                if dtype not in ("S1", str):
                    more = {**more, "endian": draw.choice(["native", "big", "little"]), "fill_value": draw.choice([None, 3])}
                variable = group.createVariable(f"v{number}", dtype, dims, **more)
                shape = [steps if dim == "t" else lengths[dim] for dim in dims]
                variable.units, variable.valid = "K", np.arange(3)
                if draw.random() < 0.2:
                    continue
                if dtype is str:
                    variable[...] = np.array([draw.choice(WORDS) for _ in range(int(np.prod(shape)))], "O").reshape(shape)
                elif dtype == "S1":
                    variable[...] = np.full(shape, "b", "S1")
                else:
                    variable[...] = rng.integers(0, 100, shape)


FILES = {}
for b in BOUNDS:
    for layout in LAYOUTS:
        for how in ("plain", "filtered", "edges") if b != "earliest" else ("plain", "filtered"):
            FILES[f"layout {b} {layout} {how}"] = (layout_file, b, layout, how)
    for time in ("never", "alloc", "ifset"):
        for alloc in ("early", "late", "incr"):
            FILES[f"fill {b} {time} {alloc}"] = (fill_file, b, time, alloc)
    for number in range(10):
        FILES[f"grown {b} {number}"] = (grown_file, b)
    for count in (1, 8, 9, 40, 300, 3000):
        for ordered in (False, True):
            FILES[f"links {b} {count} {ordered}"] = (links_file, b, count, ordered)
    for count, most in ((0, 0), (1, 100000), (5, 300), (9, 300), (60, 100), (400, 40), (12, 70000)):
        FILES[f"attributes {b} {count} {most}"] = (attributes_file, b, count, most)
    for number in (512, 1024, 4096, 65536):
        FILES[f"user {b} {number}"] = (place_file, b, "user", number)
    for number in (4096, 65536, 4194304):
        FILES[f"paged {b} {number}"] = (place_file, b, "paged", number)
    for number in range(5):
        FILES[f"masked {b} {number}"] = (masked_file, b)
    for kind in KINDS:
        if kind not in NUMBERS or b in ("earliest", "v110", "latest"):
            FILES[f"type {b} {kind}"] = (type_file, kind, b)
    for kind in ("contiguous", "first-unlimited", "fixed-paged", "two-unlimited"):
        FILES[f"sparse {b} {kind}"] = (sparse_file, b, kind)
for chain in range(len(CHAINS)):
    for number in range(3):
        FILES[f"chain {chain} {number}"] = (chain_file, chain)
for b in ("earliest", "v110", "latest"):
    for number in (4, 8):
        FILES[f"sizes {b} {number}"] = (place_file, b, "sizes", number)
    for number in (2, 5, 100):
        FILES[f"nodes {b} {number}"] = (place_file, b, "nodes", number)
    for number in range(3):
        FILES[f"external {b} {number}"] = (links_out_file, b)
    for kind in VIRTUALS:
        FILES[f"virtual {b} {kind}"] = (virtual_file, b, kind)
    for parts in (1, 2, 5):
        FILES[f"raw {b} {parts}"] = (raw_file, b, parts)
    for number in (0, 50):
        FILES[f"shared {b} {number}"] = (place_file, b, "shared", number)
for number in range(40):
    FILES[f"netcdf {number}"] = (netcdf_file, "NETCDF4" if number % 4 else "NETCDF4_CLASSIC")


def text_of(value):
    return value.decode("utf8", "replace") if isinstance(value, bytes) else str(value)


def sha_of(texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def attribute_of(value):
    """An attribute in the form in which the test has it: a text, or a digest of float64."""
    if isinstance(value, h5py.Empty):
        return None
    array = np.asarray(value)
    if array.dtype.kind in "SOU":
        texts = [text_of(each) for each in array.reshape(-1).tolist()]
        return {"count": len(texts), "sha": sha_of(texts)}
    return {"count": array.size, "sha": hashlib.sha256(array.astype("<f8").tobytes()).hexdigest()}


def attributes_of(node):
    found = {}
    for name in node.attrs:
        tid = node.attrs.get_id(name).get_type()
        if tid.get_class() in (h5t.INTEGER, h5t.FLOAT, h5t.STRING):
            found[name] = attribute_of(node.attrs[name])
    return found


def fields_of(path, dtype, arrays):
    if dtype.kind == "V" and dtype.names is not None:
        for name in dtype.names:
            fields_of(f"{path}/{name}", dtype[name], arrays)
    else:
        arrays.append(path)


def describe(file):
    arrays, attributes, groups = [], {}, []
    with h5py.File(file, "r") as f:
        attributes[""] = attributes_of(f)

        def visit(group, prefix, above):
            for name in group:
                node = group[name]
                path = f"{prefix}{name}"
                if isinstance(node, h5py.Datatype):
                    continue
                if isinstance(node, h5py.Group):
                    groups.append(path)
                    visit(node, f"{path}/", above)
                else:
                    dtype = node.dtype if h5py.check_string_dtype(node.dtype) or h5py.check_enum_dtype(node.dtype) else node.dtype
                    fields_of(path, dtype, arrays)
                attributes[path] = attributes_of(node)

        visit(f, "", ())
    return {"arrays": arrays, "groups": groups, "attributes": attributes}


def make(name, file, seed):
    work, *args = FILES[name]
    mixed = zlib.crc32(f"{name} {seed}".encode())
    try:
        work(file, np.random.default_rng(mixed), random.Random(mixed), *args)
        return describe(file)
    except (ValueError, TypeError, RuntimeError, OSError, KeyError) as error:
        return {"unmade": f"{type(error).__name__}: {error}"}


def find(f, path):
    names, node = path.split("/"), f
    while not isinstance(node, h5py.Dataset):
        node = node[names.pop(0)]
    return node, names


def select(node, fields, selection):
    """Reads the box around a selection, and selects from it."""
    box, inner = [], []
    for axis, each in enumerate(selection):
        length = node.shape[axis]
        if each is None:
            positions = np.arange(length)
        elif isinstance(each, dict):
            positions = np.arange(length)[slice(each.get("start"), each.get("stop"), each.get("step"))]
        else:
            positions = np.arange(length)[each]
        flat = np.atleast_1d(positions)
        start = int(flat.min()) if flat.size else 0
        box.append(slice(start, int(flat.max()) + 1 if flat.size else 0))
        inner.append(positions - start)
    if any(each.stop == each.start for each in box):
        # libhdf5 does not read an empty box of patterns.
        a = np.empty([each.stop - each.start for each in box], node.dtype)
    else:
        a = np.asarray(node[tuple(box)] if node.shape else node[()])
    for field in fields:
        a = a[field]
    for axis in reversed(range(len(inner))):
        a = np.asarray(np.take(a, inner[axis], axis), a.dtype)
    return a


def converted(a, dtype):
    if dtype == "string":
        return a
    if a.dtype.kind == "c":
        a = a[..., None].view(a.real.dtype)
    return a.astype("u1" if dtype == "bool" else dtype)


def digest(a, dtype):
    if dtype == "string":
        return sha_of([text_of(each) for each in a.reshape(-1).tolist()])
    return hashlib.sha256(np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<")).tobytes()).hexdigest()


def reduced(a, op):
    return getattr(np, op)(a.astype("f8") if op in ("sum", "mean") and a.dtype.kind == "f" else a, **({"dtype": "f8"} if op == "mean" else {}))


def judge(file, path, dtype, reads, reductions, missing):
    wrong = []
    with h5py.File(file, "r") as f:
        node, fields = find(f, path)
        if node.shape is None:
            return []
        for selection, shape, sha in reads:
            a = converted(select(node, fields, selection), dtype)
            if list(a.shape) != shape:
                wrong.append(f"{path} {json.dumps(selection)}: shape {shape}, h5py has {list(a.shape)}")
            elif digest(a, dtype) != sha:
                wrong.append(f"{path} {json.dumps(selection)}: elements differ from h5py's")
        if reductions:
            a = converted(select(node, fields, [None] * len(node.shape)), dtype)
            a = a[~np.isin(a, np.array([(float if a.dtype.kind == "f" else int)(each) for each in missing], a.dtype))]
            for op, actual in reductions:
                if op == "overflow":
                    exact_sum, bounds = sum(a.reshape(-1).tolist()), np.iinfo("u8" if a.dtype.kind == "u" else "i8")
                    if int(actual) != exact_sum or bounds.min <= exact_sum <= bounds.max:
                        wrong.append(f"{path}: an overflow by {actual}, the exact sum is {exact_sum}")
                    continue
                expected = a.size if op == "count" else reduced(a, op) if a.size else None
                if expected is None:
                    continue
                scale = float(np.sum(np.abs(a.astype("f8")))) or 1
                got = float("nan") if actual == "NaN" else float(actual) if a.dtype.kind == "f" or op == "mean" else int(actual)
                exact = op not in ("mean", "sum") or (op == "sum" and a.dtype.kind != "f")
                if got != expected and not (got != got and expected != expected) and (exact or not abs(got - expected) <= 1e-12 * scale):
                    wrong.append(f"{path} {op}: {actual}, numpy has {expected}")
    return wrong


for line in sys.stdin:
    request = json.loads(line)
    if "list" in request:
        result = list(FILES)
    elif "make" in request:
        result = make(request["make"], request["file"], request["seed"])
    else:
        try:
            result = judge(**request["judge"])
        except Exception as error:
            result = [f"{request['judge']['path']}: h5py: {type(error).__name__}: {error}"]
    print(json.dumps(result), flush=True)
