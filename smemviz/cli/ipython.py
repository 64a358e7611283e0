"""The command line in a notebook: after ``%load_ext smemviz`` a cell that begins with ``%%smemviz`` is recorded."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from smemviz.cli.settings import add_engine, whole
from smemviz.errors import InputError, SmemvizError

if TYPE_CHECKING:
    from smemviz.recordings.recording import Recording


def load_ipython_extension(shell: Any) -> None:
    """Declare ``%%smemviz``; ``%load_ext smemviz`` calls it with IPython's shell."""

    def record_cell(line: str, cell: str) -> Recording | None:
        try:
            return _recorded(shell, line, cell)
        except SmemvizError as error:
            print(f"smemviz: {error}", file=sys.stderr)
            return None

    record_cell.__doc__ = options().format_help()
    shell.register_magic_function(record_cell, "cell", "smemviz")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"%%smemviz: {message}; %%smemviz? says what there is")


def options() -> argparse.ArgumentParser:
    """Return what reads the words behind ``%%smemviz``."""
    what = "Run the cell, record what it launches, and show what that costs in shared memory."
    parser = _Parser("%%smemviz", usage="%(prog)s [NAME] [OPTION...]", description=what, add_help=False)
    parser.add_argument("name", nargs="?", metavar="NAME", help="a variable to put the recording into")
    add_engine(parser, "what runs the kernels: the GPU, or NumPy without one (default: auto)")
    parser.add_argument("--kernel", metavar="NAME", action="append", default=[], help="record this one; repeatable")
    most = whole(1, sys.maxsize, "a number from 1 on")
    parser.add_argument("--max-launches", metavar="N", type=most, help="record no more launches than that")
    return parser


def _recorded(shell: Any, line: str, cell: str) -> Recording | None:
    """Return the recording of a cell; None for one that failed before it launched anything, which IPython has told.

    Raises:
        InputError: for options that there are not, and a cell that launches nothing.
    """
    from smemviz.engines.script import recording

    asked = options().parse_args(shlex.split(line))
    with recording(asked.engine, kernels=asked.kernel, max_launches=asked.max_launches) as recorded:
        result = shell.run_cell(cell)
    try:
        found = recorded.recording
    except InputError:
        if result.success:
            raise InputError("the cell launched no kernel; launch one in it, kernel[grid, block](...)") from None
        return None
    if asked.name:
        shell.user_ns[asked.name] = found
    return found
