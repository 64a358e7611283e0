"""The recordings that are exported, what runs the command, and what the tests that need a browser wait for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app.conftest import REQUIRED, chromium
from playwright.sync_api import Playwright

from smemviz import cli, resources
from smemviz.errors import MissingError
from smemviz.export.images import require_browser
from smemviz.recording import Recording
from smemviz.recording_file import load

RECORDINGS = resources.kernels_dir() / "recordings" / "h200"


@pytest.fixture(scope="session")
def square() -> Recording:
    return load(RECORDINGS / "square.smem.npz")


@pytest.fixture
def square_file() -> Path:
    return RECORDINGS / "square.smem.npz"


@pytest.fixture(scope="session")
def image_browser() -> None:
    """Skip where no image can be drawn, or fail where one has to be."""
    try:
        require_browser()
    except MissingError as error:
        _lacking(str(error))


@pytest.fixture(scope="session")
def browser_type_launch_args(playwright: Playwright) -> dict[str, Any]:
    path = chromium(playwright)
    if path is None:
        _lacking("no Chromium here: playwright install chromium, or the system's package")
    return {"executable_path": path, "args": ["--no-sandbox"]}


@pytest.fixture(scope="session")
def base_url() -> str:
    """Files are opened from disk."""
    return ""


def _lacking(reason: str) -> None:
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def export() -> Callable[..., int]:
    """Give what runs ``smemviz export`` with arguments and returns its exit code."""
    return lambda *arguments: cli.main(["export", *map(str, arguments)])
