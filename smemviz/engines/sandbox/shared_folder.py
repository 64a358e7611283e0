"""What the processes of one server share: a folder of files by name, and what runs gave; the latest, as room allows."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

_MOST_BYTES = 1 << 28


class SharedFolder:
    """Files by name, at most so many and of so many bytes together; what has a name never changes."""

    def __init__(self, folder: Path, *, most_files: float = inf, most_bytes: float = inf) -> None:
        self._folder = folder
        self._most_files = most_files
        self._most_bytes = most_bytes
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, name: str) -> bytes | None:
        """Return what has this name, None where there is nothing."""
        try:
            return (self._folder / name).read_bytes()
        except OSError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Keep content, and forget what nobody wrote for longest; nothing happens where it cannot be kept."""
        path, draft = self._folder / name, self._folder / f".{uuid4().hex}"
        with suppress(OSError):
            if path.exists():
                path.touch()
                return
            draft.write_bytes(content)
            draft.replace(path)
            self._forget_oldest(path)

    def _forget_oldest(self, latest: Path) -> None:
        # Two files may have the same time, which some systems tell in steps of milliseconds.
        files = sorted(self._all(), key=lambda file: (file[0] == latest, file[1].st_mtime_ns), reverse=True)
        size = 0
        for number, (path, status) in enumerate(files):
            size += status.st_size
            if number >= self._most_files or size > self._most_bytes:
                path.unlink(missing_ok=True)

    def _all(self) -> list[tuple[Path, os.stat_result]]:
        """Return the files with what is known of them; drafts of processes that ended are among them."""
        files = []
        for path in self._folder.iterdir():
            with suppress(OSError):  # another process has just forgotten it
                files.append((path, path.stat()))
        return files


class Result(NamedTuple):
    """What a run printed, and the content of its recording's file."""

    printed: str
    recording: bytes


class Results:
    """Results by what was run: a text, the name it goes by, and constants."""

    def __init__(self, folder: Path) -> None:
        self._folder = SharedFolder(folder, most_bytes=_MOST_BYTES)

    def read(self, *run: Any) -> Result | None:
        """Return a result, None where there is none."""
        content = self._folder.read(name_of(run))
        if content is None:
            return None
        printed, _, recording = content.partition(b"\n")
        return Result(json.loads(printed), recording)

    def write(self, result: Result, *run: Any) -> None:
        """Keep a result, and forget the oldest for which there is no room; what cannot be written is run again."""
        self._folder.write(name_of(run), json.dumps(result.printed).encode() + b"\n" + result.recording)


def name_of(run: tuple[Any, ...]) -> str:
    """Return the name of what is run, another for anything else."""
    return hashlib.sha256(json.dumps(run).encode()).hexdigest()
