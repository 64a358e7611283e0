"""What every verb on a kernel file has: its arguments, and where its main() prints to."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from smemviz.errors import InputError

if TYPE_CHECKING:
    from smemviz.model.hardware.hardware import Hardware


def add_file_and_settings(parser: argparse.ArgumentParser) -> None:
    """Declare FILE and ``--set NAME=VALUE``."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a Python file with @cuda.jit kernels, or a .cu file")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", type=setting, action="append", default=[], help="replace a constant; repeatable"
    )


def main_output(as_json: bool) -> contextlib.AbstractContextManager[object]:
    """Keep what main() prints out of standard output while that is one JSON document."""
    return contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext()


def setting(text: str) -> tuple[str, str]:
    """Read ``NAME=VALUE``, for argparse."""
    name, equals, value = text.partition("=")
    if not (name.strip() and equals and value.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.strip(), value.strip()


def hardware(text: str) -> Hardware:
    """Read a compute capability such as ``9.0`` or ``3.5-8``, for argparse."""
    from smemviz.model.hardware.hardware import Hardware

    try:
        return Hardware.read(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def require_output(path: Path | None, *endings: str, undone: str = "nothing was run") -> None:
    """Make sure, before the work, that a result may go to ``path``; None is no file.

    Files that a verb replaces end as its results do, so that a name mistyped costs nobody a kernel file.

    Raises:
        InputError: when it ends in none of ``endings``, its folder is not there, or it is no file.
    """
    if path is None:
        return
    from smemviz.recordings.archive import replaceable

    if not path.name.endswith(endings):
        raise InputError(f"{path}: the result ends in {' or '.join(endings)}; {undone}")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; {undone}")
    try:
        replaceable(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}; {undone}") from None
