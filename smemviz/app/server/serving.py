"""The server of the dashboard: a thread for each connection, which has so long to ask and to take its answer."""

from __future__ import annotations

import io
import socket
import time
from typing import TYPE_CHECKING, Any

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from _typeshed.wsgi import WSGIApplication

SECONDS = 30.0  # for a request to arrive in full, and for each piece of the answer to be taken


def server_on(listening: socket.socket, host: str, app: WSGIApplication) -> BaseWSGIServer:
    """Return a server on a socket that listens."""
    port = listening.getsockname()[1]
    return make_server(host, port, app, threaded=True, request_handler=_Handler, fd=listening.fileno())


class _Handler(WSGIRequestHandler):
    """Answers the one request of a connection."""

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_Arriving(self.connection))

    def version_string(self) -> str:
        """Return what answers say of the server: which versions it is made of is for nobody."""
        return "smemviz"

    def log_error(self, format: str, *args: Any) -> None:
        """Say nothing of what callers do wrong; what goes wrong here is logged elsewhere."""


class _Arriving(io.RawIOBase):
    """What a caller sends: all of it together may take ``SECONDS``, however small the pieces."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._end = time.monotonic() + SECONDS

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        self._connection.settimeout(max(self._end - time.monotonic(), 0.001))
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(SECONDS)  # of what is written
