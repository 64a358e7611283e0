"""A folder of files by name that the processes of one server share; the latest ones, for as long as there is room."""

from __future__ import annotations

import os
from contextlib import suppress
from math import inf
from pathlib import Path
from uuid import uuid4


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
