"""What runs of texts gave, as files of a folder that the processes of one server share; the latest ones."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

_MOST_BYTES = 1 << 28


class Result(NamedTuple):
    """What a run printed, and the content of its recording's file."""

    printed: str
    recording: bytes


class Results:
    """Results by what was run: a text, the name it goes by, and constants."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, *run: Any) -> Result | None:
        """Return a result, None where there is none."""
        try:
            printed, _, recording = self._path(run).read_bytes().partition(b"\n")
        except OSError:
            return None
        return Result(json.loads(printed), recording)

    def write(self, result: Result, *run: Any) -> None:
        """Keep a result, and forget the oldest for which there is no room; what cannot be written is run again."""
        draft = self._folder / f".{uuid4().hex}"
        try:
            draft.write_bytes(json.dumps(result.printed).encode() + b"\n" + result.recording)
            draft.replace(self._path(run))
        except OSError:
            return
        room = _MOST_BYTES
        for path, size in self._latest_first():
            room -= size
            if room < 0:
                path.unlink(missing_ok=True)

    def _path(self, run: tuple[Any, ...]) -> Path:
        return self._folder / hashlib.sha256(json.dumps(run).encode()).hexdigest()

    def _latest_first(self) -> list[tuple[Path, int]]:
        found = []
        for path in self._folder.glob("[0-9a-f]*"):
            try:
                status = path.stat()
            except OSError:  # another process has just forgotten it
                continue
            found.append((status.st_mtime, path, status.st_size))
        return [(path, size) for _, path, size in sorted(found, reverse=True)]
