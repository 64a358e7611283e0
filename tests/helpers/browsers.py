"""The browser that the tests open, and what happens where there is none."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest
from playwright.sync_api import Playwright

_REQUIRED = "SMEMVIZ_REQUIRE_BROWSER"


def chromium(playwright: Playwright) -> str:
    """Return the path of a Chromium: one on the PATH, or the one playwright installed."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next((path for path in map(shutil.which, names) if path), None)
    own = playwright.chromium.executable_path
    if not found and not Path(own).exists():
        lacking("no Chromium here: playwright install chromium, or the system's package")
    return found or own


def lacking(reason: str) -> NoReturn:
    """Skip what needs a browser, or fail where there has to be one."""
    if os.environ.get(_REQUIRED) == "1":
        pytest.fail(reason)
    pytest.skip(reason)
