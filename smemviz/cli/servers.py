"""What both servers take and say: the dashboard on this machine and the one for a class."""

from __future__ import annotations

import argparse
import errno
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from smemviz.app.server.settings import is_loopback
from smemviz.cli.settings import whole
from smemviz.errors import InputError, UnlaunchedError

if TYPE_CHECKING:
    from smemviz.frontends.program import Program

_PORTS_TRIED = 100
_HIGHEST_PORT = 65535


def add_server(parser: argparse.ArgumentParser, *, port: str, host: str) -> None:
    """Declare what any server has: what it shows, and where; ``port`` and ``host`` say how it takes those."""
    port_number = whole(0, _HIGHEST_PORT, f"a port, a number from 0 to {_HIGHEST_PORT}")
    parser.add_argument("paths", metavar="PATH", nargs="*", type=Path, help="a kernel file or a *.smem.npz recording")
    parser.add_argument("--port", metavar="N", type=port_number, default=8050, help=f"{port} (default: 8050)")
    parser.add_argument("--host", default="127.0.0.1", help=f"address to listen on (default: 127.0.0.1, {host})")
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="also answer to this host name, besides localhost and addresses; repeatable",
    )
    parser.add_argument("--no-editor", action="store_true", help="remove the page on which kernels are written")


def check(path: Path, compiled: Callable[[Program], Program] | None = None, *, scripts: bool = False) -> bool:
    """Read a path as the dashboard will, so that what is wrong with it is said before anything starts.

    ``compiled`` gives a program the compiler's options; ``scripts`` is whether scripts are run, and files are shown
    that say no launch yet. Returns whether this is a script.
    """
    if path.suffix == ".npz":
        from smemviz.recordings.file import load

        load(path)
    else:
        from smemviz.frontends.reading import check_runnable, read_program

        program = read_program(path)
        program = compiled(program) if compiled else program
        if scripts and program.is_script and "import" in program.source:
            return True
        if program.is_script:
            saved = path.with_suffix(".smem.npz").name
            raise InputError(f"{path}: has no main() to run; record it, smemviz run {path} -o {saved}, and show that")
        try:
            check_runnable(program)
        except UnlaunchedError as error:
            if not scripts:
                raise
            print(f"smemviz: {error}", file=sys.stderr, flush=True)  # the page offers that, and follows the file
    return False


def memory_is_bounded() -> bool:
    """Tell whether this system bounds the memory of a run."""
    from smemviz.engines.sandbox.sandbox_limits import memory_is_bounded

    return memory_is_bounded()


def say_what_is_off(host: str, paths: Sequence[Path], *, editor: bool, with_editor: bool) -> None:
    """Say what others may do at this address, and what this system cannot hold them to."""
    from smemviz.engines.sandbox.confine import lacking

    served = "the files named here" if paths else "the gallery"
    served += " and the editor are" if editor else " are" if paths else " is"
    reached = "can be opened to other machines by a proxy" if is_loopback(host) else "is open to other machines"
    lines = [
        f"{host} {reached}; {served} served, every run within the editor's limits. Nothing is "
        "measured, no revision read"
    ]
    if with_editor and not editor:
        lines.append("the editor is left out, because only Linux bounds the memory of what others write in it")
    open_to_runs = lacking() if editor or paths else ()
    if open_to_runs:
        lines.append(
            f"this system keeps the processes of runs from no {' and no '.join(open_to_runs)}; the language of texts "
            "and the limits hold all the same"
        )
    for line in lines:
        print(f"smemviz: {line}", file=sys.stderr, flush=True)


def listen(host: str, first: int, tries: int = _PORTS_TRIED) -> socket.socket:
    """Listen on the first free port from ``first`` on, among so many.

    Raises:
        InputError: when the address is not one of this machine, or no port is free.
    """
    last = min(first + tries - 1, _HIGHEST_PORT)
    for port in range(first, last + 1):
        try:
            return socket.create_server((host, port))
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise InputError(f"cannot listen on {host}: {error.strerror}") from None
    if tries == 1:
        raise InputError(f"port {first} on {host} is taken; choose another with --port")
    raise InputError(f"no free port on {host} from {first} to {last}; choose others with --port")
