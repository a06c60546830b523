"""Writes Zarr arrays of complex numbers and structures with zarr-python, with what it reads of them.

    python3 typed.py FOLDER COUNT SEED

FOLDER gets `cases/NUMBER`, an array each; `values.bin` and `manifest.json` as `matrix.py` writes them, with an entry for each field. Complex
numbers have their parts as a last axis.

zarr-python 3.1.6 writes lists in structures as raw bytes. The script then describes them in `.zarray` as version 2 of the format and numpy do, and
padding likewise. Of structures of version 3, it describes some as the type `struct` does, with a byte order and fill values by field.
"""

import base64
import json
import math
import os
import random
import shutil
import sys

import numpy as np
import zarr
from matrix import Case, codec_names

LEAVES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
LEAVES += ["S1", "S5", "U1", "U4", "V3", "M8[s]", "M8[ns]", "M8[10ms]", "m8[s]", "m8[100us]"]
NAMES = ["a", "b", "x y", "Köln", "constructor", "__proto__", "c", "0", "zarr", "length"]
SPECIAL = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1.5]


class TypedCase(Case):
    """An array of complex numbers or structures."""

    def __init__(self, rng, number):
        super().__init__(rng, number)
        self.is_struct = rng.random() < 0.65
        self.true = self.struct(0) if self.is_struct else np.dtype(rng.choice(["c8", "c16"]))
        self.name = f"V{self.true.itemsize}" if self.is_struct else self.true.str[1:]
        # What zarr-python writes as the type `structured` of version 3 has no byte order.
        self.is_named = self.version == 3 and self.is_struct and rng.random() < 0.5
        self.order3 = ">" if self.is_named and rng.random() < 0.5 else "<"
        if self.version == 3 and self.is_struct:
            self.true = with_order(self.true, self.order3)

    def struct(self, depth):
        rng, fields = self.rng, []
        for name in rng.sample(NAMES, rng.choice([1, 2, 3, 3, 5])):
            if depth < 2 and rng.random() < 0.25:
                kind = self.struct(depth + 1)
            else:
                kind = np.dtype(rng.choice(LEAVES))
                if self.version == 2 and rng.random() < 0.4:
                    kind = kind.newbyteorder(">")
            shape = tuple(rng.randint(1, 3) for _ in range(rng.choice([1, 2]))) if self.version == 2 and rng.random() < 0.3 else ()
            fields.append((name, kind, shape))
            if self.version == 2 and rng.random() < 0.1:
                fields.append((f"padding {len(fields)}", np.dtype(f"V{rng.randint(1, 7)}")))
        return np.dtype(fields)

    @property
    def dtype(self):
        return flat(self.true) if self.is_struct else super().dtype

    def elements(self, shape):
        count = math.prod(shape)
        if not self.is_struct:
            return self.leaf(self.name, count).reshape(shape)
        data = np.zeros(count, self.true)
        self.assign(data)
        return data.view(flat(self.true)).reshape(shape)

    def assign(self, data):
        for name in data.dtype.names:
            field = data[name]
            if field.dtype.names:
                self.assign(field)
            else:
                field[...] = self.leaf(field.dtype.str.lstrip("<>|").replace("b1", "?"), field.size).reshape(field.shape)

    def leaf(self, name, count):
        if name[0] == "c":
            return self.leaf(f"f{int(name[1:]) // 2}", 2 * count).view(name)
        kept, self.name = self.name, name
        values = Case.elements(self, (count,))
        self.name = kept
        return values

    def fill(self):
        if self.version == 2 and self.rng.random() < 0.2:
            return None
        if not self.is_struct:
            return self.true.type(complex(self.rng.choice(SPECIAL), self.rng.choice(SPECIAL)))
        if self.rng.random() < 0.3:
            return np.zeros(1, self.dtype)[0]
        return self.elements((1,))[0]

    def describe(self, folder, array):
        """Completes the metadata of structures."""
        if not self.is_struct:
            return
        path = os.path.join(folder, "cases", str(self.number), "zarr.json" if self.version == 3 else ".zarray")
        with open(path) as file:
            metadata = json.load(file)
        if self.version == 2:
            metadata["dtype"] = described(self.true)
        elif self.is_named:
            metadata["data_type"] = as_struct(metadata["data_type"])
            metadata["fill_value"] = fill_by_field(array.metadata.fill_value)
            set_order(metadata["codecs"], "big" if self.order3 == ">" else "little")
        with open(path, "w") as file:
            json.dump(metadata, file)

    def entries(self, array, values):
        """What zarr-python says of the array, or of each field."""
        metadata = array.metadata
        common = {
            "path": f"cases/{self.number}",
            "version": self.version,
            "chunks": list(array.chunks),
            "shards": None if array.shards is None else list(array.shards),
            "codecs": codec_names(metadata),
        }
        elements = np.array(array[...], order="C")
        if not self.is_struct:
            return [{**common, "field": "", **stored(elements, values)}]
        elements = elements.view(self.true)
        return [{**common, "field": path, **stored(field, values)} for path, field in leaves(elements)]


