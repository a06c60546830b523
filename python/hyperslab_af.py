"""Reads `.af` containers: many n-dimensional arrays in one file, with the layers that lie beside it.

One file to copy; needs numpy. LZ4 is decoded by the package `lz4` or `numcodecs` where one is installed, and slowly,
in plain Python, where none is; zstd by `compression.zstd` (Python 3.14) or the package `zstandard` or `numcodecs`.

    import hyperslab_af
    with hyperslab_af.open("climate.af") as file:
        print(list(file), file.attrs)
        january = file["tas"][0:31, ::-1]       # a numpy array; only the blocks it needs are read

With xarray, values decoded by the CF conventions:

    import xarray as xr
    ds = xr.open_dataset("climate.af", engine=hyperslab_af.AfBackend)  # engine="af" where this package is installed

Containers are read as they are at the moment they are opened. Nothing is written.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import math
import os
import re
import struct
from collections.abc import Mapping

import numpy as np

__all__ = ["AfError", "Array", "Container", "open"]


class AfError(Exception):
    """A file is damaged, or holds what cannot be read here. The message names the file."""


def open(path, *, layer=None):  # noqa: A001 - as gzip.open and others have it
    """Opens a container.

    path: of its base, `name.af`; the sidecars `name.1.af`, … are found beside it
    layer: leaves out the layers above this number
    Raises FileNotFoundError, or AfError for a file that is damaged.
    """
    return Container(os.fspath(path), layer)


class Container(Mapping):
    """The arrays of a container by name, in the order they were defined, and its attributes, `attrs`."""

    def __init__(self, path, layer=None):
        if not path.endswith(".af"):
            raise AfError(f"{path}: the name of a container ends in .af")
        self.path = path
        self._files = _open_files(path, layer)
        self._blocks = _BlockCache()
        try:
            arrays = {name: Array(self, name, entries) for name, entries in _arrays_in(_live(self._files)).items()}
        except BaseException:
            self.close()
            raise
        own = arrays.pop(_FILE_ARRAY, None)
        self.attrs = {} if own is None else own.attrs
        self._arrays = arrays

    def __getitem__(self, name):
        return self._arrays[name]

    def __iter__(self):
        return iter(self._arrays)

    def __len__(self):
        return len(self._arrays)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for file in self._files:
            file.handle.close()

    def __repr__(self):
        return "\n".join([f"<af container {self.path!r}>", *(f"  {array!r}" for array in self._arrays.values())])


class Array:
    """An array: `dtype`, `shape`, `dims`, `chunks`, `attrs`, `fill_value`; indexed by integers, slices and `...`.

    Elements that nobody wrote are `fill_value`, or 0 where that is None. Text is an object array of str, binary one of
    bytes; times are datetime64[ns].
    """

    def __init__(self, container, name, entries):
        meta = entries[0].meta
        self.name = name
        self.shape = meta.shape
        self.dims = meta.dims
        self.chunks = tuple(max(1, length) for length in meta.chunk_shape)
        self.attrs = _attributes_of(entries)
        self._kind = meta.dtype
        self._container = container
        self._entries = entries
        self._rows = None
        if len(self.chunks) != len(self.shape):
            raise AfError(f"{entries[0].layer.path}: '{name}' has chunks of {len(self.chunks)} axes and {len(self.shape)} axes")
        self.dtype = _DTYPES.get(meta.dtype)
        self.fill_value = None if self.dtype is None else _fill_as(meta.dtype, self.dtype, meta.fill)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    def __repr__(self):
        dims = ", ".join(f"{name}: {length}" for name, length in zip(self.dims, self.shape))
        return f"{self.name} ({dims}) {self._kind}"

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __array__(self, dtype=None, copy=None):
        values = self[...]
        return values if dtype is None else values.astype(dtype)

    def __getitem__(self, key):
        """The elements that integers, slices and `...` name, as a numpy array.

        Raises IndexError outside the array, AfError where a block is damaged or its codec is not installed.
        """
        if self.dtype is None:
            raise AfError(f"{self._entries[0].layer.path}: '{self.name}' is of type {self._kind}, which has no data")
        ranges, dropped = _ranges(key, self.shape)
        out = np.empty([len(each) for each in ranges], self.dtype)
        out[...] = self._missing()
        if out.size > 0:
            self._read(ranges, out)
        # Ranges are read forward; what was asked for backward is turned here.
        back = tuple(0 if axis in dropped else slice(None, None, each.turn) for axis, each in enumerate(ranges))
        return out[back]

    def _missing(self):
        if self.fill_value is not None:
            return self.fill_value
        return {"string": "", "binary": b""}.get(self._kind, np.zeros((), self.dtype))

    def _read(self, ranges, out):
        counts = [-(-length // chunk) for length, chunk in zip(self.shape, self.chunks)]
        parts = {}
        touched = [each.chunks(chunk) for each, chunk in zip(ranges, self.chunks)]
        for index in np.ndindex(*map(len, touched)):
            pieces = [touched[axis][i] for axis, i in enumerate(index)]
            number = 0
            for piece, count in zip(pieces, counts):
                number = number * count + piece[0]
            found = self._locate(number, counts)
            if found is not None:
                layer, block, offset, size = found
                parts.setdefault((id(layer), block), (layer, block, []))[2].append((pieces, offset, size))
        for layer, block, chunks in parts.values():
            data = self._container._blocks.get(layer, block)
            for pieces, offset, size in chunks:
                if offset + size > len(data):
                    raise AfError(f"{layer.path}: a chunk of '{self.name}' ends at byte {offset + size} of a block of {len(data)}")
                shape = [min(c, n - p[0] * c) for p, c, n in zip(pieces, self.chunks, self.shape)]
                values = self._decode(layer, data[offset : offset + size], math.prod(shape)).reshape(shape)
                out[tuple(p[2] for p in pieces)] = values[tuple(p[1] for p in pieces)]

    def _locate(self, number, counts):
        if self._rows is None:
            self._rows = [(entry.layer, entry.meta.chunks, _numbers(entry, counts)) for entry in self._entries]
        for layer, table, rows in self._rows:
            row = rows.get(number)
            if row is not None:
                return layer, int(table["block"][row]), int(table["offset"][row]), int(table["size"][row])
        return None

    def _decode(self, layer, data, count):
        if self._kind in ("string", "binary"):
            return self._decode_variable(layer, data, count)
        if len(data) != count * self.dtype.itemsize:
            raise AfError(f"{layer.path}: a chunk of {count} {self._kind} of '{self.name}' has {len(data)} bytes")
        return np.frombuffer(data, self.dtype, count)

    def _decode_variable(self, layer, data, count):
        head = 4 * (count + 1)
        if len(data) >= head:
            offsets = np.frombuffer(data, "<u4", count + 1).astype(np.int64)
            if offsets[0] == 0 and (np.diff(offsets) >= 0).all() and head + offsets[-1] == len(data):
                texts = bytes(data[head:])
                values = np.empty(count, object)
                for i in range(count):
                    value = texts[offsets[i] : offsets[i + 1]]
                    try:
                        values[i] = value.decode() if self._kind == "string" else value
                    except UnicodeDecodeError as error:
                        raise AfError(f"{layer.path}: a text of '{self.name}' is not UTF-8") from error
                return values
        raise AfError(f"{layer.path}: a chunk of {count} {self._kind} of '{self.name}' has offsets that do not fit its bytes")


# Selections


class _Range:
    """Positions along an axis, ascending; `turn` is -1 where they were asked for the other way round."""

    def __init__(self, positions):
        self.turn = -1 if positions.step < 0 else 1
        self.positions = positions[:: self.turn]

    def __len__(self):
        return len(self.positions)

    def chunks(self, length):
        """Of each chunk with such positions: its index, their places in it, and their places in the range."""
        start, step, count = self.positions.start, self.positions.step, len(self.positions)
        pieces, at = [], 0
        while at < count:
            chunk = (start + at * step) // length
            end = min(count, -(-((chunk + 1) * length - start) // step))
            first = start + at * step - chunk * length
            pieces.append((chunk, slice(first, first + (end - at - 1) * step + 1, step), slice(at, end)))
            at = end
        return pieces


def _ranges(key, shape):
    """The range along each axis, and the axes that an integer takes away."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if sum(each is Ellipsis for each in keys) > 1:
        raise IndexError("'...' may be there once")
    given = sum(each is not Ellipsis for each in keys)
    if given > len(shape):
        raise IndexError(f"{given} indices for {len(shape)} axes")
    at = next((i for i, each in enumerate(keys) if each is Ellipsis), len(keys))
    keys[at : at + 1] = [slice(None)] * (len(shape) - given)
    ranges, dropped = [], set()
    for axis, (each, length) in enumerate(zip(keys, shape)):
        if isinstance(each, slice):
            ranges.append(_Range(range(*each.indices(length))))
            continue
        try:
            position = each.__index__()
        except AttributeError:
            raise IndexError(f"axis {axis}: an index is an integer, a slice or '...', got {each!r}") from None
        if isinstance(each, (bool, np.bool_)) or not -length <= position < length:
            raise IndexError(f"axis {axis}: {each!r} is outside of 0 to {length - 1}")
        position %= length
        ranges.append(_Range(range(position, position + 1)))
        dropped.add(axis)
    return ranges, dropped


