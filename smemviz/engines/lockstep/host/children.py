"""Launches in processes that a script forks: each hands over what it recorded, and the first process reads it."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from smemviz.recordings.data import Finding, Launch


class Children:
    """What the forked processes of one run recorded, in a folder that none but this run knows."""

    def __init__(self) -> None:
        self._own = self._seen = os.getpid()
        self._name = f"smemviz-{uuid.uuid4()}"
        self._before = (0, 0)

    def enter(self, launches: list[Launch], findings: list[Finding]) -> None:
        """Note, before a launch, what a process that was just forked has of the one it came from."""
        if os.getpid() != self._seen:
            self._seen = os.getpid()
            self._before = len(launches), len(findings)

    def leave(self, launches: list[Launch], findings: list[Finding]) -> None:
        """Hand over, after a launch, all that a forked process recorded: it may be ended at any time."""
        if self._seen == self._own:
            return
        first, known = self._before
        folder = self._folder()
        folder.mkdir(mode=0o700, exist_ok=True)
        written = folder / f"{self._seen}.part"
        written.write_bytes(pickle.dumps((launches[first:], moved(findings[known:], -first))))
        written.replace(written.with_suffix(".pickle"))

    def collected(self) -> Iterator[tuple[list[Launch], list[Finding]]]:
        """Yield what each forked process recorded, and forget it."""
        if os.getpid() != self._own:
            return
        try:
            folder = self._folder()
        except FileNotFoundError:  # nothing can be written here, so nothing was handed over
            return
        if folder.exists():
            for path in sorted(folder.glob("*.pickle")):
                yield pickle.loads(path.read_bytes())
            shutil.rmtree(folder)

    def _folder(self) -> Path:
        """Return the folder; looked for when it is needed, for the editor's processes may write nowhere."""
        return Path(tempfile.gettempdir(), self._name)


def moved(findings: list[Finding], by: int) -> list[Finding]:
    """Return findings of launches that have other numbers elsewhere."""
    return [finding if finding.launch is None else replace(finding, launch=finding.launch + by) for finding in findings]
