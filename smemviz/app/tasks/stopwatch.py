"""Times of launches: those in recordings, and those measured on this machine since the server started."""

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from smemviz.app.library import RunKey, ShownRun
from smemviz.app.tasks.jobs import Job, Tasks, own_command
from smemviz.engines.backend import gpu_engine, has_driver
from smemviz.errors import InputError, MissingError
from smemviz.frontends.reading import read_program
from smemviz.progress import LINES
from smemviz.recordings.calibration import calibration_for, calibration_of
from smemviz.recordings.checks import decode
from smemviz.recordings.data import Launch
from smemviz.recordings.measured import Device, Timing
from smemviz.recordings.vocabulary import ConstantValue
from smemviz.wording.impact import Measured

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

    With a job that may start nothing it says that there is no GPU.
    """

    def __init__(self, job: Job | None = None) -> None:
        self._tasks = Tasks(job or Job(environment=LINES), _read)
        self.cancel = self._tasks.cancel
        self._gpu_lock = threading.Lock()

    @property
    def available(self) -> bool:
        """Whether this machine has a GPU that Numba can use; the first to ask waits for CUDA to be loaded."""
        if not self._tasks.allowed:
            return False
        with self._gpu_lock:
            return self._available

    @cached_property
    def _available(self) -> bool:
        try:
            return has_driver() and bool(gpu_engine().available())
        except MissingError:
            return False

    @property
    def latest(self) -> int:
        """How many measurements have been kept; a page that knows a smaller number has not seen the latest."""
        return self._tasks.latest

    def start(self, shown_run: ShownRun, path: Path) -> bool:
        """Start measuring a kernel file with the constants shown; return False when something is being measured."""
        return self._tasks.start(_task(shown_run), command(path, shown_run.program.overrides))

    def running(self) -> Running | None:
        """Say what is being measured, None when nothing is."""
        status = self._tasks.running()
        if status is None:
            return None
        assert isinstance(status.key, _Task)
        step = _PROGRESS.fullmatch(status.message)
        return Running(status.key.path.name, status.seconds, int(step[1]) if step else 0, step[2] if step else "")

    def problem(self, shown_run: ShownRun) -> str | None:
        """Say why the last measurement of what is shown failed, None when it did not."""
        return self._tasks.problem(_task(shown_run))

    def measured(self, shown_run: ShownRun, launch: Launch) -> Measured | None:
        """Return a launch with its time: as measured here, else as in the GPU recording with the same constants."""
        index = next(i for i, other in enumerate(shown_run.recording.launches) if other is launch)
        verified = shown_run.recorded.launches[index] if shown_run.recorded and shown_run.why is None else None
        times = self._tasks.result(_task(shown_run))
        if times and index < len(times.times) and times.kernels[index] == launch.kernel:
            same_card = verified and shown_run.recorded and shown_run.recorded.device == times.device
            counted = verified if verified and same_card else replace(launch, hardware=())
            return Measured(counted, times.times[index], times.device, calibration_of(times.device.name), here=True)
        if verified and verified.time and shown_run.recorded and shown_run.recorded.device:
            return Measured(verified, verified.time, shown_run.recorded.device, calibration_for(shown_run.recorded))
        return None


def key_of(shown_run: ShownRun) -> RunKey:
    """Return what a time belongs to: a source and the values of its constants."""
    return shown_run.program.sha256, shown_run.program.variant, tuple(shown_run.program.values.items())


def _task(shown_run: ShownRun) -> _Task:
    return _Task(Path(shown_run.program.file), key_of(shown_run))


def command(path: Path, overrides: Mapping[str, ConstantValue]) -> list[str]:
    """Return the command that measures a kernel file."""
    return own_command("time", str(path), overrides)


def _read(task: _Task, output: str) -> Times:
    if read_program(task.path).sha256 != task.run[0]:
        raise InputError("the file changed while it was measured")
    data: dict[str, Any] = json.loads(output)
    return Times(
        decode(Device, data["device"], "device"),
        tuple(launch["kernel"] for launch in data["launches"]),
        tuple(decode(Timing, launch["time"], "time") for launch in data["launches"]),
    )