def _numbers(entry, counts):
    """Rows of the chunk table by chunk number; of several for one chunk the first counts, those outside of the grid none."""
    coords = entry.meta.chunks["coords"]
    inside = (coords < np.array(counts, np.uint32)).all(axis=1) if counts else np.ones(len(coords), bool)
    rows = np.flatnonzero(inside)[::-1]
    numbers = [0] * len(rows)
    if counts:
        numbers = np.ravel_multi_index(tuple(coords[rows].astype(np.intp).T), counts).tolist() if len(rows) else []
    return dict(zip(numbers, rows.tolist()))


# Layers


class _Layer:
    """One `.af` file: its arrays, dictionaries of attributes, blocks, and what tells it from others."""

    def __init__(self, path, number):
        self.path = path
        self.number = number
        self.handle = builtins.open(path, "rb")
        try:
            self._parse(os.fstat(self.handle.fileno()).st_size)
        except (struct.error, IndexError, ValueError, RecursionError) as error:
            self.handle.close()
            raise AfError(f"{path}: the footer is damaged: {error}") from error
        except BaseException:
            self.handle.close()
            raise

    def _parse(self, size):
        if size < 12:
            raise AfError(f"{self.path}: a file of {size} bytes is no container")
        length, magic = struct.unpack("<Q4s", self.read(size - 12, 12))
        if magic != b"ARRF" or length > size - 12:
            raise AfError(f"{self.path}: not a container, or cut off: it ends in {magic!r}")
        data_bytes = size - 12 - length
        payload = self.read(data_bytes, length)
        footer = _Footer(payload, self.path)
        self.version = footer.version
        if self.version == 6:
            _check_version_6(footer)
        self.arrays, self.keys, self.values, self.blocks = footer.arrays, footer.keys, footer.values, {}
        for block in footer.blocks:
            if block.offset + block.stored > data_bytes:
                raise AfError(f"{self.path}: block {block.id} ends at byte {block.offset + block.stored} of {data_bytes}")
            self.blocks.setdefault(block.id, block)
        codecs = [block.codec for block in footer.blocks]
        crcs = self._checksums(footer.blocks, codecs, data_bytes)
        footer_crc = crc32c(payload)
        if crcs is not None:
            if crcs[0] != footer_crc:
                raise AfError(f"{self.path}: the footer has changed since it was written: its checksum is another")
            for block, crc in zip(footer.blocks, crcs[1:]):
                block.crc = crc
        self.resizes = _RESIZED in codecs
        identity = next((codec[len(_IDENTITY) :] for codec in codecs if codec and codec.startswith(_IDENTITY)), None)
        fields = dict(field.partition("=")[::2] for field in identity.split(" ")) if identity else {}
        self.id = fields.get("id") or f"{size}-{footer_crc:08x}"
        self.kind = fields.get("kind", "base" if self.number == 0 else "layer")
        self.base = fields.get("base")
        merged = (text.partition(":") for text in fields.get("merged", "").split(",") if text)
        self.merged = {(int(number), own) for number, _, own in merged}
        self.redefined = {int(text) for text in fields.get("redefined", "").split(",") if text}

    def _checksums(self, blocks, codecs, data_bytes):
        """CRC-32C of the footer and of each block, where the file has them right in front of the footer."""
        for count in (len(blocks) - 1, len(blocks), len(blocks) + 1):
            length = 4 * (2 + count)
            if count < 0 or length > data_bytes:
                continue
            words = np.frombuffer(self.read(data_bytes - length, length), "<u4")
            trivial = words[1] == 0xFFFFFFFF and not words[2:].any()
            if crc32c(words[1:].tobytes()) == words[0] and (_CHECKSUMS in codecs or not trivial):
                return words[1:].tolist()
        if _CHECKSUMS in codecs:
            raise AfError(f"{self.path}: the checksums themselves have changed since they were written")
        return None

    def read(self, offset, length):
        self.handle.seek(offset)
        data = self.handle.read(length)
        if len(data) != length:
            raise AfError(f"{self.path}: the file ends before byte {offset + length}")
        return data

    def decode(self, number):
        block = self.blocks.get(number)
        if block is None:
            raise AfError(f"{self.path}: there is no block {number}")
        stored = self.read(block.offset, block.stored)
        if block.crc is not None and crc32c(stored) != block.crc:
            raise AfError(f"{self.path}: block {number} has changed since it was written: its checksum is another")
        if block.codec is None:
            data = stored
        elif block.codec == "lz4":
            if self.version == 6 and int.from_bytes(stored[:4], "little") != block.decoded:
                raise AfError(f"{self.path}: block {number} begins with another size than the {block.decoded} bytes of its entry")
            data = _decode_lz4(self.path, stored, block.decoded)
        elif block.codec == "zstd":
            data = _decode_zstd(self.path, stored, block.decoded)
        else:
            raise AfError(f"{self.path}: block {number} is compressed by '{block.codec}', which is not known here")
        if len(data) != block.decoded:
            raise AfError(f"{self.path}: block {number} decodes to {len(data)} bytes instead of {block.decoded}")
        return memoryview(data)


