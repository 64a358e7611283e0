"""The file of a recording, ``*.smem.npz``: a zip of ``metadata.json`` and one array per column of the requests.

The rows of all launches follow each other in every column; the metadata says how many belong to each. The integers
are stored in the smallest type that holds them. The same recording always gives the same bytes.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError, RecordingError
from smemviz.recordings.archive import Archive, open_archive, write_archive, write_members
from smemviz.recordings.checks import check_addresses, check_launch, check_recording, check_totals
from smemviz.recordings.data import WARP_SIZE, Launch, Recording, Requests, Totals
from smemviz.recordings.decode import decode_fields

SCHEMA = 1
MAX_REQUESTS = 1 << 18  # logged in one file: 141 MB once loaded
MAX_METADATA_BYTES = 6 << 20
MAX_TOTALS_ROWS = 1 << 16

_METADATA = "metadata.json"
_COLUMNS = {f.name: f"{f.name}.npy" for f in fields(Requests)}
_TOTALS = {f.name: f"totals_{f.name}.npy" for f in fields(Totals)}
_SECOND_AXIS = {"addresses": WARP_SIZE, "values": WARP_SIZE, "degrees": WARP_SIZE + 1}
_INTEGERS = ("|i1", "<i2", "<i4", "<i8")

_Columns = dict[str, NDArray[Any]]


def save(recording: Recording, path: str | Path) -> None:
    """Write a recording; a file of that name is replaced only when the new one is complete.

    Raises:
        RecordingError: when the recording holds more than a file may.
        InputError: when the file cannot be written.
    """
    members = _members(recording, path)
    try:
        write_archive(Path(path), members)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def packed(recording: Recording, name: str) -> bytes:
    """Return what ``save`` would write; ``name`` is what errors call it.

    Raises:
        RecordingError: when the recording holds more than a file may.
    """
    content = io.BytesIO()
    write_members(content, _members(recording, name))
    return content.getvalue()


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


def _members(recording: Recording, path: str | Path) -> dict[str, bytes]:
    logged = sum(len(launch.requests) for launch in recording.launches)
    if logged > MAX_REQUESTS:
        raise RecordingError(f"{path}: {logged} logged requests; a file holds {MAX_REQUESTS}. Launch fewer blocks")
    try:
        metadata = json.dumps(_metadata(recording), ensure_ascii=False, indent=1).encode()
    except UnicodeEncodeError:
        raise RecordingError(
            f"{path}: the name of {recording.file} or of a file it uses is not UTF-8; rename it"
        ) from None
    if len(metadata) > MAX_METADATA_BYTES:
        raise RecordingError(
            f"{path}: {len(metadata)} bytes of source and launches; a file holds {MAX_METADATA_BYTES}. "
            "Record fewer, with --max-launches or --kernel"
        )
    members = {_METADATA: metadata}
    requests = [launch.requests for launch in recording.launches] or [Requests.empty()]
    members |= {member: _npy([getattr(r, name) for r in requests]) for name, member in _COLUMNS.items()}
    totals = [launch.totals for launch in recording.launches if launch.totals is not None]
    if totals:
        members |= {member: _npy([getattr(t, name) for t in totals]) for name, member in _TOTALS.items()}
    return members


def load(path: str | Path) -> Recording:
    """Read a recording, trusting nothing in it.

    Raises:
        RecordingError: when there is no such file, or it is not a complete recording of a schema known here.
    """
    path = Path(path)
    try:
        if not path.exists():
            raise RecordingError(f"{path}: no such file")
        if not path.is_file():
            raise RecordingError(f"{path}: is not a file; name a *.smem.npz file")
        if path.suffix in (".py", ".cu"):
            raise RecordingError(f"{path}: is a kernel file; record it with smemviz run")
        with path.open("rb") as file, open_archive(file) as archive:
            return _read(archive)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise RecordingError(f"{path}: is not a recording: {error}") from None


def _metadata(recording: Recording) -> dict[str, Any]:
    launches = []
    for launch in recording.launches:
        data = {f.name: getattr(launch, f.name) for f in fields(launch) if f.name not in ("requests", "totals")}
        data["sites"] = [asdict(site) for site in launch.sites]
        data["arrays"] = [asdict(array) for array in launch.arrays]
        data["time"] = launch.time and asdict(launch.time)
        data["hardware"] = [asdict(row) for row in launch.hardware]
        data["counters"] = dict(launch.counters)
        launches.append(data | {"logged": len(launch.requests), "has_totals": launch.totals is not None})
    data = {"schema": SCHEMA} | {f.name: getattr(recording, f.name) for f in fields(recording)}
    data["constants"] = dict(recording.constants)
    data["sources"] = dict(recording.sources)
    data["device"] = recording.device and asdict(recording.device)
    data["launches"] = launches
    data["calibration"] = recording.calibration and asdict(recording.calibration)
    data["findings"] = [asdict(finding) for finding in recording.findings]
    return data


def _npy(parts: list[NDArray[Any]]) -> bytes:
    column = np.concatenate(parts)
    if column.dtype.kind == "i":
        low, high = (int(column.min()), int(column.max())) if column.size else (0, 0)
        column = column.astype(next(d for d in _INTEGERS if np.iinfo(d).min <= low and high <= np.iinfo(d).max))
    content = io.BytesIO()
    np.lib.format.write_array(content, column.astype(column.dtype.newbyteorder("<"), copy=False), (1, 0), False)
    return content.getvalue()


def _read(archive: Archive) -> Recording:
    if _METADATA not in archive.names:
        raise ValueError(f"it has no {_METADATA}")
    metadata = _parse(archive.read(_METADATA, MAX_METADATA_BYTES))
    launches = metadata.get("launches")
    if not isinstance(launches, list):
        raise ValueError("metadata.launches is no list")
    decoded = [_decode_launch(data, f"metadata.launches[{i}]") for i, data in enumerate(launches)]
    kept = decode_fields(Recording, metadata, "metadata", without=("launches",))
    check_recording(kept, len(decoded))
    files = {"", kept["file"], *kept.get("sources", ())}
    named = {name for launch, _, _ in decoded for name in (launch.get("file", ""), *(s.file for s in launch["sites"]))}
    if not named <= files:
        raise ValueError(f"it names the file {min(named - files)[-80:]!r} and does not hold it")

    rows = sum(logged for _, logged, _ in decoded)
    totals_rows = sum(len(launch["sites"]) for launch, _, has_totals in decoded if has_totals)
    if rows > MAX_REQUESTS or totals_rows > MAX_TOTALS_ROWS:
        raise ValueError(f"it declares {rows} requests; a file holds {MAX_REQUESTS}")
    has_any_totals = any(has_totals for _, _, has_totals in decoded)
    members = {_METADATA, *_COLUMNS.values(), *(_TOTALS.values() if has_any_totals else ())}
    if members != archive.names:
        name = min(members ^ archive.names)
        raise ValueError(f"its member {name[:80]!r} is {'missing' if name in members else 'unknown'}")

    columns = _read_columns(archive, _COLUMNS, rows)
    totals = _read_columns(archive, _TOTALS, totals_rows) if has_any_totals else {}
    check_totals(totals)
    return Recording(**kept, launches=tuple(_assemble(decoded, columns, totals)))


def _parse(content: bytearray) -> dict[str, Any]:
    try:
        metadata = json.loads(content.decode("utf-8"))
    except RecursionError:
        raise ValueError(f"{_METADATA} is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{_METADATA} is not JSON in UTF-8 ({error})") from None
    if b"\\ud" in content.lower():  # half of a letter, written as an escape, is JSON and no text
        try:
            json.dumps(metadata, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError(f"{_METADATA} holds text that is not Unicode") from None
    schema = metadata.get("schema") if isinstance(metadata, dict) else None
    if type(schema) is not int or schema < 1:
        raise ValueError(f"{_METADATA} names no schema")
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
        columns[name] = archive.read_array(member, shape, ("<f8",) if name == "values" else _INTEGERS)
        if name != "values" and rows and columns[name].min() < (-1 if name == "addresses" else 0):
            raise ValueError(f"its member {member} holds a number below 0")
    return columns


def _assemble(decoded: list[tuple[dict[str, Any], int, bool]], columns: _Columns, totals: _Columns) -> Iterator[Launch]:
    """Cut the columns into launches, after checking what each launch's rows refer to."""
    row = total_row = 0
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
        requests = Requests(**{name: column.astype(_dtype(name), copy=False) for name, column in own.items()})
        counted = None
        if has_totals:
            rows = slice(total_row, total_row + sites)
            counted = Totals(**{name: column[rows].astype(np.int64) for name, column in totals.items()})
            if np.any(counted.requests < np.bincount(requests.site, minlength=sites)):
                raise ValueError(f"{launch.kernel} has more requests logged than counted")
        row, total_row = row + logged, total_row + (sites if has_totals else 0)
        yield replace(launch, requests=requests, totals=counted)


def _dtype(column: str) -> type[np.generic]:
    if column == "values":
        return np.float64
    return np.int64 if column in ("addresses", "block") else np.int32
