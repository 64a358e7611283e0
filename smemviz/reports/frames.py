"""Recordings and launches as tables of pandas, which is loaded when one is asked for."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any

from smemviz.errors import InputError, MissingError
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.reports.data_tables import COLUMNS, REAL, WORDS, Rows, Table, tables

if TYPE_CHECKING:
    import pandas

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