_FILE_ARRAY = "__file__"
_IDENTITY = "hyperslab.layer.1 "
_CHECKSUMS = "hyperslab.crc32c.1"
_RESIZED = "hyperslab.resized.1"
_OPENINGS = 5


def _open_files(path, last):
    """The base and its sidecars by number, as they were together at one moment; the base is opened last."""
    for _ in range(_OPENINGS):
        # A file of version 6 has no layers, whatever lies beside it.
        if _is_version_6(path):
            base = _Layer(path, 0)
            if base.version == 6 and last in (None, 0):
                return [base]
            base.handle.close()
            if base.version == 6:
                raise AfError(f"{path}: there is no layer {last}; there are [0]")
        numbers = _sidecars(path)
        files = []
        try:
            chosen = [number for number in numbers if last is None or number <= last]
            for number in chosen:
                files.append(_Layer(f"{path[:-3]}.{number}.af", number))
            files.insert(0, _Layer(path, 0))
        except BaseException as error:
            for file in files:
                file.handle.close()
            if isinstance(error, FileNotFoundError) and os.path.exists(path):
                continue
            raise
        # A file of version 6 is no layer, whatever its name.
        beside = [file for file in files[1:] if 6 in (files[0].version, file.version)]
        for file in beside:
            file.handle.close()
        files = [file for file in files if file not in beside]
        if _sidecars(path) == numbers:
            top = max(file.number for file in _live(files))
            lost = next((file for file in beside if file.number < top), None)
            if lost is not None:
                for file in files:
                    file.handle.close()
                raise AfError(f"{path}: layer {lost.number} is lost: {lost.path}, of version 6 of the format, took its place")
            if last is not None and _live(files)[-1].number != last:
                for file in files:
                    file.handle.close()
                raise AfError(f"{path}: there is no layer {last}; there are {[each.number for each in _live(files)]}")
            return files
        for file in files:
            file.handle.close()
    raise AfError(f"{path}: other programs changed the container each time it was being opened")


