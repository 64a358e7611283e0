"""A browser and a served dashboard; the tests that need them are skipped where there is no Chromium."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Playwright, expect
from waiting import LIMIT
from watching import watched
from werkzeug.serving import make_server

from smemviz.app import create_app
from smemviz.resources import gallery

REQUIRED = "SMEMVIZ_REQUIRE_BROWSER"

expect.set_options(timeout=LIMIT)


def chromium(playwright: Playwright) -> str | None:
    """Return the path of a Chromium: one on the PATH, or the one playwright installed."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next((path for path in map(shutil.which, names) if path), None)
    own = playwright.chromium.executable_path
    return found or (own if Path(own).exists() else None)


@pytest.fixture(scope="session")
def browser_type_launch_args(playwright: Playwright) -> dict[str, Any]:
    path = chromium(playwright)
    if path is None:
        reason = "no Chromium here: playwright install chromium, or the system's package"
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return {"executable_path": path, "args": ["--no-sandbox"]}


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Serve the gallery and two more files; yields the address."""
    app = create_app([*gallery(), *(Path(__file__).with_name(name) for name in ("many.py", "often.py"))])
    web = make_server("127.0.0.1", 0, app.server, threaded=True)
    thread = threading.Thread(target=web.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{web.server_port}"
    web.shutdown()
    thread.join()


@pytest.fixture(scope="session")
def base_url(server: str) -> str:
    return server


@pytest.fixture
def quiet(page: Page, server: str) -> Iterator[Page]:
    """Give a page that must stay quiet: no error in the console, no request to anywhere else."""
    with watched(page, server):
        yield page