def flat(dtype):
    """The type as zarr-python takes it: lists are raw bytes."""
    if dtype.names is None:
        return dtype if dtype.subdtype is None else np.dtype(f"V{dtype.itemsize}")
    return np.dtype([(name, flat(dtype[name])) for name in dtype.names])


def with_order(dtype, order):
    return np.dtype([(n, with_order(dtype[n], order)) for n in dtype.names]) if dtype.names else dtype.newbyteorder(order)


def described(dtype):
    """A structured type in `.zarray`."""
    fields = []
    for name in dtype.names:
        base, shape = dtype[name].subdtype or (dtype[name], ())
        kind = described(base) if base.names else base.str
        fields.append(["" if name.startswith("padding") else name, kind, *([list(shape)] if shape else [])])
    return fields


def as_struct(kind):
    if not isinstance(kind, dict) or kind["name"] != "structured":
        return kind
    fields = [{"name": name, "data_type": as_struct(inner)} for name, inner in kind["configuration"]["fields"]]
    return {"name": "struct", "configuration": {"fields": fields}}


def fill_by_field(value):
    dtype = value.dtype
    if dtype.names:
        return {name: fill_by_field(value[name]) for name in dtype.names}
    if dtype.kind == "c":
        return [number(value.real), number(value.imag)]
    if dtype.kind in "Mm":
        return int(np.asarray(value).astype(dtype.newbyteorder("<")).view("i8"))
    if dtype.kind in "SV":
        return base64.b64encode(value.tobytes() if dtype.kind == "V" else bytes(value)).decode()
    if dtype.kind == "f":
        return number(value)
    return str(value) if dtype.kind == "U" else value.item()


def number(value):
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float(value)


def set_order(codecs, order):
    for codec in codecs:
        if codec["name"] == "bytes":
            codec["configuration"] = {"endian": order}
        elif codec["name"] == "sharding_indexed":
            set_order(codec["configuration"]["codecs"], order)


def leaves(data, path=""):
    for name in data.dtype.names:
        if name.startswith("padding"):
            continue
        at = f"{path}/{name}" if path else name
        if data[name].dtype.names:
            yield from leaves(data[name], at)
        else:
            yield at, data[name]


def stored(elements, values):
    """Elements as hyperslab reads them, and where they are."""
    dtype, shape = elements.dtype, list(elements.shape)
    name = dtype.str.lstrip("<>|").replace("b1", "?")
    if dtype.kind in "SUV":
        flat = elements.reshape(-1).tolist()
        if dtype.kind == "V":
            flat = [item.tobytes() for item in elements.reshape(-1)]
        return {"name": dtype.kind, "shape": shape, "elements": [e if isinstance(e, str) else list(e) for e in flat]}
    if dtype.kind == "c":
        elements = np.stack([elements.real, elements.imag], -1)
        name = f"f{dtype.itemsize // 2}"
    elif dtype.kind == "M":
        elements = elements.astype("M8[ns]").view("i8")
    elif dtype.kind == "m":
        elements = np.array(elements.astype(dtype.newbyteorder("<")), order="C").view("i8")
    elif name == "f2":
        elements = elements.astype("f4")
    raw = np.ascontiguousarray(elements.astype(elements.dtype.newbyteorder("<"))).tobytes()
    at = values.tell()
    values.write(raw)
    shape = list(elements.shape)
    return {"name": name, "shape": shape, "offset": at, "length": len(raw)}


def main(folder, count, seed):
    rng = random.Random(seed)
    store = zarr.storage.LocalStore(os.path.join(folder, "cases"))
    manifest, refused, number = [], {}, 0
    with open(os.path.join(folder, "values.bin"), "wb") as values:
        while number < count:
            case = TypedCase(rng, number)
            try:
                array = case.write(store)
                manifest.extend(case.entries(array, values))
                case.describe(folder, array)
                number += 1
            except Exception as error:  # What zarr-python cannot write or read back is no case.
                text = f"{case.name} v{case.version}: {type(error).__name__}: {str(error)[:200]}"
                refused[text] = refused.get(text, 0) + 1
                shutil.rmtree(os.path.join(folder, "cases", str(number)), ignore_errors=True)
    with open(os.path.join(folder, "manifest.json"), "w") as file:
        json.dump({"cases": manifest, "refused": refused}, file)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
