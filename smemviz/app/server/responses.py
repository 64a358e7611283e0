"""What is done to every answer before it is sent: what browsers may do, a path before links, when to come back."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import traceback
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from flask import Flask, Response, g, has_request_context, redirect
from werkzeug.exceptions import InternalServerError

from smemviz.errors import DEBUG, BusyError, WaitingError, fault
from smemviz.messages import say
from smemviz.printable import one_line

_WRITTEN = ("text/html", "application/json")  # what leads to pages


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
