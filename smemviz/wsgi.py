"""The dashboard for a WSGI server: ``smemviz.wsgi:app``, told by variables of the environment what to serve.

Run as a module it is a process of ``smemviz serve``: ``python -m smemviz.wsgi DESCRIPTOR``, of a socket that listens.
"""

from __future__ import annotations

import os
import sys

from smemviz.app.factory import MOST_BYTES, create_server
from smemviz.app.server.settings import Settings

_settings = Settings.read(os.environ)
app = create_server(_settings)

if __name__ == "__main__":
    from smemviz.app.server.production import serve_as_worker

    serve_as_worker(int(sys.argv[1]), app, proxy=_settings.proxy, body=MOST_BYTES)
