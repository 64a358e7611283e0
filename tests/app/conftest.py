"""A served dashboard and a page of it that must stay quiet."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from helpers.pages import serve, watched
from helpers.waiting import LIMIT
from playwright.sync_api import Page, expect

from smemviz.app.library import Library
from smemviz.app.pages.matmul.matmul_data import Products
from smemviz.app.tasks.jobs import Job
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.app.texts import Texts
from smemviz.engines.sandbox import supervisor
from smemviz.engines.sandbox.processes import Forks
from smemviz.paths import gallery
from smemviz.progress import LINES

expect.set_options(timeout=LIMIT)


@pytest.fixture(scope="session")
def served() -> Library:
    return Library(gallery())


@pytest.fixture(scope="session")
def products() -> Products:
    """Give the products as a dashboard that measures nothing has them; a product that is pictured runs once."""
    return Products(Job(environment=LINES))


@pytest.fixture(scope="session")
def stopwatch() -> Stopwatch:
    return Stopwatch(Job(allowed=False))


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Serve the gallery and two more files; yields the address."""
    data = Path(__file__).parents[1] / "data"
    with serve([*gallery(), data / "many.py", data / "often.py"]) as served:
        yield served


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any], server: str) -> dict[str, Any]:
    """Let the pages of these tests, which may come before or after others, start from the server."""
    return {**browser_context_args, "base_url": server}


@pytest.fixture
def page(page: Page, server: str) -> Iterator[Page]:
    """Give a page that must stay quiet: no error in the console, no request to anywhere else."""
    with watched(page, server):
        yield page


class _Lasting(Forks):
    """One process for all servers of these tests to fork from: it takes a second to start."""

    def close(self) -> None:
        pass


@pytest.fixture(scope="session", autouse=True)
def _one_to_fork_from() -> Iterator[None]:
    lasting = cache(_Lasting)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(supervisor, "Forks", lasting)
        yield
    if lasting.cache_info().currsize:
        Forks.close(lasting())


@pytest.fixture
def texts() -> Iterator[Texts]:
    made = Texts()
    yield made
    made.supervisor.close()
