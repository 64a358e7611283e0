"""Which files a recording is of: every kernel's and every site's, by a name, with its text."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from smemviz.recordings.data import Launch


def gather_files(file: str, launches: Sequence[Launch]) -> tuple[tuple[Launch, ...], dict[str, str]]:
    """Return launches that name files as a recording of ``file`` does, and the text of the others by their names.

    A file below the folder of ``file`` is named as if from where ``file`` is; any other by its whole path.
    """
    texts: dict[str, str] = {}

    def named(path: str) -> str:
        if not path or path == file:
            return ""
        name = _name(path, file)
        texts[name] = "".join(linecache.getlines(path))
        return name

    def renamed(launch: Launch) -> Launch:
        own = named(launch.file)
        if not own and not any(site.file for site in launch.sites):
            return replace(launch, file="") if launch.file else launch
        sites = (replace(site, file=named(site.file) or file) if site.file else site for site in launch.sites)
        return replace(launch, file=own, sites=tuple(sites))

    return tuple(renamed(launch) for launch in launches), texts


def _name(path: str, file: str) -> str:
    folder = Path(file).parent
    resolved = Path(path).resolve()
    if resolved.is_relative_to(folder.resolve()):
        return (folder / resolved.relative_to(folder.resolve())).as_posix()
    return Path(path).as_posix()
