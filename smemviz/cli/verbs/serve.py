"""Serve the gallery, or the kernel files and recordings named here, to a class or a team, with several processes."""

import argparse
import os
import signal
import socket
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from smemviz.app.server.settings import REQUESTS, Settings, prefix_of
from smemviz.cli.servers import add_server, check, listen, memory_is_bounded, say_what_is_off
from smemviz.cli.settings import whole
from smemviz.errors import MissingError
from smemviz.paths import installing

_MOST_WORKERS = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    processes = whole(1, _MOST_WORKERS, f"a number from 1 to {_MOST_WORKERS}")
    add_server(parser, port="port to listen on", host="for a proxy here")
    parser.add_argument(
        "--workers", metavar="N", type=processes, default=_cores(), help="processes that answer (default: one per core)"
    )
    parser.add_argument("--prefix", metavar="PATH", default="", help="path under which a proxy shows it, like /smemviz")
    parser.add_argument(
        "--proxy", metavar="ADDRESS", default="", help="trust the proxy at this address on who asks, and by which name"
    )
    parser.add_argument("--no-log", action="store_true", help="do not write a line of JSON for each request")
    parser.add_argument(
        "--requests",
        metavar="N",
        type=float,
        default=REQUESTS,
        help=f"requests per second of one visitor in each process; 0: no limit (default: {REQUESTS:g})",
    )
    parser.add_argument(
        "--runs", metavar="N", type=processes, default=_cores(), help="runs at once (default: one per core)"
    )
    parser.add_argument(
        "--memory", metavar="GB", type=float, default=None, help="memory of all runs together (default: 3 GB per run)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Check the inputs, listen, and keep the processes running until SIGTERM or Ctrl-C."""
    import_module("flask")  # before the processes that answer look for it
    if find_spec("waitress") is None:
        raise MissingError(f"smemviz serve needs Waitress: {installing('serve')}")
    if sys.platform == "win32":
        raise MissingError("Windows has no processes that share a port; run waitress-serve smemviz.wsgi:app")
    for path in arguments.paths:
        check(path)
    memory = 3.0 * arguments.runs if arguments.memory is None else arguments.memory
    editor = not arguments.no_editor and memory_is_bounded()
    with listen(arguments.host, arguments.port, tries=1) as listening, tempfile.TemporaryDirectory() as shared:
        settings = Settings(
            tuple(arguments.paths),
            (arguments.host, *arguments.allow_host),
            prefix_of(arguments.prefix),
            arguments.proxy,
            editor,
            not arguments.no_log,
            arguments.requests,
            arguments.runs,
            memory,
            shared,
        )
        Settings.read(settings.environment())  # says what makes no sense before anything starts
        from smemviz.engines.sandbox.sharing import Turns

        Turns(1, Path(shared, "turns")).close()  # so does a folder without room
        say_what_is_off(arguments.host, arguments.paths, editor=editor, with_editor=not arguments.no_editor)
        url = f"http://{arguments.host}:{listening.getsockname()[1]}{settings.prefix}/"
        _serve(arguments.workers, listening, settings, url)
    return 0


def _serve(count: int, listening: socket.socket, settings: Settings, url: str) -> None:
    from smemviz.app.server.workers import Workers

    def ready() -> None:
        print(f"smemviz: {url} (Ctrl-C to stop)", flush=True)

    # They find modules where this process does, and not in the folder that it happens to stand in.
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    # Of Python's threads one works at a time; a heap for each only holds on to memory.
    heaps = {"MALLOC_ARENA_MAX": "2"}
    command = [sys.executable, "-P", "-m", "smemviz.cli.worker"]
    workers = Workers(command, count, listening, {**heaps, **os.environ, **path, **settings.environment()})
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, workers.stop)
    workers.run(ready)


def _cores() -> int:
    return min(len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1, _MOST_WORKERS)
