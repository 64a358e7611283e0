"""A ``.cu`` file and the headers beside it, written for the host's compiler to the same places under another folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from smemviz.frontends.cuda.host.rewriting import host_text
from smemviz.frontends.cuda.includes import included
from smemviz.frontends.cuda.text.declarations import macros_of, specifiers_of


def own_files(source: str, file: str, folders: Sequence[str]) -> dict[Path, str]:
    """Return the text of a file, and of every header that it includes from its folder or from ``folders``, by path."""
    path = Path(file).resolve()
    texts = {path: source}
    waiting = [path]
    while waiting:
        including = waiting.pop()
        for name, _line, quoted in included(texts[including], str(including)):
            found = find(name, including.parent if quoted else None, folders)
            if found is not None and found not in texts:
                texts[found] = found.read_text(encoding="utf-8-sig", errors="replace").replace("\r\n", "\n")
                waiting.append(found)
    return texts


def find(name: str, beside: Path | None, folders: Sequence[str]) -> Path | None:
    """Return a header as a compiler finds it: beside what includes it, then in each folder."""
    places = [*([beside] if beside else []), *(Path(folder).resolve() for folder in folders)]
    paths = (Path(os.path.normpath(place / name)) for place in places)
    return next((path for path in paths if os.path.isfile(path)), None)


def staged(texts: dict[Path, str], into: Path) -> dict[Path, Path]:
    """Write what the host's compiler reads in place of each file, and return where."""
    specifiers = specifiers_of(macros_of(texts.values()))
    places = {}
    for path, text in texts.items():
        places[path] = within(path, into)
        places[path].parent.mkdir(parents=True, exist_ok=True)
        places[path].write_text(host_text(text, path.as_posix(), specifiers), encoding="utf-8")
    return places


def within(path: Path, folder: Path) -> Path:
    """Return where a path of this machine is when another folder is its root."""
    return folder.joinpath(*path.parts[1:])
