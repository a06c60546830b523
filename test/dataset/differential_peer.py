"""Writes files of a specification byte by byte, and tells what xarray reads of them: one request a line."""
import json
import os
import shutil
import sys
import warnings

import cftime
import numpy as np
import pandas as pd
import xarray as xr
from xarray import conventions

warnings.filterwarnings("ignore")
TYPES = {"i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64", "f4": "float32", "f8": "float64", "b1": "bool"}
NUL = b"\0"


def scalar(type, value):
    """A value of a specification, in which texts stand for numbers that JSON does not have."""
    if type == "S":
        return value
    if type[0] in "Mm":
        return np.datetime64(value) if type[0] == "M" else np.timedelta64(value if value == "NaT" else int(value), type[3:-1])
    dtype = np.dtype(type)
    return dtype.type(float(value)) if dtype.kind == "f" else dtype.type(int(value))


def values_of(variable, shape):
    type = variable["type"]
    if type in ("S1", "text"):
        return np.array(variable["values"], dtype="S1" if type == "S1" else object).reshape(shape)
    return np.array([scalar(type, value) for value in variable["values"]], dtype=np.dtype(type)).reshape(shape)


# Files


NETCDF_TYPES = {"int8": 1, "S1": 2, "int16": 3, "int32": 4, "float32": 5, "float64": 6}


def padded(content, by=NUL):
    return content + by * (-len(content) % 4)


def integer(value):
    return int(value).to_bytes(4, "big", signed=value < 0)


def text_of(text):
    return integer(len(text.encode())) + padded(text.encode())


def listed(tag, items):
    return integer(tag if items else 0) + integer(len(items)) + b"".join(items)


def netcdf_attributes(attrs):
    def one(attr):
        value = netcdf_attribute(attr)
        values = np.frombuffer(value, "S1") if isinstance(value, bytes) else np.atleast_1d(value)
        content = value if isinstance(value, bytes) else values.astype(values.dtype.newbyteorder(">")).tobytes()
        return text_of(attr["name"]) + integer(NETCDF_TYPES[values.dtype.name if values.dtype.kind != "S" else "S1"]) + integer(len(values) if content else 0) + padded(content)

    return listed(12, [one(attr) for attr in attrs])


def write_netcdf(spec, path):
    """Byte by byte: what scipy writes of records of several types reads as others."""
    dims, record, version = spec["dims"], spec.get("record"), spec.get("version", 1)
    names = list(dims)
    variables = []
    for variable in spec["variables"]:
        values = values_of(variable, [dims[dim] for dim in variable["dims"]])
        grows = variable["dims"][:1] == [record]
        parts = values if grows else [values]
        content = [np.asarray(part).astype(values.dtype.newbyteorder(">")).tobytes() for part in parts]
        variables.append((variable, values.dtype, grows, content))
    # One record variable alone has no padding.
    alone = sum(grows for _, _, grows, _ in variables) == 1
    pad = lambda grows, content: content if grows and alone else padded(content)

    def header(begins):
        made = [integer(0) if name == record else integer(length) for name, length in dims.items()]
        described = [
            text_of(variable["name"]) + integer(len(variable["dims"])) + b"".join(integer(names.index(dim)) for dim in variable["dims"]) + netcdf_attributes(variable["attrs"])
            + integer(NETCDF_TYPES["S1" if dtype.kind == "S" else dtype.name]) + integer(len(pad(grows, content[0])) if content else 0) + (integer(0) if version == 2 else b"") + integer(begin)
            for (variable, dtype, grows, content), begin in zip(variables, begins)
        ]
        records = dims[record] if record else 0
        return b"CDF" + bytes([version]) + integer(records) + listed(10, [text_of(name) + length for name, length in zip(names, made)]) + netcdf_attributes(spec["attrs"]) + listed(11, described)

    at = len(header([0] * len(variables)))
    begins, body = [0] * len(variables), []
    for i, (_, _, grows, content) in enumerate(variables):
        if not grows:
            begins[i] = at
            body.append(padded(content[0]))
            at += len(body[-1])
    for number in range(dims[record] if record else 0):
        for i, (_, _, grows, content) in enumerate(variables):
            if grows:
                begins[i] = begins[i] or at
                body.append(pad(True, content[number]))
                at += len(body[-1])
    with open(path, "wb") as file:
        file.write(header(begins) + b"".join(body))


