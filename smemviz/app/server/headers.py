"""What every answer tells the browser it may do with it."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence

from flask import Flask, Response


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
