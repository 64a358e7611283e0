"""A recording: everything that one run captured, and its file, ``*.smem.npz``.

The file is a zip of ``metadata.json`` and one array per column of the requests. The rows of all launches follow each
other in every column; the metadata says how many belong to each. The integers are stored in the smallest type that
holds them. The same recording always gives the same bytes. ``file`` reads it.
"""

from __future__ import annotations

import importlib
import io
import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import RecordingError
from smemviz.recordings.archive import write_members, writing
from smemviz.recordings.data import Launch, Requests, Site, Totals
from smemviz.recordings.findings import Finding
from smemviz.recordings.measured import Calibration, Device
from smemviz.recordings.vocabulary import ConstantValue

if TYPE_CHECKING:
    import pandas

EngineName = Literal["gpu", "lockstep"]

SCHEMA = 1
MAX_REQUESTS = 1 << 18  # logged in one file: 141 MB once loaded
MAX_METADATA_BYTES = 24 << 20

METADATA = "metadata.json"
COLUMNS = {f.name: f"{f.name}.npy" for f in fields(Requests)}
TOTALS = {f.name: f"totals_{f.name}.npy" for f in fields(Totals)}
INTEGERS = ("|i1", "<i2", "<i4", "<i8")


def numbered(launches: Iterable[Launch]) -> list[tuple[Launch, int]]:
    """Return launches, each with its number among those of its kernel, from 0."""
    numbers: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)
    return [(launch, next(numbers[launch.kernel])) for launch in launches]


@dataclass(frozen=True)
class Recording:
    """Everything captured by one run of a kernel file. ``date`` is UTC, ISO 8601; ``version`` is smemviz's.

    ``calibration`` is what ``smemviz calibrate`` measured on the card before, if it did. ``sources`` holds the text of
    every other file that has a kernel or a site, by its name. ``unrecorded`` counts the launches of the run that were
    left out, as asked. ``view`` is, for CUDA C++, whether accesses are those of the source or those that the compiler
    leaves, and ``printed`` what its ``main()`` printed, up to a limit.
    """

    file: str
    source: str
    sha256: str
    constants: Mapping[str, ConstantValue]
    engine: EngineName
    device: Device | None
    date: str
    version: str
    launches: tuple[Launch, ...]
    findings: tuple[Finding, ...] = ()
    calibration: Calibration | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    unrecorded: int = 0
    view: Literal["source", "compiled"] = "source"
    printed: str = ""

    def __repr__(self) -> str:
        kernels = ", ".join(dict.fromkeys(launch.kernel for launch in self.launches))
        launches = f"{len(self.launches):,} launch{'' if len(self.launches) == 1 else 'es'}"
        return f"<Recording of {self.file} by {self.engine}: {launches}{' of ' if kernels else ''}{kernels}>"

    @property
    def mistakes(self) -> tuple[Finding, ...]:
        """The findings without those that do no harm."""
        return tuple(finding for finding in self.findings if not finding.harmless)

    def file_of(self, launch: Launch, site: Site | None = None) -> str:
        """Return the name of the file that a kernel, or one of its sites, is in."""
        return (site.file if site else "") or launch.file or self.file

    def source_of(self, launch: Launch, site: Site | None = None) -> str:
        """Return the text of that file."""
        return self.text(self.file_of(launch, site))

    def file_of_finding(self, finding: Finding) -> str:
        """Return the name of the file a finding's line is in: that of the sites in such a line, else its kernel's."""
        if finding.launch is None:
            return self.file
        launch = self.launches[finding.launch]
        files = {self.file_of(launch, site) for site in launch.sites if site.line == finding.line}
        return files.pop() if len(files) == 1 else self.file_of(launch)

    def text(self, file: str) -> str:
        """Return the text of a file by its name."""
        return self.source if file == self.file else self.sources[file]

    def __getitem__(self, kernel: str) -> Launch:
        """Return the first launch of a kernel, by the kernel's name."""
        for launch in self.launches:
            if launch.kernel == kernel:
                return launch
        names = ", ".join(dict.fromkeys(launch.kernel for launch in self.launches)) or "none"
        raise KeyError(f"no launch of {kernel!r} in this recording; it has: {names}")

    def __iter__(self) -> Iterator[Launch]:
        """Go through the launches, in the order they were made."""
        return iter(self.launches)

    def __len__(self) -> int:
        """Return how many launches were recorded."""
        return len(self.launches)

    def __bool__(self) -> bool:
        """Be true, with launches or without: a recording is there."""
        return True

    def __contains__(self, kernel: object) -> bool:
        """Tell whether a kernel of this name was launched, or a launch is one of these."""
        return any(kernel == launch.kernel or kernel is launch for launch in self.launches)

    def to_pandas(
        self, rows: Literal["sites", "requests", "lanes"] = "sites", cc: tuple[int, int] | None = None
    ) -> pandas.DataFrame:
        """Return a pandas table with a row per site of every launch, per logged request, or per lane of each.

        Its columns are those of ``smemviz export -o data.csv``: launch, kernel, file, line, column, source and every
        count. Addresses are bytes, counts integers, or ``<NA>`` where there is nothing to count. ``cc`` is the compute
        capability to count for, without it the one of the card that ran the launches, else 9.0.

        Example:
            import smemviz
            recording = smemviz.run("kernels/square.py", engine="lockstep")
            print(recording.to_pandas().groupby("kernel")["excess"].sum())

        Raises:
            InputError: for other rows, or a compute capability that is not known.
            MissingError: when pandas is not installed.
        """
        table: pandas.DataFrame = importlib.import_module("smemviz.reports.data_tables").recording_frame(self, rows, cc)
        return table

    def _repr_html_(self) -> str:
        """Return what a notebook shows; see ``smemviz.reports.notebook``."""
        shown: str = importlib.import_module("smemviz.reports.notebook").to_html(self)
        return shown

    def save(self, path: str | Path) -> None:
        """Write the recording to a ``*.smem.npz`` file; a file of that name is replaced only when it is complete.

        Raises:
            RecordingError: when the recording holds more than a file may.
            InputError: when the file cannot be written.
        """
        members = _members(self, path)
        with writing(path) as partial:
            write_members(partial, members)


def packed(recording: Recording, name: str) -> bytes:
    """Return what ``save`` would write; ``name`` is what errors call it.

    Raises:
        RecordingError: when the recording holds more than a file may.
    """
    content = io.BytesIO()
    write_members(content, _members(recording, name))
    return content.getvalue()


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
    members = {METADATA: metadata}
    requests = [launch.requests for launch in recording.launches] or [Requests.empty()]
    members |= {member: _npy([getattr(r, name) for r in requests]) for name, member in COLUMNS.items()}
    totals = [launch.totals for launch in recording.launches if launch.totals is not None]
    if totals:
        members |= {member: _npy([getattr(t, name) for t in totals]) for name, member in TOTALS.items()}
    return members


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
        column = column.astype(next(d for d in INTEGERS if np.iinfo(d).min <= low and high <= np.iinfo(d).max))
    content = io.BytesIO()
    np.lib.format.write_array(content, column.astype(column.dtype.newbyteorder("<"), copy=False), (1, 0), False)
    return content.getvalue()
