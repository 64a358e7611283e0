"""The command line: ``smemviz [PATH...]`` serves, ``smemviz VERB ...`` does what one file of ``commands`` says.

A verb's module has a docstring, which is its help, ``add_arguments(parser)`` and ``execute(arguments) -> int``, the
exit code. Whatever is heavy is imported in ``execute``, so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from smemviz.errors import InputError, SmemvizError

VERBS = ("run", "show", "time", "verify", "diff", "suggest", "calibrate", "sweep", "features", "export", "handout")
INTERRUPTED = 130  # as a shell reports SIGINT
BROKEN_PIPE = 141  # and SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code: 0 done, 1 a check failed, 2 bad input, 3 this machine lacks it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # sources hold letters that a Windows pipe cannot
    arguments = list(sys.argv[1:] if argv is None else argv)
    verb = arguments.pop(0) if arguments and arguments[0] in VERBS else None
    command = import_module(f"smemviz.commands.{verb or 'serve'}")
    own, script = _split(arguments) if verb == "run" else (arguments, None)
    parsed = _parser(verb, command).parse_args(own)
    parsed.arguments = script
    try:
        code: int = command.execute(parsed)
        if sys.stdout is not None:
            sys.stdout.flush()
    except SmemvizError as error:
        print(f"smemviz: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        if verb:  # the server has said that this is how to stop it
            print("smemviz: stopped before it was done; nothing was saved", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:  # of standard output; commands name every file they cannot use
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where the interpreter's last flush goes
        if error.errno in (errno.EPIPE, errno.EINVAL):  # whoever read our output has left; EINVAL on Windows
            return BROKEN_PIPE
        print(f"smemviz: standard output cannot be written: {error.strerror}", file=sys.stderr)
        return InputError.exit_code
    return code


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
    command.add_arguments(parser)
    return parser


def _list_of_verbs() -> str:
    modules = {verb: import_module(f"smemviz.commands.{verb}") for verb in VERBS}
    lines = [f"  smemviz {verb:9} {(module.__doc__ or '').splitlines()[0]}" for verb, module in modules.items()]
    return "verbs:\n" + "\n".join(lines) + "\n\n`smemviz VERB --help` says more. A file named like a verb is ./VERB."
