"""The pytest plugin: the fixture ``smem``, the marker ``smem_budget`` and the option ``--smem-report``.

Nothing of smemviz is imported before a test asks for it, so that a session without such tests does not wait.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import pytest

if TYPE_CHECKING:
    from smemviz.testing.fixture import Smem

_MARKER = "smem_budget"
_recorders: WeakKeyDictionary[pytest.Item, Smem] = WeakKeyDictionary()  # a stash, which pytest 6 does not have


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.getgroup("smemviz").addoption(
        "--smem-report",
        metavar="DIR",
        help="write what tests recorded with the fixture smem to DIR, and index.html about those that failed",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and start the report if there is to be one."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(max_degree, excess, sectors_per_request, findings, kernel, cc): "
        "limits for every launch that the test records with the fixture smem",
    )
    folder = config.getoption("smem_report")
    if folder is not None:
        from smemviz.testing.report import Report

        config.option.smem_report = str(Path(folder).absolute())  # so that workers write to the same place
        config.pluginmanager.register(Report(config, _recorders), "smemviz-report")


@pytest.fixture
def smem(request: pytest.FixtureRequest) -> Smem:
    """Record kernels, load recordings, and assert what they may cost."""
    from smemviz.project import project_at
    from smemviz.testing.fixture import Smem

    root = request.config.rootpath
    recorder = Smem(request.node.path, root, project_at(root).engine)
    _recorders[request.node] = recorder
    return recorder


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Hold what a test that passed recorded against its budgets, or the project's limits where it has none.

    As the last of its kind it comes after the test has run, and not when that failed. It is no wrapper, because an
    older pluggy turns what a wrapper raises into a warning.
    """
    markers = list(item.iter_markers(_MARKER))
    for marker in markers:
        _check(item, marker)
    if not markers and item in _recorders:
        _check(item, None)


def _check(item: pytest.Item, marker: pytest.Mark | None) -> None:
    __tracebackhide__ = True
    from smemviz.errors import SmemvizError
    from smemviz.testing.budget import check_budget, project_budget

    recorder = _recorders.get(item)
    if recorder is None:
        pytest.fail(f"{_MARKER}: the test does not use the fixture smem, so nothing was recorded", pytrace=False)
    try:
        if marker is not None:
            problem = check_budget(recorder, marker.args, marker.kwargs)
        else:
            limits = project_budget(item.config.rootpath)
            problem = check_budget(recorder, (), limits, of_project=True) if limits else None
    except SmemvizError as error:
        problem = str(error)
    if problem is not None:
        pytest.fail(problem, pytrace=False)
