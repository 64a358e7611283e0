"""The server for many: Waitress, which reads a request in full before a thread works on it, and so waits for nobody.

A slow client costs it a connection and no thread; of those it takes so many, and hangs up on who takes too long.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.server import create_server

from smemviz.app.server.serving import SECONDS
from smemviz.app.server.settings import visitor_of

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

THREADS = 32
_CONNECTIONS = 2000
_OF_ONE = 1000  # of them, that one visitor may have; a class may be behind one address
_ANSWER_SECONDS = 300.0  # for an answer to be taken in full
_STOP_SECONDS = 30.0  # for answers that are being worked on when the server is told to stop
_HEADERS = {"x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port"}


class _Channel(HTTPChannel):  # type: ignore[misc]
    """A connection whose requests have to arrive in full within ``SECONDS``, however small the pieces.

    Each piece of an answer has to be taken within as long; Waitress waits for who takes nothing at all.

    Who has too many already is hung up on; a proxy has those of all.
    """

    _began = 0.0  # when the first piece of what is arriving came
    _answering = 0.0  # since when an answer waits to be taken

    def __init__(self, server: Any, connection: socket.socket, address: Any, *more: Any, **kwargs: Any) -> None:
        super().__init__(server, connection, address, *more, **kwargs)
        visitor = visitor_of(address[0])
        others = (visitor_of(channel.addr[0]) == visitor for channel in server.active_channels.values())
        if address[0] != server.adj.trusted_proxy and sum(others) > _OF_ONE:
            self.will_close = True

    def received(self, data: bytes) -> bool:
        if self.request is None:
            self._began = time.monotonic()
        return bool(super().received(data))

    def readable(self) -> bool:
        if self.request is not None and time.monotonic() > self._began + SECONDS:
            self.will_close = True
        return bool(super().readable())

    def has_stalled(self) -> bool:
        """Tell whether an answer is taken too slowly."""
        now = time.time()
        self._answering = (self._answering or now) if self.total_outbufs_len else 0.0
        return bool(self._answering) and now > min(self.last_activity + SECONDS, self._answering + _ANSWER_SECONDS)

    def is_at_work(self) -> bool:
        """Tell whether an answer is being made or sent."""
        return bool(self.requests or self.total_outbufs_len)


class Server:
    """Answers requests on a socket that listens, until it is told to stop."""

    def __init__(self, listening: socket.socket, app: WSGIApplication, *, proxy: str = "", body: int) -> None:
        trusted: dict[str, Any] = {"trusted_proxy": proxy, "trusted_proxy_headers": _HEADERS} if proxy else {}
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # more requests than threads are no news
        self._server = create_server(
            app,
            sockets=[listening],
            threads=THREADS,
            connection_limit=_CONNECTIONS,
            channel_timeout=int(SECONDS),
            cleanup_interval=5,
            max_request_body_size=body + 1,  # which it refuses
            max_request_header_size=1 << 16,
            ident="smemviz",
            clear_untrusted_proxy_headers=True,
            asyncore_use_poll=hasattr(select, "poll"),
            **trusted,
        )
        self._server.channel_class = _Channel
        self._stopping = threading.Event()
        self._checked_at = 0.0  # for clients that take nothing

    def stop(self, *_: object) -> None:
        """Take no more requests, and end when those that came are answered."""
        if not self._stopping.is_set():
            self._stopping.set()
            with contextlib.suppress(OSError):  # it may have seen that and ended before it is told
                self._server.pull_trigger()

    def run(self) -> None:
        """Serve until ``stop``."""
        while not self._stopping.is_set():
            self._loop(1.0)
        self._server.accepting = False
        self._server.del_channel()
        self._server.socket.close()
        end = time.monotonic() + _STOP_SECONDS
        while time.monotonic() < end and self._is_at_work():
            self._loop(0.05)
        self._server.task_dispatcher.shutdown(timeout=1)
        wasyncore.close_all(self._server._map, ignore_all=True)

    def _loop(self, seconds: float) -> None:
        wasyncore.loop(timeout=seconds, use_poll=self._server.adj.asyncore_use_poll, map=self._server._map, count=1)
        if time.monotonic() > self._checked_at + 1.0:
            self._checked_at = time.monotonic()
            for channel in list(self._server.active_channels.values()):
                if channel.has_stalled():
                    channel.handle_close()

    def _is_at_work(self) -> bool:
        return any(channel.is_at_work() for channel in list(self._server.active_channels.values()))


def serve_as_worker(descriptor: int, app: WSGIApplication, *, proxy: str, body: int) -> None:
    """Serve on a listening socket that was inherited, until SIGTERM or until whoever started this process is gone."""
    server = Server(socket.socket(fileno=descriptor), app, proxy=proxy, body=body)
    signal.signal(signal.SIGTERM, server.stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(0, b"r")  # standard input is a socket to the one who started this

    def watch() -> None:
        with contextlib.suppress(OSError):  # it was reset, for what was written above may not have been read
            while os.read(0, 1):
                pass
        server.stop()

    threading.Thread(target=watch, daemon=True).start()
    server.run()
