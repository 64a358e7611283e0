"""The headers that a text includes: those beside it are read here, and each has to be found before NVRTC starts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from smemviz.errors import KernelFileError
from smemviz.frontends.cuda.headers import HEADERS
from smemviz.frontends.cuda.lexing import Lines, scan
from smemviz.frontends.cuda.nvrtc import include_folders
from smemviz.messages import said

_INCLUDE = re.compile(r'#\s*include\s*(?:"(?P<beside>[^"\n]+)"|<(?P<known>[^>\n]+)>)')
_SPLICE = re.compile(r"\\\r?\n")


def own_headers(source: str, file: str) -> dict[str, str]:
    """Return the texts of the headers beside a file that it includes, and those that these include, by their names.

    Raises:
        KernelFileError: for a header that is neither there, nor of CUDA, nor one of the standard library's.
    """
    found: dict[str, str] = {}
    waiting = [(source, file)]
    while waiting:
        text, where = waiting.pop()
        for name, line, quoted in _included(text):
            if name in found or name in HEADERS:
                continue
            beside = Path(where).parent / name
            if quoted and beside.is_file():
                found[name] = beside.read_text(encoding="utf-8-sig", errors="replace")
                waiting.append((found[name], beside.as_posix()))
            elif not any((folder / name).is_file() for folder in include_folders()):
                raise KernelFileError(
                    where,
                    line,
                    said(
                        "the header {name} is not there; put it beside the file, or leave out what needs it",
                        name=name,
                    ),
                )
    return found


def _included(source: str) -> Iterator[tuple[str, int, bool]]:
    """Give each header that a text includes by name, with its line and whether it stands in quotes."""
    lines = Lines(source)
    for token in scan(source):
        if token.kind == "directive":
            match = _INCLUDE.match(_SPLICE.sub("", token.text))
            if match:
                yield match["beside"] or match["known"], lines.place(token.start)[0], match["beside"] is not None
