"""What the child processes of a run launch: it is recorded there, and handed to the process that the run began in."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding


class Children:
    """What the child processes of one run recorded, in a folder that none but this run knows."""

    def __init__(self) -> None:
        self._own = self._seen = os.getpid()
        self._name = f"smemviz-{uuid.uuid4()}"
        self._before = (0, 0)

    @property
    def is_child(self) -> bool:
        """Whether this is another process than the one that the run began in."""
        return os.getpid() != self._own

    def enter(self, launches: list[Launch], findings: list[Finding]) -> None:
        """Note, before a launch, what a child that was just forked or started has of the process it came from."""
        if os.getpid() != self._seen:
            self._seen = os.getpid()
            self._before = len(launches), len(findings)

    def leave(self, launches: list[Launch], findings: list[Finding]) -> None:
        """Hand over, after a launch, all that a child recorded: it may be ended at any time."""
        if not self.is_child:
            return
        first, known = self._before
        folder = self._folder()
        folder.mkdir(mode=0o700, exist_ok=True)
        written = folder / f"{self._seen}.part"
        written.write_bytes(pickle.dumps((launches[first:], renumbered(findings[known:], -first))))
        written.replace(written.with_suffix(".pickle"))

    def collected(self) -> Iterator[tuple[list[Launch], list[Finding]]]:
        """Yield what each child recorded, and forget it."""
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


def renumbered(findings: Sequence[Finding], by: int) -> list[Finding]:
    """Return findings of launches that have other numbers elsewhere."""
    return [finding if finding.launch is None else replace(finding, launch=finding.launch + by) for finding in findings]


class _Entry:
    """What a child process that is started anew calls when it reads it."""

    def __init__(self, enter: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._call = enter, arguments

    def __reduce__(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        return self._call


@contextmanager
def entering(enter: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """Let every process that ``multiprocessing`` starts anew meanwhile call a function before it runs the script."""
    prepared = spawn.get_preparation_data

    def prepared_to_enter(name: str) -> dict[str, Any]:
        return {"smemviz": _Entry(enter, arguments), **prepared(name)}

    spawn.get_preparation_data = prepared_to_enter
    try:
        yield
    finally:
        spawn.get_preparation_data = prepared


def run_in_child(run: Callable[[], None]) -> None:
    """Let ``run`` execute the script in a child that was started anew, once it has its path and arguments."""
    spawn._fixup_main_from_path = lambda path: run()  # type: ignore[attr-defined]
