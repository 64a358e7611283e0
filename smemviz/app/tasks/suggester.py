"""Suggestions for kernels: those stored beside a kernel file, and those worked out here by ``smemviz suggest``."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from smemviz.app.library import RunKey, ShownRun
from smemviz.app.tasks.jobs import Job, Tasks, own_command
from smemviz.app.tasks.stopwatch import key_of
from smemviz.errors import InputError
from smemviz.paths import suggestions_for
from smemviz.progress import LINES
from smemviz.recordings.vocabulary import ConstantValue

Facts = dict[str, Any]  # what ``smemviz suggest --json`` prints

_FAILED_A_CHECK = 1  # the exit code of a command whose output holds all the same


@dataclass(frozen=True)
class _Task:
    run: RunKey
    kernel: str


class Suggester:
    """Runs our own command line, one kernel at a time, and keeps what it found by source, constants and kernel."""

    def __init__(self, job: Job | None = None) -> None:
        self._tasks = Tasks(job or Job(environment=LINES), _read, (_FAILED_A_CHECK,))
        self.cancel, self.running = self._tasks.cancel, self._tasks.running

    def start(self, shown_run: ShownRun, path: Path, kernel: str) -> bool:
        """Start on a kernel of a file with the constants shown; return False when another is being worked on."""
        line = command(path, kernel, shown_run.program.overrides, shown_run.program.variant)
        return self._tasks.start(_Task(key_of(shown_run), kernel), line)

    def problem(self, shown_run: ShownRun, kernel: str) -> str | None:
        """Say why the last try failed, None when it did not."""
        return self._tasks.problem(_Task(key_of(shown_run), kernel))

    def result(self, shown_run: ShownRun, path: Path, kernel: str) -> Facts | None:
        """Return what was found for a kernel here, else what is stored beside its file for the same text."""
        return self._tasks.result(_Task(key_of(shown_run), kernel)) or _stored(shown_run, path)


def command(path: Path, kernel: str, overrides: Mapping[str, ConstantValue], view: str = "") -> list[str]:
    """Return the command that suggests layouts for a kernel of a file; ``view`` is one of CUDA C++."""
    return own_command("suggest", f"{path}:{kernel}", overrides, *(("--view", view) if view else ()))


def _read(task: _Task, output: str) -> Facts:
    facts: Facts = json.loads(output)
    _ = facts["sha256"], facts["suggestions"], facts["refused"], facts["notes"]
    if facts["sha256"] != task.run[0]:
        raise InputError("the file changed meanwhile")
    return facts


def _stored(shown_run: ShownRun, path: Path) -> Facts | None:
    """Return what is stored for the text and the constants that are shown."""
    beside = suggestions_for(path)
    if beside is None:
        return None
    for facts in _load(beside, beside.stat().st_mtime_ns):
        if facts["sha256"] == shown_run.program.sha256 and facts["constants"] == shown_run.program.values:
            return facts
    return None


@lru_cache(maxsize=8)
def _load(path: Path, changed: int) -> tuple[Facts, ...]:
    data = json.loads(path.read_text(encoding="utf-8"))
    return tuple({**facts, "measured_on": data["device"]["name"]} for facts in data["files"])
