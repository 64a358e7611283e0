"""Show kernels in the browser: the gallery, or the kernel files and recordings named here."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

from smemviz.app.server.hosts import is_loopback
from smemviz.cli.servers import add_server, check, listen, memory_is_bounded, say_what_is_off


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_server(parser, port="first port to try", host="this machine")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open no browser")


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
        server.serve_forever()
    return 0


def _page(paths: Sequence[Path]) -> str:
    """Return the page to open: the kernels' own where one file is named, else the gallery of all."""
    from smemviz.paths import plain_name

    return f"kernel?{urlencode({'file': plain_name(paths[0])})}" if len(paths) == 1 else ""
