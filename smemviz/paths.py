"""Where the gallery and the browser's files lie, in the installed package or the checkout, and where that came from."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

from smemviz.languages import PYTHON

_PACKAGE = Path(__file__).resolve().parent
_DATA = "_data"
# As a reader meets them.
_FIRST = ("square", "rectangle", "transpose", "reverse", "stencil", "reduce", "histogram", "submatrix", "matmul")


def kernels_dir() -> Path:
    """Return the folder of the gallery's kernel files."""
    return _resolve("kernels")


def assets_dir() -> Path:
    """Return the folder of what the browser loads."""
    return _resolve("assets")


def gallery() -> list[Path]:
    """Return the gallery's kernel files as a reader meets them, the others after those in alphabetical order."""
    order = {name: at for at, name in enumerate(_FIRST)}
    return sorted(
        kernels_dir().glob(f"*{PYTHON.suffixes[0]}"), key=lambda path: (order.get(path.stem, len(order)), path.stem)
    )


def triton_gallery() -> list[Path]:
    """Return the gallery's files with kernels of Triton, which their recordings show where Triton is not installed."""
    return sorted((kernels_dir() / "triton").glob(f"*{PYTHON.suffixes[0]}"))


def recording_for(kernel_file: Path) -> Path | None:
    """Return the recording made from a kernel file on a real GPU, ``recordings/<gpu>/<stem>.smem.npz`` beside it."""
    return min(kernel_file.parent.glob(f"recordings/*/{plain_name(kernel_file)}.smem.npz"), default=None)


def plain_name(path: Path) -> str:
    """Return the name of a kernel file or a recording without what it ends with; that of CUDA C++ keeps its ending."""
    name = path.name.removesuffix(".smem.npz")
    return name.removesuffix(".npz").removesuffix(PYTHON.suffixes[0])


def sweep_for(kernel_file: Path) -> Path | None:
    """Return what a sweep of a kernel file measured on a real GPU, ``recordings/<gpu>/<stem>.sweep.json`` beside it."""
    return min(kernel_file.parent.glob(f"recordings/*/{kernel_file.stem}.sweep.json"), default=None)


def suggestions_for(kernel_file: Path) -> Path | None:
    """Return the suggestions verified on a real GPU, ``recordings/<gpu>/suggestions.json`` beside a kernel file."""
    return min(kernel_file.parent.glob("recordings/*/suggestions.json"), default=None)


def is_packaged(file: str) -> bool:
    """Tell whether a file is data that an installed package carries, as the gallery's kernel files are."""
    return Path(file).is_relative_to(_PACKAGE / _DATA)


def installing(extra: str) -> str:
    """Return the command that installs an extra: from the folder that smemviz was installed from, if that is there."""
    return f"pip install '{origin()}[{extra}]'"


@cache
def origin() -> str:
    """Return what pip installs smemviz from: a folder, or its name."""
    try:
        url = json.loads(distribution("smemviz").read_text("direct_url.json") or "{}").get("url", "")
    except PackageNotFoundError:
        url = _PACKAGE.parent.as_uri()
    folder = Path(unquote(urlsplit(url).path))
    return str(folder) if url.startswith("file:") and (folder / "pyproject.toml").is_file() else "smemviz"


def _resolve(name: str) -> Path:
    packaged = _PACKAGE / _DATA / name
    return packaged if packaged.is_dir() else _PACKAGE.parent / name
