"""Writes Zarr arrays of every kind with zarr-python, with what it reads of them.

    python3 matrix.py FOLDER COUNT SEED

FOLDER gets `cases/NUMBER`, an array each; `values.bin`, the elements of all, little-endian in C order; and `manifest.json`,
a list with the facts of each. Elements are as hyperslab has them: float16 as float32, bool as a byte, datetimes as
nanoseconds in int64. Texts and bytes (as lists of numbers) are in the manifest.
"""

import json
import math
import os
import random
import shutil
import sys
import warnings

import numcodecs
import numpy as np
import zarr
import zarr.codecs as zc
import zarr.codecs.numcodecs as zn
from zarr.core.dtype import VariableLengthBytes, VariableLengthUTF8

warnings.simplefilter("ignore")
zarr.config.set({"async.concurrency": 2, "threading.max_workers": 1})

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
TIMES = ["M8[ns]", "M8[s]", "M8[D]", "M8[10ms]", "M8[M]", "m8[s]", "m8[ns]", "m8[100us]"]
FIXED = ["S1", "S5", "U1", "U4", "V3"]
VARIABLE = ["text", "bytes"]
SPECIAL = [math.nan, math.inf, -math.inf, -0.0]
WORDS = ["", "a", "Köln", "日本", "x" * 40, "\u0001f600"]


