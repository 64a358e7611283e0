"""A process of ``smemviz serve``: ``python -m smemviz.cli.worker DESCRIPTOR``, of a socket that listens."""

import os
import sys

from smemviz.cli.ending import fail_with


def main() -> int:
    """Serve what the environment says, until this process is told to end; return its exit code."""
    try:
        from smemviz.app.factory import MOST_BYTES, create_server
        from smemviz.app.server.production import serve_as_worker
        from smemviz.app.server.settings import Settings

        settings = Settings.read(os.environ)
        serve_as_worker(int(sys.argv[1]), create_server(settings), proxy=settings.proxy, body=MOST_BYTES)
    except Exception as error:
        return fail_with(error)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
