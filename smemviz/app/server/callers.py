"""Whom a dashboard answers: its own pages and programs, under a name that nobody else can have it called by.

A browser lets a page from elsewhere reach a server near its user when the page's own name is made to stand for the
server's address (DNS rebinding); such a request still says by which name the server was asked. Addresses and
``localhost`` stand for nobody else. A page may also ask without being able to read the answer, as for a picture; then
the browser says from which site. Werkzeug's list of trusted hosts knows no ``[::1]``, so it is not used.
"""

import ipaddress
from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from flask import Flask, Response, request

from smemviz.app.server.settings import is_loopback

_OWN = ("same-origin", "none")  # none: typed, a bookmark, a program that asks for it as a browser would


def refuse_strangers(server: Flask, names: Sequence[str] = ()) -> None:
    """Have a server answer only those who ask for it by an address, as ``localhost`` or by one of these names."""
    known = {name.lower() for name in names}

    def refuse() -> Response | None:
        host = _name(request.host)
        if not (host in known or is_loopback(host) or _is_address(host)):
            return _refusal(
                f"smemviz does not answer to the name {request.host or '(none)'}; open it by its "
                f"address or as localhost, or start it with --allow-host {host or 'NAME'}"
            )
        origin = request.headers.get("Origin")
        if origin is not None and origin not in (f"http://{request.host}", f"https://{request.host}"):
            return _refusal(
                f"smemviz takes nothing from {origin}, a page of another site; open it at {request.host_url}"
            )
        if request.headers.get("Sec-Fetch-Site", "none") not in _OWN and not _is_link_to_a_page():
            return _refusal(f"smemviz gives this to no page of another site; open it at {request.host_url}")
        return None

    server.before_request(refuse)


def _name(host: str) -> str:
    return (urlsplit(f"//{host}").hostname or "").rstrip(".")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_link_to_a_page() -> bool:
    """Tell whether a reader followed a link to a page; what computes at once, or is part of a page, is none."""
    fetch = [request.headers.get(f"Sec-Fetch-{name}") for name in ("Mode", "Dest")]
    is_page = not request.path.startswith("/_") and not PurePosixPath(request.path).suffix
    return request.method == "GET" and fetch == ["navigate", "document"] and is_page


def _refusal(what: str) -> Response:
    return Response(f"{what}\n", 403, mimetype="text/plain")
