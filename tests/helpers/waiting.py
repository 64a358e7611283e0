"""What the tests in a browser wait for, and for how long."""

from collections.abc import Callable
from time import monotonic
from typing import Any

from playwright.sync_api import Page

LIMIT = 60_000  # ms; other work slows a browser down, and in a fresh environment Numba compiles for the first page


def eventually(page: Page, look: Callable[[], Any], expected: object) -> None:
    """Look until what is seen is as expected: the URL and tables are written piece by piece."""
    end = monotonic() + LIMIT / 1000
    while (seen := look()) != expected and monotonic() < end:
        page.wait_for_timeout(50)
    assert seen == expected


def settle(page: Page) -> None:
    """Wait until the page is there, nothing is asked of the server, and no callback is under way."""
    page.wait_for_function("() => document.querySelector('#page > :not(.origin:only-child)')")
    page.wait_for_load_state("networkidle")
    page.wait_for_function("() => !document.querySelector('[data-dash-is-loading]')")
