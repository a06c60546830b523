"""Writes Zarr stores whose arrays have each a type, codecs or a layout. Arguments: folder of version 2, of version 3."""
import sys
import warnings

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

warnings.simplefilter("ignore")
rng = np.random.default_rng(20261128)
NUMBERS = rng.integers(-500, 500, (7, 10))
Y_X = ["y", "x"]


def put(group, name, data, dims=Y_X, chunks=(3, 4), part=None, **options):
    """Writes an array; `part` leaves the other chunks unwritten."""
    if group.metadata.zarr_format == 3:
        options["dimension_names"] = dims
    array = group.create_array(name, shape=data.shape, chunks=chunks, dtype=options.pop("dtype", data.dtype), **options)
    if group.metadata.zarr_format == 2 and dims is not None:
        array.attrs["_ARRAY_DIMENSIONS"] = dims
    array.attrs["note"] = name
    if part is None:
        array[...] = data
    else:
        array[part] = data[part]
    return array


group = zarr.create_group(sys.argv[1], zarr_format=2)
group.attrs["title"] = "version 2"
for kind in ["|b1", "|i1", "<i2", ">i4", "<i8", "|u1", ">u2", "<u4", "<u8", "<f2", ">f4", "<f8", "<M8[s]", "<m8[h]", "|S3", "<c8"]:
    put(group, "type" + kind[1:].replace("[", "_").strip("]"), np.abs(NUMBERS).astype(kind), compressors=numcodecs.Zlib(), filters=None)
for name, compressor in {
    "zlib": numcodecs.Zlib(3),
    "gzip": numcodecs.GZip(3),
    "zstd": numcodecs.Zstd(3),
    "lz4": numcodecs.LZ4(),
    "blosc": numcodecs.Blosc("zstd", 3, numcodecs.Blosc.BITSHUFFLE),
    "bz2": numcodecs.BZ2(),
}.items():
    put(group, "compressor_" + name, NUMBERS.astype("<i4"), compressors=compressor, filters=None, fill_value=0)
for name, codec, kind in [
    ("delta", numcodecs.Delta("<i4"), "<i4"),
    ("scale", numcodecs.FixedScaleOffset(0, 10, "<f8", "<i2"), "<f8"),
    ("quantize", numcodecs.Quantize(3, "<f4"), "<f4"),
    ("astype", numcodecs.AsType("<i2", "<i4"), "<i4"),
    ("bitround", numcodecs.BitRound(8), "<f4"),
    ("packbits", numcodecs.PackBits(), "|b1"),
    ("shuffle", numcodecs.Shuffle(4), "<i4"),
    ("crc32", numcodecs.CRC32(), "<i4"),
    ("adler32", numcodecs.Adler32(), "<i4"),
    ("fletcher32", numcodecs.Fletcher32(), "<i4"),
]:
    put(group, "filter_" + name, NUMBERS.astype(kind), filters=[codec], compressors=numcodecs.Zlib(), fill_value=0)
put(group, "plain", NUMBERS.astype("<i2"), filters=None, compressors=None, fill_value=-1)
put(group, "order_f", NUMBERS.astype("<i2"), filters=None, compressors=numcodecs.Zlib(), order="F", fill_value=0)
put(group, "order_f_delta", NUMBERS.astype("<i4"), filters=[numcodecs.Delta("<i4")], compressors=None, order="F", fill_value=0)
put(group, "sparse", NUMBERS.astype("<i4"), filters=None, part=np.s_[3:6, 4:8], fill_value=-7)
put(group, "scalar", np.array(7.5), dims=[], chunks=(), filters=None, fill_value=0)
put(group, "slashes", NUMBERS.astype("<i4"), filters=None, fill_value=0, chunk_key_encoding={"name": "v2", "separator": "/"})
put(group.create_group("a group"), "in ä", NUMBERS.astype("<i4"), filters=None, fill_value=0)
put(group, "record", np.zeros((7, 10), [("a", "<i2"), ("b", "<f4")]), filters=None, compressors=numcodecs.Zlib())

group = zarr.create_group(sys.argv[2], zarr_format=3)
group.attrs["title"] = "version 3"
little, big = BytesCodec(endian="little"), BytesCodec(endian="big")
for kind in ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "M8[s]"]:
    put(group, "type_" + kind.replace("[", "_").strip("]"), np.abs(NUMBERS).astype(kind), fill_value=0)
put(group, "text", NUMBERS.astype(str).astype(object), dtype=str)
for name, codecs in {"gzip": GzipCodec(), "zstd": ZstdCodec(level=2, checksum=True), "blosc": BloscCodec(cname="lz4", typesize=4)}.items():
    put(group, "compressor_" + name, NUMBERS.astype("i4"), compressors=[codecs, Crc32cCodec()], fill_value=0)
put(group, "big", NUMBERS.astype("i4"), serializer=big, compressors=None, fill_value=0)
put(group, "transposed", NUMBERS.astype("i4"), filters=[TransposeCodec(order=(1, 0))], fill_value=0)
put(group, "cube", rng.integers(0, 9, (3, 4, 5)).astype("i4"), ["z", "y", "x"], (2, 2, 2), filters=[TransposeCodec(order=(0, 2, 1))], fill_value=0)
put(group, "sharded", NUMBERS.astype("i4"), chunks=(2, 2), shards=(4, 6), fill_value=0)
put(group, "sharded_sparse", NUMBERS.astype("i4"), chunks=(2, 2), shards=(4, 6), part=np.s_[1:3, :3], fill_value=0)
put(group, "sparse_zero", NUMBERS.astype("i4"), part=np.s_[3:6, 4:8], fill_value=0)
put(group, "sparse_nan", NUMBERS.astype("f4"), part=np.s_[3:6, 4:8], fill_value=np.nan)
put(group, "sparse_seven", NUMBERS.astype("i4"), part=np.s_[3:6, 4:8], fill_value=7)
named = put(group, "sparse_named", NUMBERS.astype("i4"), part=np.s_[3:6, 4:8], fill_value=7)
named.attrs["_FillValue"] = 7
put(group, "full_seven", NUMBERS.astype("i4"), fill_value=7)
put(group, "joined", NUMBERS[:6].astype("i4"), ["row", "column"], (3, 5), fill_value=0)