class Case:
    """One array: what it is made of, chosen at random."""

    def __init__(self, rng, number):
        self.rng = rng
        self.version = rng.choice([2, 3])
        kind = rng.choices([NUMBERS, TIMES, FIXED, VARIABLE], [12, 2, 2, 2])[0]
        self.name = rng.choice(kind)
        rank = rng.choices([0, 1, 2, 3, 4], [1, 5, 6, 5, 2])[0]
        most = [1, 60, 20, 10, 6][rank]
        self.shape = tuple(0 if rng.random() < 0.02 else rng.randint(1, most) for _ in range(rank))
        self.chunks = tuple(rng.randint(1, max(1, n + (n > 3 and rng.random() < 0.1))) for n in self.shape)
        self.order = rng.choice("CF") if self.version == 2 else "C"
        self.big = rng.random() < 0.35
        self.number = number
        self.np = np.random.default_rng(rng.getrandbits(32))

    @property
    def dtype(self):
        if self.name in VARIABLE:
            return np.dtype(object)
        dtype = np.dtype(self.name)
        return dtype.newbyteorder(">") if self.big and self.version == 2 else dtype

    def elements(self, shape):
        """Elements of which some are at the ends of their type."""
        n, name = math.prod(shape), self.name
        if name == "text":
            data = np.array([self.rng.choice(WORDS) for _ in range(n)] + [""], object)[:n]
        elif name == "bytes":
            data = np.empty(n, object)
            for i in range(n):
                data[i] = self.rng.choice(WORDS).encode()
        elif name[0] == "S":
            data = np.array([self.rng.choice(WORDS).encode() for _ in range(n)] + [b""]).astype(name)[:n]
        elif name[0] == "U":
            data = np.array([self.rng.choice(WORDS) for _ in range(n)] + [""]).astype(name)[:n]
        elif name[0] == "V":
            data = self.np.integers(0, 256, 3 * n, "u1").view("V3")
        elif name[0] in "Mm":
            most = {"M8[M]": 2000, "M8[D]": 90_000}.get(name, 2**52 if "ns" in name else 2**31)
            data = self.np.integers(-most, most, n, "i8")
            data[self.np.random(n) < 0.05] = -(2**63)
            data = data.view(name)
        elif name[0] == "f":
            data = (self.np.standard_normal(n) * 100).astype(name)
            for special in SPECIAL:
                data[self.np.random(n) < 0.01] = special
        elif name == "?":
            data = self.np.random(n) < 0.5
        else:
            info = np.iinfo(name)
            small = self.rng.random() < 0.5
            low, high = (max(info.min, -100), 100) if small else (info.min, info.max)
            data = self.np.integers(low, high, n, name, endpoint=True)
        return data.reshape(shape)

    def fill(self):
        """A fill value, of None only in version 2."""
        if self.version == 2 and self.rng.random() < 0.25:
            return None
        if self.name == "text":
            return self.rng.choice(WORDS)
        if self.name == "bytes":
            return self.rng.choice(WORDS).encode()
        if self.name[0] == "f" and self.rng.random() < 0.6:
            return np.dtype(self.name).type(self.rng.choice([*SPECIAL, 0.1, 9.969209968386869e36 if self.name != "f2" else 65504]))
        if self.name[0] in "iu" and self.rng.random() < 0.6:
            info = np.iinfo(self.name)
            return self.rng.choice([info.min, info.max])
        if self.name[0] in "Mm" and self.rng.random() < 0.5:
            return np.array(-(2**63), "i8").view(self.name)[()]
        return self.elements((1,))[0]

    def filters(self):
        """Filters of version 2 that fit the type."""
        kind, size = np.dtype(self.name).kind, np.dtype(self.name).itemsize
        dtype = self.dtype.str
        fitting = [[]] * 3
        if kind in "iu":
            fitting += [[numcodecs.Delta(dtype=dtype)], [numcodecs.Shuffle(size)], [numcodecs.AsType("<i8", dtype)] if size < 8 else []]
        if kind == "f":
            fitting += [[numcodecs.Shuffle(size)]]
            if size > 2:
                fitting += [
                    [numcodecs.Delta(dtype=dtype)],
                    [numcodecs.FixedScaleOffset(offset=1, scale=8, dtype=dtype, astype="<i4")],
                    [numcodecs.Quantize(2, dtype)],
                    [numcodecs.AsType("<f8", dtype)],
                ]
                fitting += [[numcodecs.BitRound(7)]] if dtype[0] == "<" else []
        if kind == "b":
            fitting += [[numcodecs.PackBits()]] * 2
        if kind in "Mm":
            fitting += [[numcodecs.Shuffle(size)]]
        fitting += [[numcodecs.Fletcher32()], [numcodecs.CRC32()], [numcodecs.Adler32()]]
        return self.rng.choice(fitting)

    def compressor(self):
        rng = self.rng
        cname, shuffle = rng.choice(["lz4", "lz4hc", "blosclz", "zlib", "zstd"]), rng.choice([0, 1, 2])
        return rng.choice(
            [
                None,
                numcodecs.Blosc(cname=cname, clevel=rng.choice([0, 1, 5, 9]), shuffle=shuffle, blocksize=rng.choice([0, 0, 256])),
                numcodecs.Blosc(cname=cname, shuffle=shuffle),
                numcodecs.Zstd(level=rng.choice([1, 5])),
                numcodecs.GZip(1),
                numcodecs.Zlib(1),
                numcodecs.LZ4(),
            ]
        )

    def bytes_codecs(self):
        """Codecs of version 3 from bytes to bytes."""
        rng, size = self.rng, 1 if self.name in VARIABLE else np.dtype(self.name).itemsize
        cname = rng.choice(["lz4", "lz4hc", "blosclz", "zlib", "zstd"])
        shuffle = rng.choice(["noshuffle", "shuffle", "bitshuffle"])
        one = rng.choice(
            [
                None,
                zc.BloscCodec(cname=cname, clevel=rng.choice([1, 5]), shuffle=shuffle, typesize=size),
                zc.ZstdCodec(level=1, checksum=rng.random() < 0.5),
                zc.GzipCodec(level=1),
                zn.Zlib(level=1),
                zn.LZ4(),
                zn.Blosc(cname=cname, shuffle=rng.choice([0, 1, 2])),
                zn.Zstd(level=1),
                zn.GZip(level=1),
            ]
        )
        shuffled = [zn.Shuffle(elementsize=size)] if rng.random() < 0.1 else []
        check = rng.choice([None, None, None, zc.Crc32cCodec(), zn.CRC32(), zn.Adler32(), zn.Fletcher32()])
        return [*shuffled, *[codec for codec in (one, check) if codec is not None]]

    def array_codecs(self):
        """Codecs of version 3 from arrays to arrays."""
        rng, codecs = self.rng, []
        if len(self.shape) > 1 and rng.random() < 0.3:
            codecs.append(zc.TransposeCodec(order=tuple(rng.sample(range(len(self.shape)), len(self.shape)))))
        if self.name in VARIABLE or rng.random() < 0.7:
            return codecs
        kind, dtype = np.dtype(self.name).kind, np.dtype(self.name).str
        fitting = []
        if kind in "iu":
            fitting = [zn.Delta(dtype=dtype)]
        elif kind == "f" and dtype[1:] != "f2":
            fitting = [
                zn.BitRound(keepbits=6),
                zn.Quantize(digits=2, dtype=dtype),
                zn.FixedScaleOffset(offset=1, scale=8, dtype=dtype, astype="<i4"),
            ]
        elif kind == "b":
            fitting = [zn.PackBits()]
        return codecs + ([rng.choice(fitting)] if fitting else [])

    def pipeline(self):
        """Chunks and codecs of version 3, of shards as well."""
        rng, filters = self.rng, self.array_codecs()
        # zarr-python 3.1.6 gives what a filter of numcodecs has made of big-endian numbers back in the wrong byte order.
        swaps = self.big and all(isinstance(codec, zc.TransposeCodec) for codec in filters)
        endian = "big" if swaps else "little"
        serializer = {"text": zc.VLenUTF8Codec(), "bytes": zc.VLenBytesCodec()}.get(self.name)
        if serializer is None:
            serializer = zc.BytesCodec(endian=None if np.dtype(self.name).itemsize == 1 or self.name[0] in "SV" else endian)
        compressors = self.bytes_codecs()
        if not self.shape or rng.random() > 0.4:
            return {"filters": filters, "serializer": serializer, "compressors": compressors}
        shape, inner = self.chunks, [*filters, serializer, *compressors]
        for _ in range(rng.choice([1, 1, 2])):
            inner = [
                zc.ShardingCodec(
                    chunk_shape=shape,
                    codecs=inner,
                    index_codecs=rng.choice([[zc.BytesCodec(), zc.Crc32cCodec()], [zc.BytesCodec()], [zc.BytesCodec(endian="big")]]),
                    index_location=rng.choice(["start", "end", "end"]),
                )
            ]
            shape = tuple(n * rng.randint(1, 3) for n in shape)
        return {"chunks": shape, "filters": [], "serializer": inner[0], "compressors": []}

    def write(self, store):
        rng = self.rng
        fill = self.fill()
        named = rng.random() < 0.5
        names = [f"d{axis}" for axis in range(len(self.shape))] if named else None
        common = dict(store=store, name=str(self.number), shape=self.shape, chunks=self.chunks, fill_value=fill)
        common["config"] = {"write_empty_chunks": rng.random() < 0.2}
        common["dtype"] = {"text": VariableLengthUTF8(), "bytes": VariableLengthBytes()}.get(self.name, self.dtype)
        if self.version == 2:
            array = zarr.create_array(
                **common,
                **({} if self.name in VARIABLE else {"filters": self.filters()}),
                zarr_format=2,
                order=self.order,
                compressors=self.compressor(),
                chunk_key_encoding={"name": "v2", "separator": rng.choice("./")},
                attributes={"_ARRAY_DIMENSIONS": names} if named else {},
            )
        else:
            common["chunk_key_encoding"] = {"name": rng.choice(["default", "v2"]), "separator": rng.choice("./")}
            array = zarr.create_array(**common | self.pipeline(), zarr_format=3, dimension_names=names)
        data = self.elements(self.shape)
        if self.shape and 0 not in self.shape:
            # Chunks of nothing but the fill value are not written.
            gone = self.elements((1,))[0] if fill is None else fill
            share = rng.choice([0, 0.3, 0.3, 1])
            for index in np.ndindex(*[-(-n // c) for n, c in zip(self.shape, self.chunks)]):
                if rng.random() < share:
                    data[tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, self.chunks))] = gone
        if rng.random() < 0.95:
            array[...] = data
        return array

    def facts(self, array, values):
        """What zarr-python says of the array, and where its elements are."""
        metadata = array.metadata
        grid = [-(-n // c) for n, c in zip(array.shape, array.shards or array.chunks)]
        sample = [self.rng.randrange(max(1, n)) for n in grid]
        facts = {
            "path": f"cases/{self.number}",
            "version": self.version,
            "name": self.name,
            "shape": list(array.shape),
            "chunks": list(array.chunks),
            "shards": None if array.shards is None else list(array.shards),
            "fill": scalar(metadata.fill_value),
            "sample": [sample, metadata.encode_chunk_key(tuple(sample))],
            "codecs": codec_names(metadata),
        }
        elements = array[...]
        if self.name in VARIABLE or self.name[0] in "SUV":
            flat = np.asarray(elements, dtype=object if self.name in VARIABLE else None).reshape(-1).tolist()
            facts["elements"] = [item if isinstance(item, str) else list(item) for item in flat]
            return facts
        elements = np.asarray(elements)
        if self.name[0] == "M":
            elements = elements.astype("M8[ns]").view("i8")
        elif self.name[0] == "m":
            elements = elements.astype(self.name).view("i8")
        elif self.name == "f2":
            elements = elements.astype("f4")
        stored = np.ascontiguousarray(elements.astype(elements.dtype.newbyteorder("<"))).tobytes()
        facts["offset"], facts["length"] = values.tell(), len(stored)
        values.write(stored)
        return facts


def scalar(value):
    """A fill value in JSON, exactly: integers as text, floats as the bits of a float64, bytes as lists."""
    if value is None:
        return None
    if isinstance(value, (np.datetime64, np.timedelta64)):
        converted = value.astype("M8[ns]") if isinstance(value, np.datetime64) else value
        return {"int": str(converted.view("i8"))}
    if isinstance(value, (bool, np.bool_)):
        return {"bool": bool(value)}
    if isinstance(value, (int, np.integer)):
        return {"int": str(int(value))}
    if isinstance(value, (float, np.floating)):
        return {"float": np.float64(value).tobytes().hex()}
    if isinstance(value, str):
        return {"text": str(value)}
    return {"bytes": list(value.tobytes() if isinstance(value, np.void) else bytes(value))}


def codec_names(metadata):
    if metadata.zarr_format == 2:
        codecs = [*(metadata.filters or ()), *([metadata.compressor] if metadata.compressor else [])]
        return [codec.codec_id for codec in codecs]
    return [codec.to_dict()["name"] for codec in metadata.codecs]


def main(folder, count, seed):
    rng = random.Random(seed)
    store = zarr.storage.LocalStore(os.path.join(folder, "cases"))
    manifest, refused = [], {}
    with open(os.path.join(folder, "values.bin"), "wb") as values:
        while len(manifest) < count:
            case = Case(rng, len(manifest))
            try:
                array = case.write(store)
                manifest.append(case.facts(array, values))
            except Exception as error:  # What zarr-python cannot write or read back is no case.
                text = f"{case.name} v{case.version}: {type(error).__name__}: {str(error)[:120]}"
                refused[text] = refused.get(text, 0) + 1
                shutil.rmtree(os.path.join(folder, "cases", str(case.number)), ignore_errors=True)
    with open(os.path.join(folder, "manifest.json"), "w") as file:
        json.dump({"cases": manifest, "refused": refused}, file)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
