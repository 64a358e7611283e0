"""A page that must stay quiet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page

from helpers.waiting import LIMIT


@contextmanager
def watched(page: Page, server: str) -> Iterator[None]:
    """Fail when a page writes an error to its console, or asks anybody but the server for anything."""
    page.set_default_timeout(LIMIT)
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: None if _local(request.url, server) else complaints.append(request.url))
    yield
    assert complaints == [], complaints


def _local(url: str, server: str) -> bool:
    return url.startswith((server + "/", "data:", "blob:"))
