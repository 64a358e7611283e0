"""What happens to every request before a page sees it: a health check, a visitor's share, a line in the log."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache

from smemviz.app.server.hosts import visitor_of

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

HEALTH = "/healthz"
_BURST = 4.0  # seconds' worth of requests that may come at once, as those of a page that opens do
_MOST_VISITORS = 10_000

Clock = Callable[[], float]


class Shares:
    """So many requests a second for each visitor, and a burst of a few seconds' worth."""

    def __init__(self, rate: float, clock: Clock = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._spent: LRUCache[str, tuple[float, float]] = LRUCache(_MOST_VISITORS)
        self._lock = threading.Lock()

    def wait(self, visitor: str) -> float:
        """Take one request from a visitor's share; return the seconds until there is one, 0 where there is."""
        if not self._rate:
            return 0.0
        most = max(self._rate * _BURST, 1.0)
        with self._lock:
            now = self._clock()
            left, before = self._spent.get(visitor, (most, now))
            left = min(most, left + (now - before) * self._rate)
            allowed = left >= 1
            self._spent[visitor] = (left - allowed, now)
        return 0.0 if allowed else (1 - left) / self._rate


class Doorway:
    """A WSGI app before another: answers health checks, refuses who asks too often, and logs a line of JSON a request.

    ``prefix`` is taken off the paths that a proxy left it on.
    """

    def __init__(self, app: WSGIApplication, shares: Shares, *, log: bool = True, prefix: str = "") -> None:
        self._app = app
        self._shares = shares
        self._log = log
        self._prefix = prefix

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        path = str(environ.get("PATH_INFO", ""))
        if self._prefix and path.startswith(f"{self._prefix}/"):
            path = environ["PATH_INFO"] = path.removeprefix(self._prefix)
        if path == HEALTH:
            return _plain(start, "200 OK", "ok\n")
        wait = self._shares.wait(visitor_of(str(environ.get("REMOTE_ADDR", ""))))
        if not self._log:
            return _refused(start, wait) if wait else self._app(environ, start)
        line = _Line(environ, path)
        return line.counted(_refused(line.begun(start), wait) if wait else self._app(environ, line.begun(start)))


class _Line:
    """The line of the log that says what became of a request; without the query, which may hold what somebody wrote."""

    def __init__(self, environ: WSGIEnvironment, path: str) -> None:
        self._began = time.perf_counter()
        self._status = 0
        self._bytes = 0
        self._request = {
            "visitor": environ.get("REMOTE_ADDR", ""),
            "method": environ.get("REQUEST_METHOD", ""),
            "path": path,
        }

    def begun(self, start: StartResponse) -> StartResponse:
        def started(status: str, headers: list[tuple[str, str]], *failed: Any) -> Any:
            self._status = int(status[:3])
            return start(status, headers, *failed)

        return started

    def counted(self, body: Iterable[bytes]) -> Iterator[bytes]:
        try:
            for part in body:
                self._bytes += len(part)
                yield part
        finally:
            close = getattr(body, "close", None)
            if close:
                close()
            self._write()

    def _write(self) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        took = round(1000 * (time.perf_counter() - self._began), 1)
        line = {"time": now, **self._request, "status": self._status, "bytes": self._bytes, "ms": took}
        # In one piece, for other processes write to the same place.
        sys.stdout.write(json.dumps({**line, "process": os.getpid()}) + "\n")
        sys.stdout.flush()


def _refused(start: StartResponse, wait: float) -> list[bytes]:
    seconds = max(1, math.ceil(wait))
    message = f"smemviz: too many requests from here; try again in {seconds} s\n"
    return _plain(start, "429 Too Many Requests", message, ("Retry-After", str(seconds)))


def _plain(start: StartResponse, status: str, message: str, *headers: tuple[str, str]) -> list[bytes]:
    body = message.encode()
    defaults = [("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")]
    start(status, [*defaults, ("Content-Length", str(len(body))), *headers])
    return [body]
