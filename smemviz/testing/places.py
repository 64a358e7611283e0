"""Where a test's files are, and whether a recording is still that of its kernel file."""

from __future__ import annotations

from pathlib import Path

from smemviz.errors import InputError
from smemviz.frontends.numba.program import source_sha256
from smemviz.frontends.reading import read_source
from smemviz.recordings.recording import Recording


class Places:
    """The folders that a test's relative paths start at: its own, then pytest's root."""

    def __init__(self, test_file: Path, root: Path) -> None:
        self._folders = (test_file.parent, root)

    def find(self, path: str | Path) -> Path:
        """Return where a file is, relative to the working folder if it is in there.

        Raises:
            InputError: when it is nowhere.
        """
        for folder in self._folders:
            file = folder / path
            if file.exists():
                return self._short(file)
        folders = " or ".join(dict.fromkeys(str(folder) for folder in self._folders))
        where = "" if Path(path).is_absolute() else f" in {folders}"
        raise InputError(f"{path}: no such file{where}")

    def _short(self, file: Path) -> Path:
        here = Path.cwd()
        resolved = file.resolve()
        return resolved.relative_to(here) if resolved.is_relative_to(here) else resolved


def check_fresh(recording: Recording, file: Path, places: Places, source: str | Path | None) -> None:
    """Refuse a recording made from another version of its kernel file, or of a file its kernels call into.

    Raises:
        InputError: in one line that says how to record again.
    """
    for name, text in {recording.file: recording.source, **recording.sources}.items():
        try:
            now = places.find(source if source is not None and name == recording.file else name)
        except InputError:
            remedy = "name the kernel file: smem.load(path, source=...)"
            raise InputError(f"{file}: was recorded from {name}, which is not here; {remedy}") from None
        if source_sha256(read_source(now)) != source_sha256(text):
            raise InputError(f"{file}: was recorded from another version of {now.as_posix()}; record it again")
