"""The headers that a text includes: those beside it are read here, and each has to be found before NVRTC starts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

from smemviz.errors import KernelFileError
from smemviz.frontends.cuda.headers import HEADERS
from smemviz.frontends.cuda.lexing import Lines, scan
from smemviz.frontends.cuda.nvrtc import include_folders
from smemviz.messages import english

_INCLUDE = re.compile(r'#\s*include\s*(?:"(?P<beside>[^"\n]+)"|<(?P<known>[^>\n]+)>)')
_READS = re.compile(r"#\s*(?:include\w*|import|embed)\b")
_ASKS = ("__has_include", "__has_include_next", "__has_embed")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SPLICE = re.compile(r"\\\r?\n")


_PACKAGES = {"curand_kernel.h": "nvidia-curand"}


@dataclass(frozen=True)
class Missing:
    """A header that is not read, and the line that includes it."""

    name: str
    file: str
    line: int

    def error(self, why: str) -> KernelFileError:
        """Return what to do about it where the file does not compile without it, and why it does not."""
        if self.name in _PACKAGES:
            what = english(
                "the header {name} is not there; install it with pip install {package}",
                name=self.name,
                package=_PACKAGES[self.name],
            )
        else:
            what = english(
                "the header {name} is not in the folder of the file, and without it: {why}; put it beside the file",
                name=self.name,
                why=why,
            )
        return KernelFileError(self.file, self.line, what)


def own_headers(source: str, file: str) -> tuple[dict[str, str], tuple[Missing, ...]]:
    """Return the texts of the headers beside a file that it includes, and those that these include, by their names.

    Beside them those that are missing: neither in the file's folder, nor of CUDA, nor of the standard library. They are
    empty, for most declare what only the host uses.

    Raises:
        KernelFileError: for whatever else would have NVRTC look at a file.
    """
    folder = Path(file).parent.resolve()
    headers: dict[str, str] = {}
    missing: list[Missing] = []
    waiting = [(source, file)]
    while waiting:
        text, where = waiting.pop()
        for name, line, quoted in _included(text, where):
            if name in headers or name in HEADERS:
                continue
            if Path(name).is_absolute() or PureWindowsPath(name).is_absolute():
                what = english("the header {name} is named from the root of the disk; name it from the file", name=name)
                raise KernelFileError(where, line, what)
            beside = (Path(where).parent / name).resolve()
            if quoted and beside.is_file() and beside.is_relative_to(folder):
                headers[name] = beside.read_text(encoding="utf-8-sig", errors="replace")
                waiting.append((headers[name], beside.as_posix()))
            elif not is_of_cuda(name):
                headers[name] = ""
                missing.append(Missing(name, where, line))
    return headers, tuple(missing)


def is_of_cuda(name: str) -> bool:
    """Whether a name, or a path that NVRTC gives, is that of a header of CUDA or of the standard library."""
    path, folders = Path(name), include_folders()
    if path.is_absolute():
        return any(path.resolve().is_relative_to(folder.resolve()) for folder in folders)
    return name in HEADERS or (".." not in path.parts and any((folder / path).is_file() for folder in folders))


def _included(source: str, file: str) -> Iterator[tuple[str, int, bool]]:
    """Give each header that a text includes by name, with its line and whether it stands in quotes.

    Raises:
        KernelFileError: for what asks of files in another way.
    """
    lines = Lines(source)
    for token in scan(source):
        text = _SPLICE.sub("", token.text)
        if token.kind == "directive":
            text = _COMMENT.sub(" ", text).lstrip()
            match = _INCLUDE.match(text)
            if match:
                yield match["beside"] or match["known"], lines.place(token.start)[0], match["beside"] is not None
            elif _READS.match(text):
                what = english('{code} is not followed; write #include "name"', code=" ".join(text.split()))
                raise KernelFileError(file, lines.place(token.start)[0], what)
        if token.kind != "comment" and any(word in text for word in _ASKS):
            what = english("{code} is not answered; leave it out", code=next(word for word in _ASKS if word in text))
            raise KernelFileError(file, lines.place(token.start)[0], what)
