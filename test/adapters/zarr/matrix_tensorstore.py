"""Writes Zarr arrays of every kind with tensorstore, and reads others, with what it reads of them.

    python3 matrix_tensorstore.py FOLDER COUNT SEED [PATH ...]

FOLDER gets what matrix.py writes: `cases/NUMBER`, `values.bin` and `manifest.json`; there the arrays at each PATH follow.
"""

import json
import math
import os
import random
import sys

import numpy as np
import tensorstore as ts

NAMES = {
    "?": "bool",
    **{f"{kind}{size}": f"{word}{8 * size}" for kind, word in (("i", "int"), ("u", "uint")) for size in (1, 2, 4, 8)},
    **{f"f{size}": f"float{8 * size}" for size in (2, 4, 8)},
    "bf2": "bfloat16",
}
SPECIAL = [math.nan, math.inf, -math.inf, -0.0]
ONE = {"limit": 1}
ONE = {"limit": 1}
CONTEXT = ts.Context({"data_copy_concurrency": ONE, "file_io_concurrency": ONE, "file_io_sync": False})


def chunk_count(shape, chunks):
    return [-(-n // c) for n, c in zip(shape, chunks)]


class Case:
    """One array: what it is made of, chosen at random."""

    def __init__(self, rng, number):
        self.rng = rng
        self.number = number
        self.version = rng.choice([2, 3])
        self.name = rng.choice(list(NAMES))
        rank = rng.choices([0, 1, 2, 3, 4], [1, 5, 6, 5, 2])[0]
        most = [1, 60, 20, 10, 6][rank]
        self.shape = [0 if rng.random() < 0.02 else rng.randint(1, most) for _ in range(rank)]
        self.chunks = [rng.randint(1, max(1, n + (n > 3 and rng.random() < 0.1))) for n in self.shape]
        self.np = np.random.default_rng(rng.getrandbits(32))
        self.fill = self.pick_fill()

    def elements(self):
        """Elements of which some are at the ends of their type, as float64 or integers."""
        n, name = math.prod(self.shape), self.name
        if name == "?":
            data = self.np.random(n) < 0.5
        elif name[0] in "iu":
            info = np.iinfo(name)
            low, high = (max(info.min, -100), 100) if self.rng.random() < 0.5 else (info.min, info.max)
            data = self.np.integers(low, high, n, name, endpoint=True)
        else:
            data = self.np.standard_normal(n) * 100
            for special in SPECIAL:
                data[self.np.random(n) < 0.01] = special
        return data.reshape(self.shape).astype(ts.dtype(NAMES[name]).numpy_dtype)

    def pick_fill(self):
        """A fill value as metadata have it."""
        rng, name = self.rng, self.name
        if self.version == 2 and rng.random() < 0.25:
            return None
        if name == "?":
            return rng.random() < 0.5
        if name[0] in "iu":
            info = np.iinfo(name)
            return int(rng.choice([0, 1, info.min, info.max, rng.randint(max(info.min, -100), 100)]))
        return rng.choice([0.0, 1.5, -7.0, "NaN", "Infinity", "-Infinity"])

    def fill_element(self):
        return np.array(0 if self.fill is None else float(self.fill) if isinstance(self.fill, str) else self.fill)

    def compressors(self):
        """Codecs of version 3 from bytes to bytes."""
        rng = self.rng
        blosc = {"cname": rng.choice(["lz4", "lz4hc", "blosclz", "zlib", "zstd"]), "clevel": rng.choice([1, 5])}
        blosc["shuffle"] = rng.choice(["noshuffle", "shuffle", "bitshuffle"])
        one = rng.choice([[], [("blosc", blosc)], [("gzip", {"level": 5})], [("zstd", {"level": 1})]])
        check = [("crc32c", {})] if rng.random() < 0.25 else []
        return [{"name": name, "configuration": configuration} for name, configuration in one + check]

    def transposed(self):
        rank = len(self.shape)
        if rank < 2 or self.rng.random() > 0.35:
            return []
        return [{"name": "transpose", "configuration": {"order": self.rng.sample(range(rank), rank)}}]

    def codecs(self):
        """Shapes of the objects and codecs of version 3, of shards as well."""
        rng = self.rng
        little = {"name": "bytes", "configuration": {"endian": "little"}}
        endian = rng.choice(["little", "big"])
        codecs = [*self.transposed(), {"name": "bytes", "configuration": {"endian": endian}}, *self.compressors()]
        if not self.shape or rng.random() > 0.4:
            return self.chunks, codecs
        shape = self.chunks
        for _ in range(rng.choice([1, 1, 2])):
            configuration = {
                "chunk_shape": shape,
                "codecs": codecs,
                "index_codecs": [little, {"name": "crc32c"}] if rng.random() < 0.7 else [little],
                "index_location": rng.choice(["start", "end", "end"]),
            }
            codecs = [{"name": "sharding_indexed", "configuration": configuration}]
            shape = [n * rng.randint(1, 3) for n in shape]
        return shape, codecs

    def metadata(self):
        rng = self.rng
        if self.version == 3:
            shape, codecs = self.codecs()
            names = [f"d{axis}" for axis in range(len(self.shape))]
            encoding = {"name": rng.choice(["default", "v2"]), "configuration": {"separator": rng.choice("./")}}
            return {
                "shape": self.shape,
                "data_type": NAMES[self.name],
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
                "chunk_key_encoding": encoding,
                "codecs": codecs,
                "fill_value": self.fill,
                **({"dimension_names": names} if rng.random() < 0.5 else {}),
            }
        size = 1 if self.name == "?" else int(self.name[-1])
        dtype = {"?": "|b1", "bf2": "bfloat16"}.get(self.name) or ("|" if size == 1 else rng.choice("<>")) + self.name
        blosc = {"id": "blosc", "cname": rng.choice(["lz4", "lz4hc", "blosclz", "zlib", "zstd"]), "clevel": 5, "shuffle": rng.choice([-1, 0, 1, 2])}
        others = [{"id": name, "level": 1} for name in ("zlib", "gzip", "zstd")]
        return {
            "shape": self.shape,
            "dtype": dtype,
            "chunks": self.chunks,
            "order": rng.choice("CF") if len(self.shape) > 1 else "C",
            "compressor": rng.choice([None, blosc, blosc, *others]),
            "fill_value": self.fill,
            "dimension_separator": rng.choice("./"),
        }

    def write(self, path):
        rng = self.rng
        metadata = self.metadata()
        driver = {2: "zarr", 3: "zarr3"}[self.version]
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": path}, "metadata": metadata}
        spec["store_data_equal_to_fill_value"] = rng.random() < 0.2
        array = ts.open(spec, create=True, context=CONTEXT).result()
        data, share = self.elements(), rng.choice([0, 0.3, 0.3, 1])
        for index in np.ndindex(*chunk_count(self.shape, self.chunks)):
            if rng.random() < share:
                data[tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, self.chunks))] = self.fill_element()
        if rng.random() < 0.95:
            # Not all of it: chunks that are written in part are full of the fill value elsewhere.
            part = tuple(slice(rng.randint(0, n // 3), n) if rng.random() < 0.2 else slice(None) for n in self.shape)
            array[part].write(data[part]).result()
        return array, metadata


def codec_names(codecs):
    return [name for codec in codecs for name in [codec["name"], *codec_names(codec.get("configuration", {}).get("codecs", []))]]


def facts(array, path, version, values, **others):
    """What tensorstore says of an array, and where its elements are."""
    elements = array.read().result()
    name = next(key for key, word in NAMES.items() if word == array.dtype.name)
    if name in ("f2", "bf2"):
        elements = elements.astype("f4")
    stored = np.ascontiguousarray(elements.astype(elements.dtype.newbyteorder("<"))).tobytes()
    offset = values.tell()
    values.write(stored)
    return {"path": path, "version": version, "name": name, "shape": list(array.shape), "offset": offset, "length": len(stored), **others}


def main(folder, count, seed, *paths):
    rng = random.Random(seed)
    manifest = []
    with open(os.path.join(folder, "values.bin"), "wb") as values:
        for number in range(count):
            case = Case(rng, number)
            path = f"cases/{number}"
            array, metadata = case.write(os.path.join(folder, path))
            compressor = metadata.get("compressor")
            codecs = codec_names(metadata["codecs"]) if case.version == 3 else [compressor["id"]] if compressor else []
            manifest.append(facts(array, path, case.version, values, chunks=case.chunks, codecs=codecs))
        for path in paths:
            version = 3 if os.path.exists(os.path.join(path, "zarr.json")) else 2
            spec = {"driver": {2: "zarr", 3: "zarr3"}[version], "kvstore": {"driver": "file", "path": path}}
            try:
                array = ts.open(spec, read=True, context=CONTEXT).result()
            except ValueError as error:
                # It has no times and texts.
                if "Unsupported zarr dtype" in str(error):
                    continue
                raise
            manifest.append(facts(array, path, version, values, chunks=list(array.chunk_layout.read_chunk.shape or []), codecs=[]))
    with open(os.path.join(folder, "manifest.json"), "w") as file:
        json.dump({"cases": manifest}, file)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
