"""A dashboard in a browser: served, opened and watched, and what is asked of its pages again and again."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, expect
from werkzeug.serving import make_server

from helpers.waiting import LIMIT
from smemviz.app.factory import create_app


@contextmanager
def serve(paths: Sequence[Path] = (), *, follow: bool = False) -> Iterator[str]:
    """Serve kernel files, or the gallery; gives the address."""
    web = make_server("127.0.0.1", 0, create_app(paths, follow=follow).server, threaded=True)
    thread = threading.Thread(target=web.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{web.server_port}"
    web.shutdown()
    thread.join()


@contextmanager
def watched(page: Page, server: str) -> Iterator[Page]:
    """Fail when a page writes an error to its console, or asks anybody but the server for anything."""
    page.set_default_timeout(LIMIT)
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if _is_complaint(said, page) else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: None if _local(request.url, server) else complaints.append(request.url))
    yield page
    assert complaints == [], complaints


def _is_complaint(said: ConsoleMessage, page: Page) -> bool:
    """Whether a console has an error in it, other than that the page itself is not there."""
    absent = "404" in said.text and said.location.get("url", "").partition("?")[0] == page.url.partition("?")[0]
    return said.type == "error" and not absent


def _local(url: str, server: str) -> bool:
    return url.startswith((server + "/", "data:", "blob:"))


@contextmanager
def open_page(browser: Browser, server: str) -> Iterator[Page]:
    """Give a page of a server, which is watched."""
    with browser.new_context(base_url=server) as context, watched(context.new_page(), server) as page:
        yield page


def headline(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text)


def tab(page: Page, name: str) -> None:
    """Show what stands under a tab."""
    page.get_by_role("tab", name=name).click()


def knob(page: Page, name: str, value: object) -> None:
    """Type into a field and press Enter."""
    field = page.get_by_label(name, exact=True)
    field.fill(str(value))
    field.press("Enter")


def query(page: Page) -> dict[str, list[str]]:
    """Return what stands in the address now."""
    return parse_qs(urlsplit(page.evaluate("location.href")).query)
