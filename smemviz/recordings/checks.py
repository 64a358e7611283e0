"""What a recording may say: its file may come from anywhere, and whoever shows it relies on this.

From JSON to dataclasses every value is checked against the type its field declares, integers for their range, and
numbers for being finite. All raise ``ValueError``.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from smemviz.recordings.data import ArrayInfo, Site
from smemviz.recordings.measured import SiteHardware, Timing
from smemviz.recordings.vocabulary import BULK, DTYPES, MATRICES, OPERATIONS, WIDTHS

MAX_SHARED_BYTES = 1 << 18  # where a block's window may end; no GPU's is larger than 228 KiB
_MAX_SHARED_ELEMENTS = 1 << 20  # of all shared arrays of a launch; views of dynamic memory overlap
_MAX_RANK = 16
_MAX_ADDRESS = 1 << 60  # addresses of GPUs have 57 bits
_MAX_BLOCKS = 1 << 53
_MAX_COUNTED = 1 << 60  # of all sites, so that no sum overflows
_MAX_MICROSECONDS = 3.2e13
_MAX_CONSTANT_BITS = 4096  # as in kernel files

_DTYPES = frozenset(DTYPES.values())
_RECORD = re.compile(r"V[1-9]\d{0,4}")  # what an array of records is named: its bytes


def check_recording(fields: Mapping[str, Any], launches: int) -> None:
    """Check what is said of the run; ``fields`` are those of a recording."""
    if not fields["file"]:
        raise ValueError("metadata.file is empty")
    _check_date(fields["date"], "metadata.date")
    for name, value in fields["constants"].items():
        if isinstance(value, str) and value not in _DTYPES and value not in DTYPES:
            raise ValueError(f"metadata.constants.{name} is neither a number nor a dtype")
        if type(value) is int and value.bit_length() > _MAX_CONSTANT_BITS:
            raise ValueError(f"metadata.constants.{name} is too large a number")
    device, calibration = fields["device"], fields.get("calibration")
    if device and min(device.compute_capability) < 0:
        raise ValueError("metadata.device has no possible compute capability")
    if calibration:
        _check_date(calibration.date, "metadata.calibration.date")
    for finding in fields.get("findings", ()):
        if finding.launch is not None and not 0 <= finding.launch < launches:
            raise ValueError(f"it has a finding in launch {finding.launch} of {launches}")
        if not finding.kind or finding.line < 1:
            raise ValueError("it has a finding of no kind or in no line")
    if fields.get("unrecorded", 0) < 0:
        raise ValueError("it counts fewer than no launches that were not recorded")


def check_launch(launch: Mapping[str, Any], where: str) -> None:
    """Check a launch but for its requests; ``launch`` are its fields, ``where`` it stands."""
    grid, block = launch["grid"], launch["block"]
    if min(grid + block) < 1 or math.prod(block) > 1024 or math.prod(grid) > _MAX_BLOCKS:
        raise ValueError(f"{where} has no possible grid or block")
    if launch.get("repeats", 0) < 0:
        raise ValueError(f"{where} was repeated fewer than no times")
    if not launch["kernel"] or launch["line"] < 1:
        raise ValueError(f"{where} is of a kernel without a name, or in no line")
    if not all(0 <= launch[name] <= MAX_SHARED_BYTES for name in ("dynamic_shared", "shared_bytes")):
        raise ValueError(f"{where} has more shared memory than any GPU, or less than none")
    for site in launch["sites"]:
        _check_site(site, where)
    for array in launch["arrays"]:
        _check_array(array, where)
    elements = sum(math.prod(array.shape) for array in launch["arrays"] if array.is_shared)
    if elements > _MAX_SHARED_ELEMENTS:
        raise ValueError(f"{where} has {elements} elements in shared arrays; {_MAX_SHARED_ELEMENTS} are allowed")
    _check_hardware(launch["sites"], launch.get("hardware", ()), bool(launch.get("counters")), where)
    if launch.get("time"):
        _check_time(launch["time"], where)


def check_addresses(sites: Sequence[Site], site: NDArray[Any], addresses: NDArray[Any], kernel: str) -> None:
    """Check that the addresses of requests, of sites by their number, are of this world and aligned."""
    if addresses.size and int(addresses.max()) > _MAX_ADDRESS:
        raise ValueError(f"{kernel} has a request to an address that no GPU has")
    # A complex number may begin at any multiple of its half, which is then accessed by itself.
    halves = [2 if site.dtype.startswith("c") and site.pieces == 1 else 1 for site in sites]
    units = [site.width // half for site, half in zip(sites, halves, strict=True)]
    unit = np.array(units, addresses.dtype)[site]
    if np.any((addresses % unit[:, np.newaxis] != 0) & (addresses >= 0)):
        raise ValueError(f"{kernel} has a request to an address that is not a multiple of the bytes it accesses")


def check_totals(totals: Mapping[str, NDArray[Any]]) -> None:
    """Check that no sum over counts overflows."""
    for name, column in totals.items():
        if column.sum(dtype=np.float64) > _MAX_COUNTED:
            raise ValueError(f"its totals count more {name} than can be")


def _check_site(site: Site, where: str) -> None:
    if site.width not in WIDTHS or site.line < 1:
        raise ValueError(f"{where} has a site with a width of {site.width} bytes in line {site.line}")
    if site.op not in OPERATIONS or site.dtype not in _DTYPES:
        raise ValueError(f"{where} has a site of no known operation or type in line {site.line}")
    size, moves = np.dtype(site.dtype).itemsize, site.op in ("load", "store", "cluster_load", "cluster_store")
    rows = site.op in MATRICES or site.op in BULK
    elements = (size, 2 * size, 4 * size) if moves else (16 if rows else size,)  # a vector has several
    if site.width not in elements and not (moves and site.width == 1):
        raise ValueError(f"{where} has a site that accesses {site.width} bytes of {site.dtype} in line {site.line}")
    if min(site.column, site.end_column) < 0 or site.end_line < site.line:
        raise ValueError(f"{where} has a site that ends before it begins in line {site.line}")


def _check_array(array: ArrayInfo, where: str) -> None:
    if not (array.dtype in _DTYPES or _RECORD.fullmatch(array.dtype)) or min(array.shape, default=0) < 0:
        raise ValueError(f"{where} has an array of no possible type or shape: {array.name}")
    if len(array.shape) != len(array.strides):
        raise ValueError(f"{where} has an array whose shape and strides differ in length: {array.name}")
    if len(array.shape) > _MAX_RANK or (array.is_shared and not array.shape):
        raise ValueError(f"{where} has an array of {len(array.shape)} dimensions: {array.name}")
    low, high = array.extent
    most = MAX_SHARED_BYTES if array.is_shared else _MAX_ADDRESS
    if low < 0 or high > most or math.prod(max(size, 1) for size in array.shape) > _MAX_ADDRESS:
        raise ValueError(f"{where} has an array that no GPU's {array.space} memory holds: {array.name}")
    if array.is_shared and min(array.strides) < 0:
        raise ValueError(f"{where} has a shared array that runs backwards: {array.name}")


def _check_hardware(sites: Sequence[Site], rows: Sequence[SiteHardware], counted: bool, where: str) -> None:
    if len(rows) != len(sites) and (rows or counted):
        raise ValueError(f"{where} has hardware counts that do not fit its sites")
    for site, row in zip(sites, rows, strict=False):
        shared, moved = (row.wavefronts, row.ideal), (row.sectors,)
        there, absent = (shared, moved) if site.is_shared else (moved, shared)
        if not all(type(n) is int and n >= 0 for n in (row.requests, *there)) or any(n is not None for n in absent):
            raise ValueError(f"{where} has hardware counts of another kind of memory than the site's")


def _check_time(time: Timing, where: str) -> None:
    _check_date(time.date, f"{where}.time.date")
    others = (time.low_us, time.high_us, time.p5_us, time.p95_us, time.floor_us, *time.samples_us)
    if time.median_us <= 0 or min(others) < 0 or min(time.samples, time.nodes) < 1:
        raise ValueError(f"{where} has a time that is not above zero")
    if max(time.median_us, *others) > _MAX_MICROSECONDS:
        raise ValueError(f"{where} has a time of more than a year")


def _check_date(text: str, where: str) -> None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{where} is not an ISO 8601 date") from None


def decode(kind: Any, value: object, where: str) -> Any:
    """Return a JSON value as ``kind``: a dataclass, ``tuple``, ``Mapping``, ``Literal``, union or plain type.

    Raises:
        ValueError: when the value is of another kind; the message starts with ``where`` it stands.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if float not in arguments:  # a constant may be any number
        _check_number(value, where)
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**decode_fields(kind, value, where))
    if kind is object:
        return _plain(value, where)
    if origin is Literal:
        if value not in arguments:
            raise ValueError(f"{where} is not one of {', '.join(map(str, arguments))}")
        return value
    if origin in (Union, types.UnionType):
        for choice in arguments:
            if is_dataclass(choice) and isinstance(value, dict):
                return decode(choice, value, where)
            if not is_dataclass(choice) and type(value) is choice:
                return value
    elif origin is tuple and isinstance(value, list):
        kinds = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(kinds) != len(value):
            raise ValueError(f"{where} has {len(value)} entries; it needs {len(kinds)}")
        return tuple(decode(k, v, f"{where}[{i}]") for i, (k, v) in enumerate(zip(kinds, value, strict=True)))
    elif origin is Mapping and isinstance(value, dict):
        return {key: decode(arguments[1], v, f"{where}.{key}") for key, v in value.items()}
    elif type(value) is kind:  # exact: JSON's true is no integer
        return value
    raise ValueError(f"{where} has the wrong type")


def _plain(value: object, where: str) -> object:
    """Return any JSON value, its lists as tuples."""
    _check_number(value, where)
    if isinstance(value, list):
        return tuple(_plain(item, f"{where}[{i}]") for i, item in enumerate(value))
    if isinstance(value, dict):
        return {key: _plain(item, f"{where}.{key}") for key, item in value.items()}
    return value


def _check_number(value: object, where: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where} is not a finite number")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{where} is a number of more than 64 bits")


def decode_fields(kind: type, value: object, where: str, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fields of a dataclass as keyword arguments, all but those of ``without``."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} has the wrong type")
    decoded = {}
    for name, hint, required in _fields_of(kind):
        if name in value and name not in without:
            decoded[name] = decode(hint, value[name], f"{where}.{name}")
        elif required and name not in without:
            raise ValueError(f"{where} has no {name}")
    return decoded


@cache
def _fields_of(kind: Any) -> tuple[tuple[str, Any, bool], ...]:
    hints = get_type_hints(kind)
    return tuple((f.name, hints[f.name], f.default is MISSING and f.default_factory is MISSING) for f in fields(kind))
