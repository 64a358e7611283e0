"""A recording as rows and columns: a row per lane of each request, per request, or per site.

The names and units of the columns are the same in CSV and Parquet. What a row cannot have is empty, or null.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError, MissingError
from smemviz.model.counting.costs import RequestCosts, request_costs
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.paths import installing
from smemviz.printable import spreadsheet_cell
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.views.columns import COLUMNS as COUNTED

if TYPE_CHECKING:
    import pandas

Rows = Literal["lanes", "requests", "sites"]

_LAUNCH = ("launch", "kernel", "launch_requests", "launch_missing")
_SITE = ("file", "line", "column", "source", "function", "array", "space", "op", "width")
_REQUEST = ("block", "warp", "step", "epoch")
_COSTS = RequestCosts._fields
COLUMNS: dict[Rows, tuple[str, ...]] = {
    "lanes": (*_LAUNCH, *_SITE, *_REQUEST, "lane", "address", "bank", "value", *_COSTS),
    "requests": (*_LAUNCH, *_SITE, *_REQUEST, "lanes", *_COSTS),
    "sites": (*_LAUNCH, *_SITE, *(column.name for column in COUNTED), "complete"),
}
WORDS = {"kernel", "file", "source", "function", "array", "space", "op"}
REAL = {"value", *(column.name for column in COUNTED if column.real)}
_CHUNK = 1 << 12  # requests; 131,072 rows of lanes

Column = Sequence[Any]
Table = dict[str, Column]


def tables(
    recording: Recording | None, launches: Sequence[tuple[int, Launch]], rows: Rows = "lanes", hardware: Hardware = H200
) -> Iterator[Table]:
    """Return the rows of launches, each with its number in the recording, in pieces: column by column, None for null.

    ``launch_requests`` is how many requests the launch made, ``launch_missing`` how many of them were not logged and
    have no row. ``address`` is in bytes, ``value`` what a store to shared memory wrote. Without a recording no ``file``
    is told.
    """
    for number, launch in launches:
        if rows == "sites":
            yield _sites(recording, number, launch, hardware)
            continue
        for first in range(0, len(launch.requests), _CHUNK):
            which = np.arange(first, min(first + _CHUNK, len(launch.requests)))
            yield _requests(recording, number, launch, which, hardware, of_lanes=rows == "lanes")


def write_csv(path: Path, pieces: Iterator[Table], rows: Rows) -> None:
    """Write tables as CSV (RFC 4180, UTF-8)."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS[rows])
        for piece in pieces:
            columns = [map(spreadsheet_cell, piece[n]) if n in WORDS else piece[n] for n in COLUMNS[rows]]
            writer.writerows(zip(*columns, strict=True))


def require_parquet() -> None:
    """Make sure that Parquet can be written.

    Raises:
        MissingError: when pyarrow is not there.
    """
    if find_spec("pyarrow") is None:
        raise MissingError(f"Parquet needs pyarrow: {installing('parquet')}; a .csv needs nothing")


def write_parquet(path: Path, pieces: Iterator[Table], rows: Rows, facts: dict[str, str]) -> None:
    """Write tables as Parquet; ``facts`` go into the metadata of its schema."""
    require_parquet()
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {
        name: pa.string() if name in WORDS else pa.float64() if name in REAL else pa.int64() for name in COLUMNS[rows]
    }
    if "complete" in kinds:
        kinds["complete"] = pa.bool_()
    schema = pa.schema(list(kinds.items()), metadata=facts)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for piece in pieces:
            columns = [pa.array(piece[name], kind) for name, kind in kinds.items()]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def _launch_columns(number: int, launch: Launch, rows: int) -> Table:
    values = (number, launch.kernel, launch.request_count, launch.missing)
    return {name: [value] * rows for name, value in zip(_LAUNCH, values, strict=True)}


def _site_columns(recording: Recording | None, launch: Launch, site: Sequence[int]) -> Table:
    """Return what the sites say, a row for each number of one."""
    facts = [
        {name: getattr(site, name) for name in _SITE} | {"file": recording and recording.file_of(launch, site)}
        for site in launch.sites
    ]
    return {name: [facts[i][name] for i in site] for name in _SITE}


def _sites(recording: Recording | None, number: int, launch: Launch, hardware: Hardware) -> Table:
    sites = range(len(launch.sites))
    return {
        **_launch_columns(number, launch, len(sites)),
        **_site_columns(recording, launch, sites),
        **{column.name: [column.of_site(launch, i, hardware) for i in sites] for column in COUNTED},
        "complete": [row.complete for row in summarize(launch, hardware)],
    }


def _requests(
    recording: Recording | None,
    number: int,
    launch: Launch,
    which: NDArray[np.intp],
    hardware: Hardware,
    *,
    of_lanes: bool,
) -> Table:
    requests = launch.requests.select(which)
    active = requests.addresses >= 0
    costs = request_costs(launch, which, hardware)
    row, lane = np.nonzero(active) if of_lanes else (np.arange(len(which)), np.zeros(0, np.intp))
    columns: Table = {
        **_launch_columns(number, launch, len(row)),
        **_site_columns(recording, launch, requests.site[row].tolist()),
        **{name: getattr(requests, name)[row].tolist() for name in _REQUEST},
        **{name: [None if cost < 0 else cost for cost in getattr(costs, name)[row].tolist()] for name in _COSTS},
    }
    if not of_lanes:
        return {**columns, "lanes": active.sum(axis=1).tolist()}
    address = requests.addresses[row, lane]
    shared = launch.in_shared[requests.site[row]]
    bank = np.where(shared, address // hardware.bank_bytes % hardware.banks, -1)
    value = requests.values[row, lane]
    return {
        **columns,
        "lane": lane.tolist(),
        "address": address.tolist(),
        "bank": [None if number < 0 else number for number in bank.tolist()],
        "value": [None if nothing else number for number, nothing in zip(value.tolist(), np.isnan(value), strict=True)],
    }


# -- tables of pandas, which is loaded when one is asked for

_OF_RECORDINGS = ("launch", "file")  # which a launch by itself does not know


def recording_frame(recording: Recording, rows: Rows, cc: tuple[int, int] | None) -> pandas.DataFrame:
    """Return the rows of all launches of a recording."""
    if rows not in COLUMNS:
        raise InputError(f"rows={rows!r}: a row is one of {', '.join(map(repr, COLUMNS))}")
    hardware = Hardware.of(recording) if cc is None else Hardware(cc)
    return _frame(COLUMNS[rows], tables(recording, tuple(enumerate(recording)), rows, hardware))


def launch_frame(launch: Launch, cc: tuple[int, int]) -> pandas.DataFrame:
    """Return a row for each site of a launch."""
    columns = tuple(name for name in COLUMNS["sites"] if name not in _OF_RECORDINGS)
    return _frame(columns, tables(None, [(0, launch)], "sites", Hardware(cc)))


def _frame(columns: tuple[str, ...], pieces: Any) -> pandas.DataFrame:
    if find_spec("pandas") is None:
        raise MissingError("to_pandas needs pandas: pip install pandas")
    import pandas as pd

    parts: list[Table] = list(pieces)
    whole = {
        name: pd.Series(list(chain.from_iterable(part[name] for part in parts)), dtype=_kind(name)) for name in columns
    }
    return pd.DataFrame(whole)


def _kind(name: str) -> str:
    """Return the type of a column: integers stay integers where some are missing."""
    return "str" if name in WORDS else "float64" if name in REAL else "boolean" if name == "complete" else "Int64"
