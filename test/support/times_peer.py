"""Answers with cftime, pandas and xarray what test/support/times.ts asks for: one request and one answer a line."""

import json
import sys
import warnings

import cftime
import numpy as np

warnings.simplefilter("ignore")

FIELDS = ("year", "month", "day", "hour", "minute", "second", "microsecond", "dayofyr", "dayofwk")


def fields(date):
    return [int(getattr(date, name)) for name in FIELDS]


def decode(request):
    """The fields of numbers in units, None for those that are masked."""
    values = np.array(request["values"], request["dtype"])
    dates = np.ma.asarray(cftime.num2date(values, request["units"], request["calendar"]))
    return [None if date is np.ma.masked else fields(date) for date in dates]


def encode(request):
    """Fields, the first seven of them, as numbers in units."""
    dates = [cftime.datetime(*parts, calendar=request["calendar"]) for parts in request["dates"]]
    return [number.item() for number in np.atleast_1d(cftime.date2num(dates, request["units"], request["calendar"]))]


def exists(request):
    """Whether there are these days."""

    def there(date):
        try:
            zero = cftime.datetime(1, 1, 1, calendar=request["calendar"]).has_year_zero
            cftime.datetime(*date, calendar=request["calendar"], has_year_zero=zero)
            return True
        except ValueError:
            return False

    return [there(date) for date in request["dates"]]


def spans(request):
    """The first and the last microsecond that partial dates mean in xarray, None where it refuses one."""
    # Importing xarray takes seconds, which cftime does not need.
    from xarray.coding.cftime_offsets import get_date_type
    from xarray.coding.cftimeindex import _parsed_string_to_bounds
    from xarray.coding.times import _parse_iso8601

    def span(text):
        try:
            kind = get_date_type(request["calendar"])
            first, resolution = _parse_iso8601(kind, text)
            return [fields(date)[:7] for date in _parsed_string_to_bounds(kind, resolution, first)]
        except ValueError:
            return None

    return [span(text) for text in request["texts"]]


def axis(request):
    """Times as xarray decodes them, by pandas where it does so."""
    import xarray as xr

    variable = xr.Variable("time", np.array(request["values"]), {"units": request["units"], "calendar": request["calendar"]})
    return xr.decode_cf(xr.Dataset({"value": ("time", np.arange(len(variable)))}, {"time": variable}))


def resample(request):
    """The bins that xarray makes of ascending times: labels, year to microsecond, and how many times are in each."""
    dataset = axis(request)
    counts = dataset.value.resample(time=request["frequency"], **request.get("options", {})).count()
    return {
        "labels": [fields_of_any(label) for label in counts.indexes["time"]],
        "counts": [int(count) for count in np.nan_to_num(counts.values)],
        "type": type(dataset.indexes["time"]).__name__,
    }


def fields_of_any(date):
    return [int(getattr(date, name)) for name in FIELDS[:7]]


def components(request):
    """A component of times as xarray gives it."""
    values = getattr(axis(request).time.dt, request["name"]).values
    return [str(value) if request["name"] == "season" else int(value) for value in values]


OPERATIONS = {"decode": decode, "encode": encode, "exists": exists, "spans": spans, "resample": resample, "components": components}

for line in sys.stdin:
    try:
        request = json.loads(line)
        result = {"result": OPERATIONS[request["op"]](request)}
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(result), flush=True)
