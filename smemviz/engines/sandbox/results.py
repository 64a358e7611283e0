"""What runs of texts gave, which the processes of one server share; the latest ones."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from smemviz.engines.sandbox.shared_folder import SharedFolder

_MOST_BYTES = 1 << 28


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
        content = self._folder.read(_name_of(run))
        if content is None:
            return None
        printed, _, recording = content.partition(b"\n")
        return Result(json.loads(printed), recording)

    def write(self, result: Result, *run: Any) -> None:
        """Keep a result, and forget the oldest for which there is no room; what cannot be written is run again."""
        self._folder.write(_name_of(run), json.dumps(result.printed).encode() + b"\n" + result.recording)


def _name_of(run: tuple[Any, ...]) -> str:
    return hashlib.sha256(json.dumps(run).encode()).hexdigest()
