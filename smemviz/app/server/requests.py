"""What happens to every request: a health check, a visitor's share, a line in the log; and to every answer to it."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sys
import threading
import time
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache
from flask import Flask, Response, g, has_request_context, redirect
from werkzeug.exceptions import InternalServerError

from smemviz.app.server.settings import visitor_of
from smemviz.errors import DEBUG, BusyError, WaitingError, fault
from smemviz.messages import say
from smemviz.printable import one_line

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


HEALTH = "/healthz"
_BURST = 4.0  # seconds' worth of requests that may come at once, as those of a page that opens do
_MOST_VISITORS = 10_000

Clock = Callable[[], float]
_WRITTEN = ("text/html", "application/json")  # what leads to pages


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


def add_headers(server: Flask, scripts: Sequence[str]) -> None:
    """Have every answer say that a page loads from this server only, runs no script but these and is put in no frame.

    ``scripts`` are the hashes of those that stand in the page itself. Styles in the page are Plotly's and Mantine's,
    which write them as they go, so they cannot be named.
    """
    policy = {
        "default-src": "'none'",
        "script-src": " ".join(("'self'", *scripts)),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self'",
        "connect-src": "'self' data:",  # a picture that is saved is read from one
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    headers = {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }

    def add(response: Response) -> Response:
        response.headers.update(headers)
        return response

    server.after_request(add)


def script_hash(text: str) -> str:
    """Return what names a script in a page, by its text."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def lead_below(server: Flask, prefix: str) -> None:
    """Have every link that a page or an answer holds lead below ``prefix``, such as ``/lab``.

    Pages are written with the paths they have by themselves. No text of a page looks like one of its links: within a
    text quotes are written otherwise, in HTML as in JSON.
    """
    link = re.compile(rf'(href(?:="|": ?"))(?:/|\\u002f)(?!{re.escape(prefix[1:])}/)')

    def rewrite(response: Response) -> Response:
        if response.mimetype in _WRITTEN and not response.direct_passthrough:
            response.set_data(link.sub(rf"\g<1>{prefix}/", response.get_data(as_text=True)))
        return response

    server.after_request(rewrite)
    server.add_url_rule(prefix, "below", lambda: redirect(f"{prefix}/", 308))


def note_busy(error: BusyError) -> None:
    """Note that what is being answered found the server busy; who has a place in a queue is told that place instead."""
    if has_request_context():
        g.passes = True  # what is said now does not hold for long
        if not isinstance(error, WaitingError):
            g.busy = error


def answer_busy(server: Flask) -> None:
    """Have a server say so, whatever was made of the page meanwhile: pages ask again by themselves."""

    def answer(response: Response) -> Response:
        busy: BusyError | None = g.pop("busy", None)
        if busy is None:
            return response
        message = say(str(busy)) or str(busy)
        return Response(f"{message}\n", 429, {"Retry-After": str(busy.seconds)}, "text/plain")

    server.after_request(answer)


def answer_faults(server: Flask) -> None:
    """Have a server answer an error of its own with a line, and print one that can be reported."""

    def log(exception: Any) -> None:
        _, error, _ = exception
        if os.environ.get(DEBUG):
            traceback.print_exception(error)
        print(one_line(f"smemviz: {fault(error)}"), file=sys.stderr, flush=True)

    def answer(error: InternalServerError) -> Response:
        return Response("smemviz failed on this; what it printed says where\n", 500, mimetype="text/plain")

    server.log_exception = log  # type: ignore[method-assign, assignment]
    server.register_error_handler(InternalServerError, answer)
