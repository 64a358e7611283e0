"""Whom a dashboard answers that listens on its own machine only: pages of other sites are kept out.

A browser lets a page from elsewhere reach a server on its user's machine when the page's own name is made to stand for
127.0.0.1 (DNS rebinding). Such a request still says by which name the server was asked. Ports forwarded to this machine
come as ``localhost`` or an address. Werkzeug's list of trusted hosts knows no ``[::1]``, so it is not used.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Response, request

from smemviz.loopback import is_loopback

_READING = ("GET", "HEAD", "OPTIONS")


def refuse_strangers() -> Response | None:
    """Return the refusal of a request that was not meant for this machine, or that a page of another site sends."""
    if not is_loopback(_name(request.host)):
        return _refusal(
            f"smemviz listens on this machine only and was asked as {request.host or 'nobody'}; open it as localhost "
            "or 127.0.0.1, or start it with --host and an address that others reach"
        )
    origin = request.headers.get("Origin")
    if origin is not None and request.method not in _READING and origin.partition("://")[2] != request.host:
        return _refusal(f"smemviz takes nothing from {origin}, a page of another site; open it at {request.host_url}")
    return None


def _name(host: str) -> str:
    return urlsplit(f"//{host}").hostname or ""


def _refusal(what: str) -> Response:
    return Response(f"{what}\n", 403, mimetype="text/plain")
