"""What our own commands are asked for from the dashboard: one at a time, each with its result or why it has none."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from smemviz.app.tasks.jobs import Job, Status
from smemviz.errors import InputError
from smemviz.recordings.dtypes import ConstantValue

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


@dataclass(frozen=True)
class _Asked(Generic[Key, Result]):
    """A key of one of several that share a job."""

    tasks: Tasks[Key, Result]
    key: Key


def own_command(verb: str, what: str, overrides: Mapping[str, ConstantValue], *more: str) -> list[str]:
    """Return what runs a verb of our own command line with constants, and prints JSON."""
    return [sys.executable, "-m", "smemviz", verb, what, *settings(overrides), *more, "--json"]


def settings(overrides: Mapping[str, ConstantValue]) -> list[str]:
    """Return constants as the command line takes them."""
    return [part for name, value in overrides.items() for part in ("--set", f"{name}={value}")]


class Tasks(Generic[Key, Result]):
    """Starts commands for keys by a job that others may share, and keeps what each printed, as ``read`` reads it.

    ``read`` raises an ``InputError`` for what cannot be used. ``answers`` are exit codes besides 0 with which a command
    has done what it should.
    """

    def __init__(self, job: Job, read: Callable[[Key, str], Result], answers: Sequence[int] = ()) -> None:
        self.allowed = job.allowed
        self._kept = 0
        self._job = job
        self._read = read
        self._answers = answers
        self._results: dict[Key, Result] = {}
        self._problems: dict[Key, str] = {}
        self._collected: Status | None = None
        self._lock = threading.Lock()

    @property
    def latest(self) -> int:
        """How many results have been kept; a page that knows a smaller number has not seen the latest."""
        self.collect()
        return self._kept

    def start(self, key: Key, command: Sequence[str]) -> bool:
        """Start a command; return False when something is running, or nothing may be started."""
        self.collect()
        started = self._job.start(_Asked(self, key), command, self._answers)
        if started:
            self._problems.pop(key, None)
        return started

    def cancel(self) -> None:
        """Stop what is running, if it was started here."""
        if self.running():
            self._job.cancel()

    def running(self) -> Status | None:
        """Say how what was started here is doing, by its key; None when nothing is running."""
        status = self.collect()
        key = self._key(status)
        return replace(status, key=key) if status.state == "running" and key is not None else None

    def result(self, key: Key) -> Result | None:
        """Return what the last command for a key found, None when there was none."""
        self.collect()
        return self._results.get(key)

    def problem(self, key: Key) -> str | None:
        """Say why the last command for a key failed, None when it did not."""
        self.collect()
        return self._problems.get(key)

    def collect(self) -> Status:
        """Keep the result of a command that has ended; say how the last one is doing, here or elsewhere."""
        status = self._job.status()
        key = self._key(status)
        with self._lock:
            if key is not None and status is not self._collected and status.state in ("done", "failed"):
                self._collected = status
                self._keep(key, status)
        return status

    def _keep(self, key: Key, status: Status) -> None:
        try:
            if status.state == "failed":
                raise InputError(status.problem)
            self._results[key] = self._read(key, status.output)
            self._kept += 1
        except InputError as error:
            self._problems[key] = str(error)

    def _key(self, status: Status) -> Key | None:
        asked = status.key
        return cast(Key, asked.key) if isinstance(asked, _Asked) and asked.tasks is self else None
