"""Open the dashboard in the browser, with the gallery or with the kernel files and recordings named here."""

import argparse
import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

from smemviz.app.server.settings import is_loopback
from smemviz.cli.servers import add_server, check, listen, memory_is_bounded, say_what_is_off
from smemviz.cli.settings import add_compiler, add_triton, compiled_as, compiler_words, triton_words
from smemviz.errors import InputError
from smemviz.languages import language_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_server(parser, port="first port to try", host="this machine")
    add_compiler(parser)
    add_triton(parser)
    parser.add_argument("--no-browser", action="store_true", help="print the address and open no browser")


def execute(arguments: argparse.Namespace) -> int:
    """Check the inputs, take a port, then load the server and serve until Ctrl-C."""
    local = is_loopback(arguments.host)
    paths = arguments.paths
    compiled = compiled_as(arguments)
    words = compiler_words(arguments)
    if words and not any(language_of(path).is_compiled for path in paths):
        raise InputError(f"{words[0]} is for CUDA C++; name a file that ends in .cu")
    scripts = [path for path in paths if check(path, compiled, scripts=local)]
    if arguments.arguments and not scripts and not any(language_of(path).is_compiled for path in paths):
        raise InputError(f"{arguments.arguments[0]} is for scripts and CUDA C++; name a file that ends in .cu")
    editor = not arguments.no_editor and (local or memory_is_bounded())
    listening = listen(arguments.host, arguments.port)
    with listening:
        if not local:
            say_what_is_off(arguments.host, arguments.paths, editor=editor, with_editor=not arguments.no_editor)
        import logging
        import webbrowser

        from smemviz.app.factory import create_app
        from smemviz.app.library import Started
        from smemviz.app.server.serving import server_on

        names = (arguments.host, *arguments.allow_host)
        started = Started(compiled, arguments.arguments, triton_words(arguments))
        follow = bool(paths) and local
        app = create_app(paths, editor=editor, follow=follow, local=local, names=names, started=started)
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
