"""Times of launches: those in recordings, and those measured on this machine since the server started."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from smemviz.app.jobs import Job, Status
from smemviz.app.library import RunKey, Shown
from smemviz.calibration import calibration_of
from smemviz.commands.progress import LINES
from smemviz.constants import ConstantValue
from smemviz.decode import decode
from smemviz.engines.choose import gpu_engine
from smemviz.errors import InputError, MissingError
from smemviz.figures.matter import Measured
from smemviz.program import read_program
from smemviz.recording import Device, Launch, Timing

_PROGRESS = re.compile(r"(\d+)/\d+ (.*)")


@dataclass(frozen=True)
class Times:
    """What ``smemviz time --json`` found: kernels and their times in the order they were launched."""

    device: Device
    kernels: tuple[str, ...]
    times: tuple[Timing, ...]


@dataclass(frozen=True)
class _Task:
    path: Path
    run: RunKey


@dataclass(frozen=True)
class Running:
    """How a measurement is doing: of which file, for how long, at which launch."""

    file: str
    seconds: float
    done: int
    kernel: str


class Stopwatch:
    """Measures kernel files by our own command line, one at a time, and keeps what it found by source and constants.

    Not ``allowed``, it says that there is no GPU.
    """

    def __init__(self, job: Job | None = None, *, allowed: bool = True) -> None:
        self._allowed = allowed
        self._job = job or Job(environment=LINES)
        self._found: dict[RunKey, Times] = {}
        self._problems: dict[RunKey, str] = {}
        self._collected: Status | None = None
        self._kept = 0
        self._gpu_lock = threading.Lock()

    @property
    def available(self) -> bool:
        """Whether this machine has a GPU that Numba can use; the first to ask waits for CUDA to be loaded."""
        if not self._allowed:
            return False
        with self._gpu_lock:
            return self._available

    @cached_property
    def _available(self) -> bool:
        try:
            return bool(gpu_engine().available())
        except MissingError:
            return False

    @property
    def latest(self) -> int:
        """How many measurements have been kept; a page that knows a smaller number has not seen the latest."""
        self._collect()
        return self._kept

    def start(self, shown: Shown, path: Path) -> bool:
        """Start measuring a kernel file with the constants shown; return False when something is being measured."""
        self._collect()
        started = self._job.start(_Task(path, key_of(shown)), command(path, shown.program.overrides))
        if started:
            self._problems.pop(key_of(shown), None)
        return started

    def cancel(self) -> None:
        """Stop measuring."""
        self._job.cancel()

    def running(self) -> Running | None:
        """Say what is being measured, None when nothing is."""
        status = self._collect()
        if status.state != "running" or not isinstance(status.key, _Task):
            return None
        said = _PROGRESS.fullmatch(status.said)
        return Running(status.key.path.name, status.seconds, int(said[1]) if said else 0, said[2] if said else "")

    def problem(self, shown: Shown) -> str | None:
        """Say why the last measurement of what is shown failed, None when it did not."""
        self._collect()
        return self._problems.get(key_of(shown))

    def measured(self, shown: Shown, launch: Launch) -> Measured | None:
        """Return a launch with its time: as measured here, else as in the GPU recording with the same constants."""
        self._collect()
        index = next(i for i, one in enumerate(shown.recording.launches) if one is launch)
        verified = shown.recorded.launches[index] if shown.recorded and shown.why is None else None
        found = self._found.get(key_of(shown))
        if found and index < len(found.times) and found.kernels[index] == launch.kernel:
            same_card = verified and shown.recorded and shown.recorded.device == found.device
            counted = verified if verified and same_card else replace(launch, hardware=())
            return Measured(counted, found.times[index], found.device, calibration_of(found.device.name), here=True)
        if verified and verified.time and shown.recorded and shown.recorded.device:
            return Measured(verified, verified.time, shown.recorded.device, shown.recorded.calibration)
        return None

    def _collect(self) -> Status:
        """Keep the result of a measurement that has ended."""
        status = self._job.status()
        if status is self._collected or status.state not in ("done", "failed") or not isinstance(status.key, _Task):
            return status
        self._collected = status
        task = status.key
        try:
            if status.state == "failed":
                raise InputError(status.problem)
            if read_program(task.path).sha256 != task.run[0]:
                raise InputError("the file changed while it was measured")
            self._found[task.run] = _times(status.output)
            self._kept += 1
        except InputError as error:
            self._problems[task.run] = str(error)
        return status


def key_of(shown: Shown) -> RunKey:
    """Return what a time belongs to: a source and the values of its constants."""
    return shown.program.sha256, shown.program.variant, tuple(shown.program.values.items())


def command(path: Path, overrides: Mapping[str, ConstantValue]) -> list[str]:
    """Return the command that measures a kernel file."""
    settings = [part for name, value in overrides.items() for part in ("--set", f"{name}={value}")]
    return [sys.executable, "-m", "smemviz", "time", str(path), *settings, "--json"]


def _times(output: str) -> Times:
    """Read what ``smemviz time --json`` printed.

    Raises:
        InputError: when it printed something else.
    """
    try:
        data: dict[str, Any] = json.loads(output)
        launches = data["launches"]
        return Times(
            decode(Device, data["device"], "device"),
            tuple(launch["kernel"] for launch in launches),
            tuple(decode(Timing, launch["time"], "time") for launch in launches),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"its output cannot be read: {error}") from None