def _is_version_6(path):
    """Whether a file ends like one of version 6. The version lies in front of the trailer of 12 bytes."""
    with builtins.open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < 84:
            return False
        file.seek(size - 84)
        end = file.read()
    return end[:4] == struct.pack("<I", 6) and end[-4:] == b"ARRF"


def _sidecars(path):
    folder, base = os.path.split(path)
    pattern = re.compile(re.escape(base[:-3]) + r"\.([1-9][0-9]*)\.af")
    found = (pattern.fullmatch(name) for name in os.listdir(folder or "."))
    return sorted(int(match[1]) for match in found if match)


def _live(files):
    """The layers that count: those on this base, or on any that has not taken them in."""
    base = files[0]

    def counts(layer):
        if layer.kind == "void":
            return False
        return layer.base == base.id if layer.base is not None else (layer.number, layer.id) not in base.merged

    return [base, *(layer for layer in files[1:] if counts(layer))]


class _Entry:
    """An array as one layer has it."""

    def __init__(self, layer, meta):
        self.layer = layer
        self.meta = meta


def _arrays_in(layers):
    """The arrays that exist, each with its entries in the layers since it was defined, newest first."""
    entries = {}
    for layer in layers:
        newest = {}
        for index, meta in enumerate(layer.arrays):
            newest.pop(meta.name, None)
            newest[meta.name] = (index, meta)
        for name, (index, meta) in newest.items():
            if meta.deleted or index in layer.redefined:
                entries.pop(name, None)
            if meta.deleted:
                continue
            entry, below = _Entry(layer, meta), entries.get(name)
            if below is not None and _same_array(below[0], entry):
                below.insert(0, entry)
            else:
                entries[name] = [entry]
    return entries


def _same_array(below, entry):
    """Layers copy the definition of an array; where it differs, it was defined anew, or resized where the layer says so."""
    if below.meta.definition != entry.meta.definition:
        return False
    if below.meta.shape == entry.meta.shape:
        return True
    return entry.layer.resizes or (below.layer.number == 0 and below.layer.resizes)


def _attributes_of(entries):
    """Attributes by name. Some programs copy pairs of indices from the layer below, without what these point to."""
    attributes = {}
    for key, value in entries[0].meta.pairs:
        for i, entry in enumerate(entries):
            below = entries[i + 1] if i + 1 < len(entries) else None
            layer = entry.layer
            here = (layer.keys[key], layer.values[value]) if key < len(layer.keys) and value < len(layer.values) else None
            if below is None or (key, value) not in below.meta.pair_set:
                break
            if here is None:
                continue
            # In range of both dictionaries: plain where both say the same, else the entry that set it is taken.
            if key < len(below.layer.keys) and below.layer.keys[key] == here[0]:
                break
            if len(entry.meta.chunks["block"]) == 0 and entry.meta.pair_set <= below.meta.pair_set:
                break
        if here is not None:
            attributes[here[0]] = here[1]
    return attributes


# The footer: an archive of rkyv 0.8, little-endian, with 64-bit relative pointers


class _Block:
    __slots__ = ("id", "offset", "stored", "decoded", "codec", "crc")


class _Meta:
    __slots__ = ("name", "dtype", "shape", "dims", "chunk_shape", "chunks", "fill", "deleted", "pairs", "pair_set")

    @property
    def definition(self):
        """All but the shape; floats by their bits."""
        lengths = tuple(max(1, length) for length in self.chunk_shape)
        return self.dtype, len(self.shape), lengths, self.dims, self.fill


