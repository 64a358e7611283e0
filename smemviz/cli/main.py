"""The command line: ``smemviz [PATH...]`` opens the dashboard, ``smemviz VERB`` does what one file of ``verbs`` says.

A verb's module has a docstring, which is its help, ``add_arguments(parser)`` and ``execute(arguments) -> int``, the
exit code. Whatever is heavy is imported in ``execute``, so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from smemviz.cli.ending import fail, fail_with, terminable
from smemviz.errors import TerminatedError, stop_behind, stop_code
from smemviz.paths import whole_needed
from smemviz.version import __version__

VERBS = (
    *("run", "show", "time", "verify", "diff", "suggest", "calibrate", "sweep", "features", "export", "handout"),
    *("serve", "completion"),
)
_SERVERS = (None, "serve")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    0: done, 1: a check failed, 2: bad input, 3: this machine lacks it, 4: smemviz failed.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    verb = arguments.pop(0) if arguments and arguments[0] in VERBS else None
    saved = _Saved()
    try:
        with terminable(), whole_needed():
            return _executed(verb, arguments, saved)
    except (Exception, KeyboardInterrupt, TerminatedError) as error:
        stop = stop_behind(error)
        if stop is None:
            return fail_with(error)
        # The server has said that this is how to stop it.
        return stop_code(stop) if verb in _SERVERS else fail(f"stopped before it was done; {saved}", stop_code(stop))


def _executed(verb: str | None, arguments: list[str], saved: _Saved) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # sources hold letters that a Windows pipe cannot
    command = import_module(f"smemviz.cli.verbs.{verb or 'dashboard'}")
    own, script = _split(arguments) if verb in ("run", None) else (arguments, None)
    parsed = _parser(verb, command).parse_args(own)
    parsed.arguments = script
    saved.watch(parsed)
    code: int = command.execute(parsed)
    if sys.stdout is not None:
        sys.stdout.flush()
    return code


class _Saved:
    """Says whether a verb wrote the file that it was asked for; a verb may learn only later which that is."""

    def __init__(self) -> None:
        self._parsed = argparse.Namespace()
        self._before: tuple[int, int] | None = None

    def watch(self, parsed: argparse.Namespace) -> None:
        self._parsed = parsed
        self._before = self._identity()

    def __str__(self) -> str:
        same = self._identity() == self._before
        return "nothing was saved" if same else f"{self._parsed.output} was saved before"

    def _identity(self) -> tuple[int, int] | None:
        """Tell the file from the one that replaces it; None where there is none."""
        try:
            status = os.stat(self._parsed.output)
        except (AttributeError, TypeError, OSError):
            return None
        return status.st_ino, status.st_mtime_ns


def _split(arguments: list[str]) -> tuple[list[str], list[str] | None]:
    """Return what is ours, and what stands after ``--``: a script's, None without it."""
    if "--" not in arguments:
        return arguments, None
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _parser(verb: str | None, command: ModuleType) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"smemviz {verb}" if verb else "smemviz",
        description=command.__doc__,
        epilog=None if verb else _list_of_verbs(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if not verb:
        parser.add_argument("--version", action="version", version=f"smemviz {__version__}")
    command.add_arguments(parser)
    return parser


def _list_of_verbs() -> str:
    modules = {verb: import_module(f"smemviz.cli.verbs.{verb}") for verb in VERBS}
    # Under python -OO no module has a docstring.
    lines = [f"  smemviz {verb:10} {(module.__doc__ or ' ').splitlines()[0]}" for verb, module in modules.items()]
    return "verbs:\n" + "\n".join(lines) + "\n\n`smemviz VERB --help` says more. A file named like a verb is ./VERB."
