"""Where the gallery and the browser's files lie, in the installed package or the checkout, and where that came from."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from smemviz.errors import MissingError
from smemviz.languages import PYTHON

_PACKAGE = Path(__file__).resolve().parent
_DATA = "_data"
_WHOLE, _CORE = "smemviz", "smemviz-core"
_OF_THE_WHOLE: Final = {"babel": "Babel", "dash": "Dash", "flask": "Flask", "plotly": "Plotly", "werkzeug": "Werkzeug"}
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


def every_gallery() -> list[Path]:
    """Return the files of the whole gallery, in the order of their cards."""
    return [*gallery(), *hopper_gallery(), *triton_gallery(), *cute_gallery()]


def triton_gallery() -> list[Path]:
    """Return the gallery's files with kernels of Triton, which their recordings show where Triton is not installed."""
    return sorted((kernels_dir() / "triton").glob(f"*{PYTHON.suffixes[0]}"))


def cute_gallery() -> list[Path]:
    """Return the gallery's files with kernels of CuTe DSL, as the PTX that it makes of them."""
    return sorted((kernels_dir() / "cute").glob("*.ptx"))


def hopper_gallery() -> list[Path]:
    """Return the gallery's files with instructions of Hopper, in CUDA C++ with a ``main()``, and with recordings."""
    return sorted((kernels_dir() / "hopper").glob("*.cu"))


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


@contextmanager
def whole_needed() -> Iterator[None]:
    """Say of what only the whole of smemviz requires how it is installed.

    Raises:
        MissingError: for a module of those that ``smemviz-core`` does without.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _OF_THE_WHOLE:
            raise
        folder = Path(origin())
        whole = f"'{folder.parents[1]}'" if folder.name == _CORE and folder.is_absolute() else _WHOLE
        what = f"that needs {_OF_THE_WHOLE[module]}, which {_CORE} leaves out"
        raise MissingError(f"{what}: pip uninstall -y {_CORE} && pip install {whole}") from None


@cache
def origin() -> str:
    """Return what pip installs this smemviz from: a folder, or its name."""
    from importlib.metadata import PackageNotFoundError, distribution  # slow, and only errors ask

    for name in (_WHOLE, _CORE):
        try:
            url = json.loads(distribution(name).read_text("direct_url.json") or "{}").get("url", "")
        except PackageNotFoundError:
            continue
        break
    else:
        name, url = _WHOLE, _PACKAGE.parent.as_uri()
    folder = Path(unquote(urlsplit(url).path))
    return str(folder) if url.startswith("file:") and (folder / "pyproject.toml").is_file() else name


def _resolve(name: str) -> Path:
    packaged = _PACKAGE / _DATA / name
    return packaged if packaged.is_dir() else _PACKAGE.parent / name