_KINDS = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 string binary fixed_size_list list timestamp_ns"
).split()
_DTYPES = {kind: np.dtype(kind).newbyteorder("<") for kind in _KINDS[:11]}
_DTYPES.update(string=np.dtype(object), binary=np.dtype(object), timestamp_ns=np.dtype("<M8[ns]"))
#: Of attributes, tags 0 to 10 and, as lists, 13 to 23.
_NUMBERS = _KINDS[:11]
_MOST_DEPTH = 64


class _Footer:
    def __init__(self, payload, path):
        self.bytes = payload
        self.path = path
        root = len(payload) - 96
        # Asked first: in files of version 6 anything may lie where the others have their version.
        if len(payload) >= 72 and self.unpack("<I", len(payload) - 72)[0] == 6:
            self._read_version_6(len(payload) - 72)
            return
        if root < 0:
            raise AfError(f"{path}: a footer of {len(payload)} bytes is too short")
        (version,) = self.unpack("<I", root)
        if version not in (4, 5):
            (short,) = self.unpack("<I", len(payload) - 72)
            raise AfError(f"{path}: version {version} or {short} of the format is not known here")
        self.version = version
        self.blocks = [self.block(at) for at in self.items(root + 8, 56)]
        self.arrays = [self.array(at) for at in self.items(root + 24, 168)]
        self.keys = [self.string(at) for at in self.items(root + 40, 16)]
        self.values = [self.attribute(at) for at in self.items(root + 56, 24)]

    def _read_version_6(self, root):
        self.version = 6
        self.blocks = [self.block(at) for at in self.items(root + 8, 56)]
        self.keys = [self.string(at) for at in self.items(root + 24, 16)]
        self.values = [self.pooled(at) for at in self.items(root + 40, 24)]
        self.arrays = [self.array(at) for at in self.items(root + 56, 256)]

    def pooled(self, at):
        """An attribute whose strings are in the pool that keys share."""
        if self.bytes[at] == 11:
            return self.keys[self.unpack("<I", at + 4)[0]]
        if self.bytes[at] == 24:
            return [self.keys[index] for index in self.numbers(at + 8, "<u4").tolist()]
        return self.attribute(at)

    def unpack(self, form, at):
        if at < 0:
            raise ValueError(f"a pointer leads to {at}")
        return struct.unpack_from(form, self.bytes, at)

    def vector(self, at, size):
        offset, length = self.unpack("<qQ", at)
        start = at + offset
        if start < 0 or start + length * size > len(self.bytes):
            raise ValueError(f"a list of {length} entries at {start} leads out of it")
        return start, length

    def items(self, at, size):
        start, length = self.vector(at, size)
        return range(start, start + length * size, size)

    def numbers(self, at, form):
        dtype = np.dtype(form)
        start, length = self.vector(at, dtype.itemsize)
        return np.frombuffer(self.bytes, dtype, length, start)

    def string(self, at):
        raw = self.bytes[at : at + 16]
        if len(raw) == 16 and raw[0] & 0xC0 == 0x80:
            word, offset = self.unpack("<Qq", at)
            length, start = (word & 0x3F) | ((word & ~0xFF) >> 2), at + offset
            if start < 0 or start + length > len(self.bytes):
                raise ValueError(f"a text of {length} bytes at {start} leads out of it")
            raw = self.bytes[start : start + length]
        else:
            raw = raw.partition(b"\xff")[0]
        return raw.decode()

    def block(self, at):
        block = _Block()
        block.id, block.offset, block.stored, block.decoded, named = self.unpack("<I4xQQQB", at)
        block.codec = self.string(at + 40) if named else None
        block.crc = None
        return block

    def array(self, at):
        meta = _Meta()
        meta.name = self.string(at)
        meta.dtype = self.dtype(at + 16)
        meta.shape = tuple(self.numbers(at + 40, "<u4").tolist())
        meta.dims = tuple(self.string(each) for each in self.items(at + 56, 16))
        meta.chunk_shape = tuple(self.numbers(at + 72, "<u4").tolist())
        meta.chunks = self.chunks(at + 88, len(meta.shape), meta.name)
        meta.fill = self.fill(at + 104)
        if self.version == 6:
            meta.deleted, form, place = False, "<u4", at + 136
        else:
            meta.deleted, form, place = bool(self.bytes[at + 136]), ("<u2", "<u4", "<u8")[self.bytes[at + 144]], at + 152
        pairs = self.numbers(place, [("key", form), ("value", form)])
        meta.pairs = list(zip(pairs["key"].tolist(), pairs["value"].tolist()))
        meta.pair_set = frozenset(meta.pairs)
        return meta

    def dtype(self, at, depth=0):
        if depth > _MOST_DEPTH or at < 0:
            raise ValueError(f"a type is nested more than {_MOST_DEPTH} deep, or a pointer leads to {at}")
        kind = _KINDS[self.bytes[at]]
        if kind not in ("list", "fixed_size_list"):
            return kind
        (offset,) = self.unpack("<q", at + 8)
        size = self.unpack("<I", at + 16) if kind == "fixed_size_list" else ()
        return f"{kind}({', '.join(map(str, (self.dtype(at + 8 + offset, depth + 1), *size)))})"

    def chunks(self, at, rank, name):
        start, length = self.vector(at, 32)
        form = {"names": ["to", "rank", "block", "offset", "size"], "formats": ["<i8", "<u8", "<u4", "<u4", "<u4"], "itemsize": 32}
        table = np.frombuffer(self.bytes, np.dtype(form), length, start)
        if (table["rank"] != rank).any():
            raise ValueError(f"a chunk of '{name}' has another number of axes than the array")
        coords = np.zeros((length, rank), np.uint32)
        if length and rank:
            places = start + 32 * np.arange(length) + table["to"]
            if places.min() < 0 or places.max() + 4 * rank > len(self.bytes):
                raise ValueError(f"the position of a chunk of '{name}' leads out of it")
            own = np.frombuffer(self.bytes, np.uint8)
            coords = own[places[:, None] + np.arange(4 * rank)].copy().view("<u4")
        return {"coords": coords, "block": table["block"], "offset": table["offset"], "size": table["size"]}

    def fill(self, at):
        """A kind and a value; of floats the bits, as NaNs are not equal to each other."""
        if self.bytes[at] > 1:
            raise ValueError(f"a fill value is neither there nor not: {self.bytes[at]}")
        if not self.bytes[at]:
            return None
        kind = ("bool", "int", "uint", "bits", "string", "timestamp_ns")[self.bytes[at + 8]]
        if kind == "bool":
            return kind, bool(self.bytes[at + 9])
        if kind == "string":
            return kind, self.string(at + 16)
        return kind, self.unpack("<Q" if kind in ("uint", "bits") else "<q", at + 16)[0]

    def attribute(self, at):
        tag = self.bytes[at]
        if tag == 0 and self.bytes[at + 1] > 1:
            raise ValueError(f"an attribute is the boolean {self.bytes[at + 1]}")
        if tag <= 10:
            dtype = _DTYPES[_NUMBERS[tag]]
            value = np.frombuffer(self.bytes, dtype, 1, at + max(1, dtype.itemsize))[0]
            return bool(value) if tag == 0 else value
        if tag == 11:
            return self.string(at + 8)
        if tag == 12:
            return self.numbers(at + 8, "u1").tobytes()
        if tag <= 23:
            return self.numbers(at + 8, _DTYPES[_NUMBERS[tag - 13]])
        if tag == 24:
            return [self.string(each) for each in self.items(at + 8, 16)]
        if tag == 25:
            return [self.numbers(each, "u1").tobytes() for each in self.items(at + 8, 16)]
        raise ValueError(f"an attribute is of type {tag}")


