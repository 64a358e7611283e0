"""Reading the file of a recording, which may come from anywhere; ``recording`` says what is in it."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import RecordingError
from smemviz.languages import is_kernel_file
from smemviz.recordings.archive import Archive, open_archive
from smemviz.recordings.checks import check_addresses, check_launch, check_recording, check_totals, decode_fields
from smemviz.recordings.data import WARP_SIZE, Launch, Requests, Totals
from smemviz.recordings.findings import as_recorded
from smemviz.recordings.recording import (
    COLUMNS,
    INTEGERS,
    MAX_METADATA_BYTES,
    MAX_REQUESTS,
    METADATA,
    SCHEMA,
    TOTALS,
    Recording,
)

MAX_TOTALS_ROWS = 1 << 16

_SECOND_AXIS = {"addresses": WARP_SIZE, "values": WARP_SIZE, "degrees": WARP_SIZE + 1}

_Columns = dict[str, NDArray[Any]]


def unpacked(content: bytes, name: str) -> Recording:
    """Read what ``packed`` returned, trusting nothing in it.

    Raises:
        RecordingError: when it is no recording.
    """
    try:
        with open_archive(io.BytesIO(content)) as archive:
            return _read(archive)
    except ValueError as error:
        raise RecordingError(f"{name}: is not a recording: {error}") from None


def load(path: str | Path) -> Recording:
    """Read a recording, a ``*.smem.npz`` file, trusting nothing in it.

    Example:
        import smemviz
        smemviz.run("kernels/square.py", engine="lockstep").save("square.smem.npz")
        for launch in smemviz.load("square.smem.npz"):
            print(launch.kernel, sum(site.excess or 0 for site in launch.sites))

    Raises:
        RecordingError: when there is no such file, or it is not a complete recording of a schema known here.
    """
    path = Path(path)
    try:
        if not path.exists():
            raise RecordingError(f"{path}: no such file")
        if not path.is_file():
            raise RecordingError(f"{path}: is not a file; name a *.smem.npz file")
        if is_kernel_file(path):
            raise RecordingError(f"{path}: is a kernel file; record it with smemviz run")
        with path.open("rb") as file, open_archive(file) as archive:
            return _read(archive)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise RecordingError(f"{path}: is not a recording: {error}") from None


def _read(archive: Archive) -> Recording:
    if METADATA not in archive.names:
        raise ValueError(f"it has no {METADATA}")
    metadata = _parse(archive.read(METADATA, MAX_METADATA_BYTES))
    launches = metadata.get("launches")
    if not isinstance(launches, list):
        raise ValueError("metadata.launches is not a list")
    decoded = [_decode_launch(data, f"metadata.launches[{i}]") for i, data in enumerate(launches)]
    run = decode_fields(Recording, metadata, "metadata", without=("launches",))
    check_recording(run, len(decoded))
    run["findings"] = tuple(map(as_recorded, run.get("findings", ())))
    files = {"", run["file"], *run.get("sources", ())}
    used = {name for launch, _, _ in decoded for name in (launch.get("file", ""), *(s.file for s in launch["sites"]))}
    if not used <= files:
        raise ValueError(f"it names the file {min(used - files)[-80:]!r} and does not hold it")

    rows = sum(logged for _, logged, _ in decoded)
    totals_rows = sum(len(launch["sites"]) for launch, _, has_totals in decoded if has_totals)
    if rows > MAX_REQUESTS or totals_rows > MAX_TOTALS_ROWS:
        raise ValueError(f"it declares {rows} requests; a file holds {MAX_REQUESTS}")
    has_any_totals = any(has_totals for _, _, has_totals in decoded)
    members = {METADATA, *COLUMNS.values(), *(TOTALS.values() if has_any_totals else ())}
    if members != archive.names:
        name = min(members ^ archive.names)
        raise ValueError(f"its member {name[:80]!r} is {'missing' if name in members else 'unknown'}")

    columns = _read_columns(archive, COLUMNS, rows)
    totals = _read_columns(archive, TOTALS, totals_rows) if has_any_totals else {}
    check_totals(totals)
    return Recording(**run, launches=tuple(_assemble(decoded, columns, totals)))


def _parse(content: bytearray) -> dict[str, Any]:
    try:
        metadata = json.loads(content.decode("utf-8"))
    except RecursionError:
        raise ValueError(f"{METADATA} is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{METADATA} is not JSON in UTF-8 ({error})") from None
    if b"\\ud" in content.lower():  # half of a letter, written as an escape, is JSON and no text
        try:
            json.dumps(metadata, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError(f"{METADATA} holds text that is not Unicode") from None
    schema = metadata.get("schema") if isinstance(metadata, dict) else None
    if type(schema) is not int or schema < 1:
        raise ValueError(f"{METADATA} names no schema")
    if schema > SCHEMA:
        raise ValueError(f"it has schema {schema} and this smemviz reads {SCHEMA}; update smemviz")
    assert isinstance(metadata, dict)
    return metadata


def _decode_launch(data: object, where: str) -> tuple[dict[str, Any], int, bool]:
    """Return a launch's fields but its arrays, how many requests are logged, and whether it has totals."""
    launch = decode_fields(Launch, data, where, without=("requests", "totals"))
    assert isinstance(data, dict)
    logged, has_totals = data.get("logged"), data.get("has_totals")
    if type(logged) is not int or logged < 0 or type(has_totals) is not bool:
        raise ValueError(f"{where} does not say how many requests are logged")
    check_launch(launch, where)
    return launch, logged, has_totals


def _read_columns(archive: Archive, members: dict[str, str], rows: int) -> _Columns:
    columns = {}
    for name, member in members.items():
        shape = (rows, _SECOND_AXIS[name]) if name in _SECOND_AXIS else (rows,)
        columns[name] = archive.read_array(member, shape, ("<f8",) if name == "values" else INTEGERS)
        if name != "values" and rows and columns[name].min() < (-1 if name == "addresses" else 0):
            raise ValueError(f"its member {member} holds a number below 0")
    return columns


def _assemble(decoded: list[tuple[dict[str, Any], int, bool]], columns: _Columns, totals: _Columns) -> Iterator[Launch]:
    """Cut the columns into launches, after checking what each launch's rows refer to."""
    row = total_row = 0
    dtypes = {name: getattr(Requests.empty(), name).dtype for name in COLUMNS}
    for data, logged, has_totals in decoded:
        launch = Launch(**data, requests=Requests.empty())
        sites = len(launch.sites)
        own = {name: column[row : row + logged] for name, column in columns.items()}
        limits = {"site": sites, "block": math.prod(launch.grid), "warp": launch.warps_per_block}
        for name in ("site", "block", "warp", "step", "epoch"):
            limit = limits.get(name, 1 << 31)
            if logged and int(own[name].max()) >= limit:
                raise ValueError(f"{launch.kernel} has a request whose {name} is not below {limit}")
        check_addresses(launch.sites, own["site"], own["addresses"], launch.kernel)
        requests = Requests(**{name: column.astype(dtypes[name], copy=False) for name, column in own.items()})
        counted = None
        if has_totals:
            rows = slice(total_row, total_row + sites)
            counted = Totals(**{name: column[rows].astype(np.int64) for name, column in totals.items()})
            if np.any(counted.requests < np.bincount(requests.site, minlength=sites)):
                raise ValueError(f"{launch.kernel} has more requests logged than counted")
        row, total_row = row + logged, total_row + (sites if has_totals else 0)
        yield replace(launch, requests=requests, totals=counted)