def netcdf_attribute(attr):
    type, value = attr["type"], attr["value"]
    if type == "S":
        return value.encode()
    if isinstance(value, list):
        return np.array([scalar(type, each) for each in value], dtype=type)
    return scalar(type, value)


def zarr_attribute(attr):
    type, value = attr["type"], attr["value"]
    if type == "S":
        return value
    plain = [each.item() for each in map(lambda each: scalar(type, each), value if isinstance(value, list) else [value])]
    return plain if isinstance(value, list) else plain[0]


def json_fill(type, value):
    """A fill value as both versions have it."""
    if value is None:
        return None
    if type == "S1":
        return value
    number = scalar(type, value).item()
    if isinstance(number, float) and not np.isfinite(number):
        return "NaN" if np.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    return number


def vlen(values):
    texts = [value.encode() for value in values]
    return b"".join([len(texts).to_bytes(4, "little"), *(len(text).to_bytes(4, "little") + text for text in texts)])


def write_zarr(spec, path, version):
    def write(key, content):
        os.makedirs(os.path.dirname(f"{path}/{key}"), exist_ok=True)
        with open(f"{path}/{key}", "wb") as file:
            file.write(content if isinstance(content, bytes) else json.dumps(content).encode())

    attributes = {attr["name"]: zarr_attribute(attr) for attr in spec["attrs"]}
    write(".zgroup", {"zarr_format": 2}) if version == 2 else write("zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": attributes})
    if version == 2:
        write(".zattrs", attributes)
    for variable in spec["variables"]:
        name, type, dims = variable["name"], variable["type"], variable["dims"]
        shape = [spec["dims"][dim] for dim in dims]
        values = values_of(variable, shape)
        own, fill = {}, variable.get("fill")
        for attr in variable["attrs"]:
            plain = zarr_attribute(attr)
            if attr["name"] == "_FillValue":
                if version == 2 and not isinstance(plain, (str, list)) and not (plain != plain and type[0] in "iu"):
                    fill = attr["value"]
                    continue
                if version == 3 and not isinstance(plain, list):
                    try:
                        plain = xr.backends.zarr.FillValueCoder.encode(plain, np.dtype(type))
                    except (TypeError, ValueError, OverflowError):
                        pass
            own[attr["name"]] = plain
        chunks = [min(2, length) if variable.get("chunked") else length for length in shape]
        if version == 2:
            filters = [{"id": "vlen-utf8"}] if type == "text" else None
            dtype = "|O" if type == "text" else np.dtype(type).str
            filled = "" if type == "text" else json_fill(type, fill) if type[0] not in "Mm" else None
            write(f"{name}/.zarray", {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "compressor": None, "fill_value": filled, "order": "C", "filters": filters})
            write(f"{name}/.zattrs", {**own, "_ARRAY_DIMENSIONS": dims})
        else:
            data_type = {"text": "string", "S1": {"name": "null_terminated_bytes", "configuration": {"length_bytes": 1}}}.get(type) or TYPES.get(type)
            codec = {"name": "vlen-utf8"} if type == "text" else {"name": "bytes", "configuration": {"endian": "little"}}
            filled = "" if type in ("text", "S1") else False if type == "b1" else json_fill(type, fill) if fill is not None else 0
            write(f"{name}/zarr.json", {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type, "fill_value": filled, "codecs": [codec], "attributes": own, "dimension_names": dims, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}}, "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}})
        grid = [-(-length // chunk) for length, chunk in zip(shape, chunks)]
        for i, at in enumerate(np.ndindex(*grid)):
            if i and variable.get("unwritten"):
                continue
            part = np.asarray(values)[(...,) + tuple(slice(k * chunk, (k + 1) * chunk) for k, chunk in zip(at, chunks))]
            whole = np.full(chunks, "" if type == "text" else NUL if type == "S1" else 0, dtype=values.dtype) if type[0] not in "Mm" else np.full(chunks, "NaT", dtype=values.dtype)
            whole[(...,) + tuple(slice(0, length) for length in part.shape)] = part
            key = ".".join(map(str, at)) if version == 2 else "/".join(["c", *map(str, at)])
            write(f"{name}/{(key or '0') if version == 2 else key}", vlen(whole.ravel()) if type == "text" else whole.astype(whole.dtype.newbyteorder("<")).tobytes())


# What xarray reads


def decode_or_tell(name, var, *args, **options):
    """In place of xarray's: a variable that cannot be decoded is left as it is, with the reason."""
    # Integers among factors, by which xarray makes integers that overflow, and cannot be missing; float32, which has
    # no room for int32, so that fill values are no longer those of elements.
    # Of the other order of bytes xarray swaps fill values of unsigned integers.
    if not var.dtype.isnative and "_Unsigned" in var.attrs:
        var = xr.Variable(var.dims, var.to_numpy().astype(var.dtype.newbyteorder("=")), var.attrs, var.encoding)
    others = otherwise(var)
    # Characters of records are no texts: each record is stored by itself.
    if var.dims[-1:] == (record,):
        options = {**options, "stack_char_dim": False}
    factors = {key: np.float64(value) for key, value in var.attrs.items() if key in ("scale_factor", "add_offset") and isinstance(value, (int, np.integer)) or (isinstance(value, np.float32) and (var.dtype.itemsize > 4 or (var.dtype.kind in "iu" and var.dtype.itemsize > 2)))}
    # Of missing durations that xarray does not decode it makes the least integer.
    duration = var.attrs.get("units") in TIME_UNITS and "dtype" not in var.attrs and var.attrs["units"]
    others = {**others, "units": None} if duration else others
    attrs = {key: value for key, value in {**var.attrs, **factors, **others}.items() if value is not None}
    var = xr.Variable(var.dims, var._data, attrs, var.encoding) if factors or others else var
    try:
        decoded = decode_variable(name, var, *args, **options)
        if duration:
            decoded.attrs["units"] = duration
        times = kind_of(decoded.to_numpy())
        if not times.startswith("time") or var.dtype.kind != "f":
            return decoded
        # NaN is the time of reference where cftime decodes.
        return decoded.copy(data=np.where(missing_of(var), np.datetime64("NaT", "ns") if times == "time" else None, decoded.to_numpy()))
    except Exception as error:
        times = times_by_cftime(name, var, error, *args, **options)
        if times is not None:
            return times
        refused[name] = f"{type(error).__name__}: {error}"
        return xr.Variable(var.dims, np.zeros(var.shape, "f4"), {})


def otherwise(var):
    """Attributes as this package reads them: of spellings that xarray refuses, or reads as others; None leaves one out."""
    attrs, own = var.attrs, {}
    if "_Unsigned" in attrs:
        own["_Unsigned"] = str(attrs["_Unsigned"]).lower()
        # Of JSON it is a number of no type, which xarray does not convert.
        if isinstance(attrs.get("_FillValue"), int):
            own["_FillValue"] = np.array(attrs["_FillValue"]).astype(var.dtype)[()]
    if attrs.get("calendar") == "":
        own["calendar"] = None
    # In calendars of cftime that is the year 5.
    if str(attrs.get("units")).endswith("since 5-5-1985"):
        own["units"] = attrs["units"].replace("5-5-1985", "1985-05-05")
    # Text is never missing.
    if var.dtype.kind in "SOUT":
        own.update({key: None for key in ("_FillValue", "missing_value") if key in attrs})
    return own


def missing_of(var):
    raw = var.to_numpy()
    fills = [fill for key in ("_FillValue", "missing_value") for fill in np.ravel(var.attrs.get(key, []))]
    return np.isin(raw, fills) | (raw == np.iinfo("i8").min) | (np.isnan(raw) if raw.dtype.kind == "f" else False)


def times_by_cftime(name, var, error, *args, **options):
    """Times of calendars that xarray hands to cftime, which refuses a missing cell among them; None for others."""
    if "unable to decode time units" not in str(error) and "time values outside range" not in str(error):
        return None
    numbers = decode_variable(name, var, *args, **{**options, "decode_times": False})
    raw, missing = var.to_numpy(), missing_of(var)
    if not missing.any():
        return None
    try:
        times = np.full(raw.shape, None, object)
        known = np.asarray(numbers.to_numpy()[~missing])
        cftime.num2date(0, var.attrs["units"], var.attrs.get("calendar") or "standard")
        if known.size:
            times[~missing] = cftime.num2date(known, var.attrs["units"], var.attrs.get("calendar") or "standard", only_use_cftime_datetimes=True)
        return xr.Variable(var.dims, times, {key: value for key, value in numbers.attrs.items() if key not in ("units", "calendar")})
    except Exception:
        return None


decode_variable = conventions.decode_cf_variable
conventions.decode_cf_variable = decode_or_tell
refused = {}
record = None
TIME_UNITS = xr.coding.times.TIME_UNITS


def open_file(path):
    refused.clear()
    if path.endswith(".nc"):
        ds = xr.open_dataset(path, engine="scipy", decode_coords="all", cache=False)
    elif path.endswith(".json"):
        ds = xr.open_dataset("reference://", engine="zarr", storage_options={"fo": path}, consolidated=False, chunks=None, decode_coords="all")
    else:
        ds = xr.open_dataset(path, engine="zarr", consolidated=False, chunks=None, decode_coords="all")
    ds = ds.load()
    ds.close()
    return ds, dict(refused)


def plain(values):
    """Each value as text."""
    values = np.asarray(values)
    kind = values.dtype.kind
    if kind == "M":
        return [None if np.isnat(value) else str(np.datetime64(value, "ns")) if abs(value.astype("M8[s]").astype("i8")) < 9e9 else str(np.datetime64(value, "us")) for value in values.ravel()]
    if kind == "m":
        return [None if np.isnat(value) else str(int(value.astype("m8[ns]").astype("i8"))) for value in values.ravel()]
    if kind == "f":
        return [None if np.isnan(value) else repr(float(value)) for value in values.ravel()]
    if kind in "iu":
        return [str(int(value)) for value in values.ravel()]
    if kind == "b":
        return [str(int(value)) for value in values.ravel()]
    texts = []
    for value in values.ravel():
        if isinstance(value, cftime.datetime):
            texts.append(value.isoformat())
        elif isinstance(value, bytes):
            texts.append(value.decode("utf-8", "replace"))
        elif value is None or (isinstance(value, float) and np.isnan(value)) or value is pd.NaT:
            texts.append(None)
        else:
            texts.append(str(value))
    return texts


def kind_of(values):
    kind = values.dtype.kind
    if kind == "M":
        return "time"
    if kind == "m":
        return "duration"
    if kind == "O":
        first = next((value for value in values.ravel() if isinstance(value, cftime.datetime)), None)
        return "text" if first is None else f"time {first.calendar}"
    return "text" if kind in "SUT" else values.dtype.name


def attribute(value):
    value = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if isinstance(value, (bytes, str)):
        return ["text", value.decode("utf-8", "replace") if isinstance(value, bytes) else value]
    array = np.asarray(value)
    if array.dtype.kind in "fiub" and array.ndim <= 1:
        return ["float" if array.dtype.kind == "f" else "integer", plain(array.ravel())]
    return ["other", json.dumps(value, default=str)]


def described(ds, without=()):
    variables = {}
    for name, variable in ds.variables.items():
        if name in without:
            continue
        values = variable.to_numpy()
        attrs = {key: attribute(value) for key, value in variable.attrs.items()}
        variables[name] = {"dims": list(variable.dims), "shape": list(variable.shape), "type": kind_of(values), "values": plain(values), "attrs": attrs, "coord": name in ds.coords}
    return variables


# What this package decodes otherwise on purpose, by tables


def unwritten(variable, is_netcdf):
    """Elements of NetCDF that nobody wrote: those of bytes are no others."""
    fill = {"i2": -32767, "i4": -2147483647, "f4": np.float32(9.969209968386869e36), "f8": 9.969209968386869e36}.get(variable.dtype.str[1:])
    known = is_netcdf and fill is not None and "_FillValue" not in variable.attrs
    return variable.to_numpy() == fill if known else np.zeros(variable.shape, bool)


def stored_missing(variable):
    """Of other signs xarray knows the `_FillValue` alone."""
    raw = variable.to_numpy()
    values = np.ravel(variable.attrs.get("missing_value", []))
    return np.isin(raw, values) if "_Unsigned" in variable.attrs and values.dtype.kind in "iu" else np.zeros(raw.shape, bool)


def apply_table(ds, raw, refusals, is_netcdf):
    """Masks what is out of range, what nobody wrote and what is missing by another sign."""
    for name, variable in raw.variables.items():
        if name in refusals or variable.dtype.kind not in "iuf":
            continue
        try:
            out, unsigned = outside(variable, is_netcdf, variable.dims == (name,))
        except Refused as error:
            refusals[name] = f"table: {error}"
            continue
        out = out | unwritten(variable, is_netcdf) | stored_missing(variable)
        own = ds[name]
        if unsigned:
            scale, offset = factors_of(variable.attrs)
            isna = np.isnan(own.to_numpy()) if own.dtype.kind == "f" else False
            type = "f4" if (scale, offset) == (1, 0) else "f8"
            own = own.copy(data=np.where(isna, np.nan, variable.to_numpy().view("u1") * scale + offset).astype(type))
            ds = ds.assign_coords({name: (own.dims, own.to_numpy(), own.attrs)}) if name in ds.coords else ds.assign({name: own})
        if out.any():
            values = own.to_numpy()
            if values.dtype.kind in "iu":
                values = values.astype("f4" if values.itemsize <= 2 else "f8")
            if values.dtype.kind == "f":
                values = np.where(out, np.nan, values)
            elif values.dtype.kind in "mM":
                values = np.where(out, np.array("NaT", values.dtype), values)
            else:
                values = np.where(out, None, values)
            ds[name] = own.copy(data=values)
    return ds


def factors_of(attrs):
    """Text among factors refuses the variable before."""
    return tuple(np.float64(np.ravel(attrs.get(key, default))[0]) for key, default in (("scale_factor", 1), ("add_offset", 0)))


WIDTHS = ["int8", "int16", "int32", "int64", "float32", "float64"]


def type_of(attrs, key, is_netcdf):
    """JSON tells integers from floats: 'integer' is as wide as int32, 'float' as float64."""
    dtype = np.asarray(attrs[key]).dtype
    return dtype.name if is_netcdf else "integer" if dtype.kind in "iu" else "float"


def width(type):
    return WIDTHS.index({"integer": "int32", "float": "float64"}.get(type, type.removeprefix("u")))


class Refused(Exception):
    pass


RANGES = {"valid_range": 2, "valid_min": 1, "valid_max": 1}


def ends_of(attrs):
    """Low and high, None where there is none; a text says nothing, and neither does another number of values."""
    given = {key: np.ravel(attrs[key]) for key in ("valid_min", "valid_max", "valid_range") if key in attrs}
    given = {key: value for key, value in given.items() if value.dtype.kind in "iuf" and len(value) == RANGES[key]}
    if "valid_range" in given:
        return given["valid_range"][0], given["valid_range"][1]
    if not given:
        return None
    return tuple(given[key][0] if key in given else None for key in ("valid_min", "valid_max"))


def outside(variable, is_netcdf, is_labels):
    """
    The cells out of range, and whether the range says that bytes are unsigned.

    | range                                    | factors                                   | bounds            |
    | ---------------------------------------- | ----------------------------------------- | ----------------- |
    | any                                      | none, or 1 and 0                          | the values        |
    | of the type of the wider factor          | the wider is wider than the packed values | unpacked values   |
    | of integers, or of the packed type       | others                                    | packed values     |
    | of floats, of JSON, where floats packed  | any                                       | refused: unclear  |
    | floating, others                         | others                                    | refused: unclear  |

    - labels of a dimension are all valid; a range that is text bounds nothing
    - packed bytes are unsigned where a bound is above 127 and none below 0
    - of values that `_Unsigned` makes unsigned a bound below 0 is one of the stored type, where its type is no
      wider than that; a lower one that is above the upper one then, or is of a wider type, bounds nothing
    - of values that `_Unsigned` makes signed it is the same with bounds that only the unsigned type has
    """
    attrs, packed = variable.attrs, variable.dtype
    inside = np.zeros(variable.shape, bool)
    keys = [key for key in RANGES if key in attrs and np.asarray(attrs[key]).dtype.kind in "iuf" and np.size(attrs[key]) == RANGES[key]]
    keys = ["valid_range"] if "valid_range" in keys else keys
    if not keys:
        return inside, False
    low, high = ends_of(attrs)
    data = variable.to_numpy()
    sign = {"true": "u", "false": "i"}.get(str(attrs.get("_Unsigned")).lower()) if packed.kind in "iu" else None
    data = data.view(f"{sign}{packed.itemsize}") if sign and sign != packed.kind else data
    scale, offset = factors_of(attrs)
    factors = [type_of(attrs, key, is_netcdf) for key in ("scale_factor", "add_offset") if key in attrs]
    types = {type_of(attrs, key, is_netcdf) for key in keys}
    unpacked, slack = False, 0
    if factors and (scale, offset) != (1, 0) and not is_labels:
        wider = max(factors, key=width)
        (type,) = types
        floating = type.startswith("float")
        if floating and not is_netcdf and packed.kind == "f":
            raise Refused("JSON does not tell which floats a range is of")
        unpacked = type == wider and width(wider) > width(packed.name)
        if not unpacked and floating and type != packed.name:
            raise Refused("a floating range is of the type of neither the packed nor the unpacked values")
    finite = [float(end) for end in (low, high) if end is not None and np.isfinite(end)]
    unsigned = packed == np.int8 and sign is None and not unpacked and any(end > 127 for end in finite) and not any(end < 0 for end in finite)
    if is_labels:
        return inside, unsigned
    if unsigned:
        data = data.view("u1")
    if packed == np.float32 and not unpacked:
        low, high = (end if end is None else np.float32(end) for end in (low, high))
    if unpacked:
        data = data.astype("f8") * scale + offset
        slack = (max(map(abs, finite), default=0) + abs(offset)) * 2.0 ** (-22 if "float32" in [*factors, *types] or not is_netcdf else -50)
    elif sign == "u" or unsigned:
        narrow = all(type == "integer" or width(type) <= width(packed.name) for type in types)
        wrap = lambda end: end if end is None or end >= 0 or not narrow else float(end) + 2 ** (8 * packed.itemsize)
        wrapped = wrap(low)
        low = None if low is not None and low < 0 and (wrapped < 0 or (high is not None and wrapped > wrap(high))) else wrapped
        high = wrap(high)
    elif sign == "i" and packed.kind == "u":
        narrow = all(type == "integer" or width(type) <= width(packed.name) for type in types)
        half = 2 ** (8 * packed.itemsize - 1)
        wrap = lambda end: end if end is None or end < half or not narrow else float(end) - 2 * half
        wrapped = wrap(high)
        low = wrap(low)
        high = None if high is not None and high >= half and (wrapped >= half or (low is not None and low > wrapped)) else wrapped
    out = inside.copy()
    with np.errstate(invalid="ignore"):
        if low is not None:
            out |= data < (low - slack if slack else low)
        if high is not None:
            out |= data > (high + slack if slack else high)
    return out, unsigned


def raw_of(path):
    engine = {"engine": "scipy", "cache": False} if path.endswith(".nc") else {"engine": "zarr", "consolidated": False, "chunks": None}
    conventions.decode_cf_variable = decode_variable
    try:
        return xr.open_dataset(path, decode_cf=False, **engine)
    finally:
        conventions.decode_cf_variable = decode_or_tell


# Selections


def select(ds, step):
    kind, dim = step["kind"], step["dim"]
    if kind == "isel":
        at = step["at"]
        return ds.isel({dim: slice(*at["slice"]) if isinstance(at, dict) else at})
    index = ds.indexes[dim]
    to_label = labels_for(index)
    if kind in ("sel", "nearest") and step.get("wrapped"):
        return wrapped_label(ds, dim, step["label"], kind == "nearest")
    if kind == "range" and step.get("wrapped"):
        return wrapped_range(ds, dim, *step["range"])
    if kind == "sel":
        label = step["label"]
        if isinstance(label, list) and not index.is_unique:
            # xarray refuses all lists here; each label may be there once.
            at = [np.flatnonzero(index.values == to_label(each)) for each in label]
            if any(len(each) != 1 for each in at):
                raise KeyError("not one position for each label")
            return ds.isel({dim: [int(each[0]) for each in at]})
        return ds.sel({dim: [to_label(each) for each in label] if isinstance(label, list) else to_label(label)})
    if kind == "nearest":
        label = to_label(step["label"])
        if isinstance(label, (int, float, np.number)):
            away = np.abs(np.asarray(index.values, "f8") - float(label))
            best = np.flatnonzero(away == np.nanmin(away))
            if len(best) != 1:
                raise KeyError(f"{len(best)} labels are nearest")
            # pandas subtracts unsigned integers as such.
            if index.dtype.kind == "u" or not index.is_unique or not (index.is_monotonic_increasing or index.is_monotonic_decreasing):
                return ds.isel({dim: int(best[0])})
        return ds.sel({dim: label}, method="nearest")
    low, high = (to_label(each) for each in step["range"])
    ascends = index.is_monotonic_increasing
    if not ascends and not index.is_monotonic_decreasing:
        raise KeyError("labels are in no order")
    return ds.sel({dim: slice(low, high) if ascends else slice(high, low)})


def time_labels(ds, step):
    """Texts of times that a selection asks for, which its specification names by positions; None for others."""
    index = ds.indexes.get(step["dim"])
    texts = [] if index is None else plain(index.values) if kind_of(index.values).startswith("time") else []
    chosen = [texts[at % len(texts)] for at in step["at"]] if texts else [None]
    if None in chosen:
        return None
    low, high = sorted(chosen, key=lambda text: text.replace(".", "~"))
    return {"month": [low[:7]], "exact": [full(low)], "range": [full(low), full(high)]}[step["how"]]


def full(text):
    return text.replace(" ", "T") + ("" if "." in text else ".000000")


def select_times(ds, step, labels):
    dim = step["dim"]
    index = ds.indexes[dim]
    texts = [None if text is None else full(text) for text in plain(index.values)]
    if step["how"] == "exact":
        at = [i for i, text in enumerate(texts) if text == labels[0]]
        if len(at) != 1:
            raise KeyError("not one position")
        return ds.isel({dim: at[0]})
    if not (index.is_monotonic_increasing or index.is_monotonic_decreasing):
        raise KeyError("labels are in no order")
    if step["how"] == "month":
        return ds.isel({dim: [i for i, text in enumerate(texts) if text is not None and text.startswith(labels[0])]})
    return ds.isel({dim: [i for i, text in enumerate(texts) if text is not None and labels[0] <= text <= labels[1]]})


def labels_for(index):
    if index.dtype == object and len(index) and isinstance(index[0], bytes):
        return lambda label: label.encode()
    if index.dtype.kind in "iu":
        return int
    if index.dtype.kind == "f":
        return lambda label: index.dtype.type(label)
    return lambda label: label


def near(a, b, dtype):
    return abs(a - b) <= 4 * np.spacing(np.dtype(dtype).type(max(abs(a), abs(b), 1e-30)) if np.dtype(dtype).kind == "f" else np.float64(max(abs(a), abs(b), 1)))


def wrapped_label(ds, dim, label, nearest):
    labels = ds.indexes[dim].values
    exact = [at for at, own in enumerate(labels) if near(float(own), label, labels.dtype)]
    if not exact:
        around = np.abs((labels.astype("f8") - label + 180) % 360 - 180)
        best = np.flatnonzero(around <= around.min() + 1e-3)
        if len(best) == 2 and abs(float(labels[best[0]]) - float(labels[best[1]])) == 360:
            return None
        if len(best) != 1 or (not nearest and around.min() > 1e-3):
            raise KeyError(f"{len(best)} labels are as near")
        exact = [int(best[0])]
    if len(exact) != 1:
        raise KeyError("labels are there twice")
    return ds.isel({dim: exact[0]})


def wrapped_range(ds, dim, low, high):
    """Each position once, at the round of it that lies in the range: its own first, then the one after, then the one before."""
    index = ds.indexes[dim]
    labels = index.values.astype("f8")
    found = {}
    for at, own in enumerate(labels):
        rounds = [own + 360 * turn for turn in (0, 1, -1, 2, -2)]
        inside = [(label, round(label - own)) for label in rounds if low - 1e-4 <= label <= high + 1e-4]
        if inside:
            found[at] = inside[0]
    if not found:
        raise KeyError("no label is there")
    if not (index.is_monotonic_increasing or index.is_monotonic_decreasing):
        raise KeyError("labels are in no order")
    order = sorted(found, key=lambda at: (round(found[at][0], 3), found[at][1]), reverse=not index.is_monotonic_increasing)
    result = ds.isel({dim: order})
    return result.assign_coords({dim: (dim, np.array([found[at][0] for at in order]).astype(index.dtype), ds[dim].attrs)})


def answer(request):
    global record
    path = request["path"]
    if "spec" in request:
        spec = request["spec"]
        record = spec.get("record")
        if spec["form"] == "nc":
            write_netcdf(spec, path)
        else:
            write_zarr(spec, path, int(spec["form"][1]))
    ds, reasons = open_file(path)
    result = {"variables": described(ds, reasons), "refused": reasons, "attrs": {key: attribute(value) for key, value in ds.attrs.items()}}
    if "steps" in request:
        ranged = dict(reasons)
        ds = apply_table(ds, raw_of(path), ranged, path.endswith(".nc"))
        result["ranged"] = {"variables": described(ds, ranged), "refused": ranged}
        whole = ds.drop_vars([name for name, variable in ds.variables.items() if name in ranged or len(set(variable.dims)) < variable.ndim])
        result["selected"], result["labels"] = [], []
        for step in request["steps"]:
            result["labels"].append(None)
            if step["dim"] not in whole.dims:
                result["selected"].append(None)
                continue
            try:
                if step["kind"] == "time":
                    labels = time_labels(whole, step)
                    result["labels"][-1] = labels
                    result["selected"].append(labels and {"variables": described(select_times(whole, step, labels))})
                    continue
                chosen = select(whole, step)
                # Both ends of a circle are one place.
                result["selected"].append(None if chosen is None else {"variables": described(chosen)})
            except Exception as error:
                result["selected"].append({"refused": f"{type(error).__name__}: {error}"})
    return result


for line in sys.stdin:
    request = json.loads(line)
    try:
        reply = {"result": answer(request)}
    except Exception as error:
        import traceback

        reply = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
    print(json.dumps(reply), flush=True)