def _check_version_6(footer):
    """Refuses what contradicts itself, where other programs would return wrong values."""
    end = 0
    for position, block in enumerate(sorted(footer.blocks, key=lambda block: block.offset)):
        if footer.blocks[position].id != position:
            raise ValueError(f"block {position} has the id {footer.blocks[position].id}")
        if block.stored == 0 or (block.codec is None and block.stored != block.decoded):
            raise ValueError(f"block {block.id} has {block.stored} bytes, and claims {block.decoded}")
        if block.offset < end:
            raise ValueError(f"block {block.id} at {block.offset} overlaps the one before it, which ends at {end}")
        end = block.offset + block.stored
    if len({meta.name for meta in footer.arrays}) != len(footer.arrays):
        raise ValueError("two arrays have one name")
    for meta in footer.arrays:
        keys = [footer.keys[key] for key, _ in meta.pairs]
        if len(set(keys)) != len(keys) or any(value >= len(footer.values) for _, value in meta.pairs):
            raise ValueError(f"an attribute of '{meta.name}' has two values or none")
        if len(meta.dims) != len(meta.shape) or len(meta.chunk_shape) != len(meta.shape) or 0 in meta.chunk_shape:
            raise ValueError(f"'{meta.name}' has shape {meta.shape}, chunks of {meta.chunk_shape} and dimensions {meta.dims}")
        if math.prod(meta.shape) > 2**53:
            raise ValueError(f"'{meta.name}' of shape {meta.shape} has more than 2^53 elements")
        _check_chunks(meta, footer.blocks)


