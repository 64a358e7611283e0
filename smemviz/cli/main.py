"""The command line: ``smemviz [PATH...]`` opens the dashboard, ``smemviz VERB`` does what one file of ``verbs`` says.

A verb's module has a docstring, which is its help, ``add_arguments(parser)`` and ``execute(arguments) -> int``, the
exit code. Whatever is heavy is imported in ``execute``, so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import PurePath
from types import ModuleType

from smemviz.cli.stopping import terminable
from smemviz.errors import InputError, MissingError, SmemvizError, TerminatedError, stop_behind, stop_code
from smemviz.printable import one_line
from smemviz.version import __version__

VERBS = (
    *("run", "show", "time", "verify", "diff", "suggest", "calibrate", "sweep", "features", "export", "handout"),
    "serve",
)
_SERVERS = (None, "serve")
FAILED = 4
BROKEN_PIPE = 141  # as a shell reports SIGPIPE
DEBUG = "SMEMVIZ_DEBUG"  # in the environment, lets an error of smemviz's own show where it came from
_MOST_SAID = 300  # characters of what an unexpected error says
_OF_OUTPUT = (errno.EPIPE, errno.EINVAL, errno.ENOSPC, errno.EIO, errno.EFBIG)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    0: done, 1: a check failed, 2: bad input, 3: this machine lacks it, 4: smemviz failed.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    verb = arguments.pop(0) if arguments and arguments[0] in VERBS else None
    saved = _Saved()
    try:
        with terminable() if verb not in _SERVERS else nullcontext():
            return _executed(verb, arguments, saved)
    except SmemvizError as error:
        return _fail(str(error), error.exit_code)
    except MemoryError:
        return _fail("this machine has not enough memory for that", MissingError.exit_code)
    except (Exception, KeyboardInterrupt, TerminatedError) as error:
        stop = stop_behind(error)
        if stop is not None:
            code = stop_code(stop)
            # The server has said that this is how to stop it.
            return code if verb in _SERVERS else _fail(f"stopped before it was done; {saved}", code)
        if isinstance(error, OSError):
            return _refused(error)
        if isinstance(error, ImportError):  # of a library, which lacks memory or a part of its own
            return _fail(f"this machine cannot load what that needs: {error}", MissingError.exit_code)
        if isinstance(error, RuntimeError) and "start new thread" in str(error):
            return _fail("this machine gives no more threads", MissingError.exit_code)
        if os.environ.get(DEBUG):
            raise
        return _fail(_failure(error), FAILED)


def _executed(verb: str | None, arguments: list[str], saved: _Saved) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # sources hold letters that a Windows pipe cannot
    command = import_module(f"smemviz.cli.verbs.{verb or 'dashboard'}")
    own, script = _split(arguments) if verb == "run" else (arguments, None)
    parsed = _parser(verb, command).parse_args(own)
    parsed.arguments = script
    saved.watch(parsed)
    code: int = command.execute(parsed)
    if sys.stdout is not None:
        sys.stdout.flush()
    return code


def _fail(message: str, code: int) -> int:
    print(one_line(f"smemviz: {message}"), file=sys.stderr)
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


def _failure(error: BaseException) -> str:
    """Say what to report of an error that is no user's mistake."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} in {PurePath(frame.filename).name}:{frame.lineno}"
    return (
        f"a fault of smemviz {__version__}: {where}: {str(error)[:_MOST_SAID]}. Please report this line and what was "
        f"run; {DEBUG}=1 in the environment shows the whole traceback"
    )


def _refused(error: OSError) -> int:
    """Say why standard output cannot be written, or what else the system refused; commands name files themselves."""
    if error.filename is not None or error.errno not in _OF_OUTPUT:
        return _fail(f"the system refused something: {error}", MissingError.exit_code)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where the interpreter's last flush goes
    if error.errno in (errno.EPIPE, errno.EINVAL):  # whoever read our output has left; EINVAL on Windows
        return BROKEN_PIPE
    return _fail(f"standard output cannot be written: {error.strerror}", InputError.exit_code)


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
    lines = [f"  smemviz {verb:9} {(module.__doc__ or ' ').splitlines()[0]}" for verb, module in modules.items()]
    return "verbs:\n" + "\n".join(lines) + "\n\n`smemviz VERB --help` says more. A file named like a verb is ./VERB."
