"""Show kernels in the browser: the gallery, or the kernel files and recordings named here."""

from __future__ import annotations

import argparse
import errno
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

from smemviz.app.server.hosts import is_loopback
from smemviz.cli.settings import whole
from smemviz.errors import InputError

TERMINATED = 143  # as a shell reports SIGTERM

_PORTS_TRIED = 100
_HIGHEST_PORT = 65535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_server(parser, port="first port to try", host="this machine")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open no browser")


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
        help="answer who asks for this name too, besides localhost and addresses; repeatable",
    )
    parser.add_argument("--no-editor", action="store_true", help="leave out the page on which kernels are written")


def execute(arguments: argparse.Namespace) -> int:
    """Check the inputs, take a port, then load the server and serve until Ctrl-C."""
    local = is_loopback(arguments.host)
    paths = arguments.paths
    for path in paths:
        check(path)
    editor = not arguments.no_editor and (local or memory_is_bounded())
    listening = listen(arguments.host, arguments.port)
    with listening:
        if not local:
            say_what_is_off(arguments.host, arguments.paths, editor=editor, with_editor=not arguments.no_editor)
        import logging
        import webbrowser

        from smemviz.app.factory import create_app
        from smemviz.app.server.serving import server_on

        names = (arguments.host, *arguments.allow_host)
        app = create_app(paths, editor=editor, follow=bool(paths) and local, local=local, names=names)
        server = server_on(listening, arguments.host, app.server)
        logging.getLogger("werkzeug").setLevel(logging.WARNING)
        url = f"http://{arguments.host}:{listening.getsockname()[1]}/{_page(paths)}"
        print(f"smemviz: {url} (Ctrl-C to stop)", flush=True)
        if not arguments.no_browser:
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        # Being told to stop is a reason to stop what was started from the dashboard too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
        server.serve_forever()
    return 0


def memory_is_bounded() -> bool:
    """Tell whether this system bounds the memory of a run."""
    from smemviz.engines.sandbox.limits import memory_is_bounded

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


def check(path: Path) -> None:
    """Read a path as the dashboard will, so that what is wrong with it is said before anything starts."""
    if path.suffix == ".npz":
        from smemviz.recordings.file import load

        load(path)
    else:
        from smemviz.frontends.reading import check_runnable, read_program

        program = read_program(path)
        if program.kernels and not program.has_main:
            saved = path.with_suffix(".smem.npz").name
            raise InputError(f"{path}: has no main() to run; record it, smemviz run {path} -o {saved}, and show that")
        check_runnable(program)


def _page(paths: Sequence[Path]) -> str:
    """Return the page to open: the kernels' own where one file is named, else the gallery of all."""
    from smemviz.paths import plain_name

    return f"kernel?{urlencode({'file': plain_name(paths[0])})}" if len(paths) == 1 else ""


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