def _check_chunks(meta, blocks):
    coords, sizes = meta.chunks["coords"].astype(np.int64), meta.chunks["size"].astype(np.int64)
    lengths = np.array(meta.chunk_shape, np.int64)
    shape = np.array(meta.shape, np.int64)
    if (coords >= -(-shape // lengths)).any() or (len(sizes) > 0 and 0 in meta.shape):
        raise ValueError(f"a chunk of '{meta.name}' lies outside its grid")
    if len(meta.shape) == 0:
        ascending = len(sizes) < 2
    else:
        differs = coords[1:] != coords[:-1]
        rows, axes = np.arange(len(differs)), differs.argmax(axis=1)
        ascending = bool((coords[1:][rows, axes] > coords[:-1][rows, axes]).all())
    if not ascending:
        raise ValueError(f"the chunks of '{meta.name}' are not sorted, or one is listed twice")
    for index, offset, size in zip(*(meta.chunks[name].tolist() for name in ("block", "offset", "size"))):
        if index >= len(blocks) or offset + size > blocks[index].decoded:
            raise ValueError(f"a chunk of '{meta.name}' lies outside block {index}")
    elements = np.minimum(lengths, shape - coords * lengths).prod(axis=1)
    dtype = _DTYPES.get(meta.dtype)
    if dtype is None:
        return
    wrong = sizes < 4 * (elements + 1) if dtype == object else sizes != elements * dtype.itemsize
    if wrong.any():
        raise ValueError(f"a chunk of '{meta.name}' has {sizes[wrong][0]} bytes for {elements[wrong][0]} elements")


def _fill_as(kind, dtype, fill):
    """The fill value in the type of the array; None where its kind means nothing for that."""
    if fill is None:
        return None
    own, value = fill
    if kind == "binary":
        return None
    if kind in ("bool", "string"):
        return value if own == kind else None
    if kind == "timestamp_ns":
        return np.datetime64(value, "ns") if own in ("timestamp_ns", "int") else None
    if own == "bits":
        (value,) = struct.unpack("<d", struct.pack("<Q", value))
        if dtype.kind != "f":
            info = np.iinfo(dtype)
            value = 0 if math.isnan(value) else info.min if value <= info.min else info.max if value >= info.max else int(value)
    elif own == "bool" and dtype.kind == "u":
        value = int(value)
    elif own not in ("int", "uint"):
        return None
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return dtype.type(value)
    bits = 8 * dtype.itemsize
    value &= (1 << bits) - 1
    return dtype.type(value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value)


# Blocks


class _BlockCache:
    """The blocks decoded last, so that neighbouring reads do not decode them again."""

    MOST_BYTES = 64 * 1024 * 1024

    def __init__(self):
        self.blocks, self.bytes = {}, 0

    def get(self, layer, number):
        key = id(layer), number
        data = self.blocks.pop(key, None)
        if data is None:
            data = layer.decode(number)
            self.bytes += len(data)
        self.blocks[key] = data
        while self.bytes > self.MOST_BYTES and len(self.blocks) > 1:
            self.bytes -= len(self.blocks.pop(next(iter(self.blocks))))
        return data


def _decode_lz4(path, stored, size):
    """A block of LZ4 behind the number of its bytes, u32; that of the footer counts."""
    if len(stored) < 4:
        raise AfError(f"{path}: a block of LZ4 has {len(stored)} bytes")
    decode = _decoder("lz4")
    return _decode_lz4_slowly(path, stored, size) if decode is None else _decoded(path, "LZ4", decode, stored, size)


def _decode_lz4_slowly(path, stored, size):
    out, at, end = bytearray(), 4, len(stored)
    try:
        while at < end:
            token = stored[at]
            at += 1
            length, at = _lz4_length(stored, at, token >> 4)
            if at + length > end:
                raise IndexError
            out += stored[at : at + length]
            at += length
            if at == end:
                return bytes(out)
            distance = stored[at] | stored[at + 1] << 8
            at += 2
            length, at = _lz4_length(stored, at, token & 15)
            length += 4
            start = len(out) - distance
            if distance == 0 or start < 0 or len(out) + length > size:
                raise IndexError
            # A match may reach into what it writes: it repeats its first bytes then.
            piece = out[start : start + length]
            out += piece if len(piece) == length else (piece * (length // distance + 1))[:length]
    except IndexError:
        pass
    raise AfError(f"{path}: a block is no LZ4, or cut off at byte {at}")


def _lz4_length(stored, at, length):
    """A length of a sequence, of which 15 goes on in the bytes from `at` on; and where what follows begins."""
    more = 255 if length == 15 else 0
    while more == 255:
        more = stored[at]
        at += 1
        length += more
    return length, at


def _decode_zstd(path, stored, size):
    decode = _decoder("zstd")
    if decode is None:
        raise AfError(f"{path}: it is compressed by zstd: use Python 3.14, or install the package zstandard or numcodecs")
    return _decoded(path, "zstd", decode, stored, size)


#: What decodes blocks of `size` bytes, by modules, of which the first that is installed is taken.
_DECODERS = {
    "lz4": {
        "lz4.block": lambda lz4, stored, size: lz4.decompress(stored[4:], uncompressed_size=size),
        "numcodecs.lz4": lambda lz4, stored, size: lz4.decompress(struct.pack("<I", size) + stored[4:]),
    },
    "zstd": {
        "compression.zstd": lambda zstd, stored, size: zstd.decompress(stored),
        # A frame need not say how long it is.
        "zstandard": lambda zstd, stored, size: _stream_of(zstd, stored).read(size + 1),
        "numcodecs.zstd": lambda zstd, stored, size: zstd.decompress(stored),
    },
}


def _stream_of(zstandard, stored):
    return zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True)


@functools.cache
def _decoder(codec):
    """What decodes a codec; None where no module for it is installed."""
    for name, decode in _DECODERS[codec].items():
        try:
            return functools.partial(decode, importlib.import_module(name))
        except ImportError:
            continue
    return None


def _decoded(path, codec, decode, stored, size):
    try:
        return decode(stored, size)
    except Exception as error:  # each package has an error of its own, of no common kind
        raise AfError(f"{path}: a block is no {codec}: {error}") from error


# CRC-32C, by numpy: lanes of equal length side by side, then put together two by two


def _crc_table():
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ np.where(table & np.uint32(1), np.uint32(0x82F63B78), np.uint32(0))
    return table.astype(np.uint32)


_TABLE = _crc_table()
_LANE_BYTES = 1024


def crc32c(data):
    """The checksum that blocks and footers have."""
    # Zeros in front change nothing as long as the state is 0, which it is where its first value is in the data.
    lanes = 1 << max(0, (len(data) // _LANE_BYTES).bit_length() - 1)
    length = max(4, -(-len(data) // lanes))
    padded = np.zeros(lanes * length, np.uint8)
    padded[padded.size - len(data) :] = np.frombuffer(data, np.uint8)
    if len(data) < 4:
        state = 0xFFFFFFFF
        for byte in bytes(data):
            state = int(_TABLE[(state ^ byte) & 0xFF]) ^ (state >> 8)
        return state ^ 0xFFFFFFFF
    padded[padded.size - len(data) :][:4] ^= 0xFF
    columns = np.ascontiguousarray(padded.reshape(lanes, length).T)
    state = np.zeros(lanes, np.uint32)
    for column in columns:
        state = _TABLE[(state ^ column) & 0xFF] ^ (state >> np.uint32(8))
    shift = _shift_by(length)
    while state.size > 1:
        state = _apply(shift, state[0::2]) ^ state[1::2]
        shift = _apply(shift, shift)
    return int(state[0]) ^ 0xFFFFFFFF


def _shift_by(length):
    """What so many zero bytes make of a state: the images of its bits."""
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    step = _TABLE[bits & 0xFF] ^ (bits >> np.uint32(8))
    result = bits
    while length:
        if length & 1:
            result = _apply(step, result)
        step = _apply(step, step)
        length >>= 1
    return result


def _apply(images, states):
    result = np.zeros_like(states)
    for bit in range(32):
        result ^= np.where((states >> np.uint32(bit)) & np.uint32(1), images[bit], np.uint32(0)).astype(np.uint32)
    return result


# xarray

try:
    from xarray import Variable
    from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint
    from xarray.backends.store import StoreBackendEntrypoint
    from xarray.core import indexing
except ImportError:  # it is optional
    pass
else:

    class _LazyArray(BackendArray):
        def __init__(self, array):
            self.array, self.shape, self.dtype = array, array.shape, array.dtype

        def __getitem__(self, key):
            support = indexing.IndexingSupport.BASIC
            return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

        def _read(self, key):
            values = np.asarray(self.array[key], self.dtype)
            fill = self.array.fill_value
            # Other types say by an attribute which value stands for what is missing.
            if self.dtype.kind == "M" and fill is not None:
                values = np.where(values == fill, np.datetime64("NaT", "ns"), values)
            return values

    class _Store(AbstractDataStore):
        def __init__(self, container):
            self.container = container

        def get_variables(self):
            return {name: self._variable(array) for name, array in self.container.items() if array.dtype is not None}

        def _variable(self, array):
            attrs = dict(array.attrs)
            if array.fill_value is not None and array.dtype.kind not in "bMO":
                attrs.setdefault("_FillValue", array.fill_value)
            data = indexing.LazilyIndexedArray(_LazyArray(array))
            # Chunks may be longer than the array, which dask does not take.
            chunks = {dim: min(c, max(1, n)) for dim, c, n in zip(array.dims, array.chunks, array.shape)}
            return Variable(array.dims, data, attrs, {"preferred_chunks": chunks})

        def get_attrs(self):
            return self.container.attrs

        def get_dimensions(self):
            return {dim: n for array in self.container.values() for dim, n in zip(array.dims, array.shape)}

        def close(self):
            self.container.close()

    class AfBackend(BackendEntrypoint):
        """Opens containers with xarray: `xr.open_dataset(path, engine=AfBackend)`."""

        description = "Opens .af containers"
        # What xarray passes on, and turns off with `decode_cf=False`.
        open_dataset_parameters = (
            "filename_or_obj",
            "mask_and_scale",
            "decode_times",
            "concat_characters",
            "decode_coords",
            "drop_variables",
            "use_cftime",
            "decode_timedelta",
            "layer",
        )

        def open_dataset(self, filename_or_obj, *, layer=None, **decoding):
            return StoreBackendEntrypoint().open_dataset(_Store(open(filename_or_obj, layer=layer)), **decoding)

        def guess_can_open(self, filename_or_obj):
            return isinstance(filename_or_obj, (str, os.PathLike)) and os.fspath(filename_or_obj).endswith(".af")

    __all__.append("AfBackend")
