"""How the tests share the machine, which browser they open, and the second chance of those in one or by the clock."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from itertools import chain, groupby, pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from helpers.commands import Command
    from playwright.sync_api import Playwright

_MOST_WORKERS = 4  # each may have a browser and a server beside it

# The same examples in every run and no limit of time, so that a run that fails can be repeated and a slow machine
# fails nothing. --hypothesis-profile=default looks for new ones.
_NO_FAULT = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
for _profile, _examples in (("few", 12), ("many", 300)):
    settings.register_profile(
        _profile,
        max_examples=_examples,
        derandomize=True,
        deadline=None,
        suppress_health_check=_NO_FAULT,
    )

# A shell starts what it puts into the background with Ctrl-C ignored, and whatever a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Let properties be tried with few examples in what every change has to pass, with many in a run of everything."""
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile("few" if config.getoption("markexpr") == "not exhaustive" else "many")


@pytest.hookimpl(optionalhook=True)  # there may be no xdist
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many processes share the tests; a file or a test by name is done before a second has started."""
    if all(Path(argument.partition("::")[0]).is_file() for argument in config.args):
        return 0
    return min(os.cpu_count() or 1, _MOST_WORKERS)


@pytest.hookimpl(tryfirst=True)  # before those are left out that are not asked for
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Repeat what a browser did not show in time, and what was measured while the GPU changed its clock.

    Twice at most; the summary names every test that was repeated. A test in a browser is exhaustive but for the few
    that every change has to pass. Tests on a GPU take longest and stand together: they are spread over all
    the others, between files, so that each process has its share of them.
    """
    slow = [item for item in items if item.get_closest_marker("gpu")]
    quick = [item for item in items if not item.get_closest_marker("gpu")]
    files = [list(of_file) for _, of_file in groupby(quick, lambda item: item.path)]
    bounds = [len(slow) * number // max(1, len(files)) for number in range(len(files) + 1)]
    shares = [slow[start:end] for start, end in pairwise(bounds)] or [slow]
    items[:] = chain.from_iterable(chain(*pair) for pair in zip_longest(shares, files, fillvalue=()))
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=2, only_rerun=["AssertionError", "TimeoutError"]))
            if not item.get_closest_marker("smoke"):
                item.add_marker(pytest.mark.exhaustive)
        if item.get_closest_marker("alone"):
            item.add_marker(pytest.mark.flaky(reruns=2, only_rerun=["AssertionError"]))


def pytest_collection_finish() -> None:
    """Leave what there is before the first test out of the search for garbage, which took a tenth of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    """Let no test speak on in the language of the one before."""
    from smemviz.i18n import speaking

    with speaking("en"):
        yield


@pytest.fixture(scope="session")
def browser_type_launch_args(playwright: Playwright) -> dict[str, Any]:
    from helpers.browsers import chromium  # which the tests on a GPU do without

    return {"executable_path": chromium(playwright), "args": ["--no-sandbox"]}


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Give what runs the command line."""
    from helpers.commands import Command

    return Command(capsys)


@pytest.fixture(scope="session")
def base_url() -> str:
    """Pages are opened from disk, but where a folder of tests has a server."""
    return ""


@pytest.fixture(scope="session")
def image_browser() -> None:
    """Skip where no image can be drawn, or fail where one has to be."""
    from helpers.browsers import lacking

    from smemviz.errors import MissingError
    from smemviz.reports.images import require_browser

    try:
        require_browser()
    except MissingError as error:
        lacking(str(error))
