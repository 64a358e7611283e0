"""A path before every path, for a dashboard that a proxy shows below another site's address."""

from __future__ import annotations

import re

from flask import Flask, Response, redirect

_WRITTEN = ("text/html", "application/json")  # what leads to pages


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
