"""``--smem-report``: the recordings of a test session, and a page about the tests that failed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from smemviz.testing.html import Failure, page

if TYPE_CHECKING:
    from smemviz.testing.fixture import Smem

_ATTRIBUTE = "smem_failure"  # of a test's report, plain data, so that it survives the way from a worker


class Report:
    """Saves the recordings of each test, and writes ``index.html`` when the session ends.

    With pytest-xdist the workers save and the session that started them writes the page.
    """

    def __init__(self, config: pytest.Config, key: pytest.StashKey[Smem]) -> None:
        self._folder = Path(config.option.smem_report)
        self._key = key
        self._worker = hasattr(config, "workerinput")
        self._failures: list[Failure] = []
        self._written = False
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise pytest.UsageError(f"--smem-report: {self._folder}: cannot be a folder: {error.strerror}") from None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Save what a test recorded, and add to its report what is to be told of its failure."""
        report = yield
        smem = item.stash.get(self._key, None)
        if report.when != "call" or smem is None:
            return report
        files = [self._save(item.nodeid, number, smem) for number in range(len(smem.made))]
        if report.failed:
            output = "" if smem.witnesses else report.longreprtext
            failure = Failure(item.nodeid, tuple(smem.witnesses), output, tuple(files))
            setattr(report, _ATTRIBUTE, asdict(failure))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the failures, of this process or of a worker."""
        failure: dict[str, Any] | None = getattr(report, _ATTRIBUTE, None)
        if failure is not None:
            self._failures.append(Failure.read(failure))

    def pytest_sessionfinish(self) -> None:
        """Write the page."""
        if not self._worker:
            (self._folder / "index.html").write_text(page(self._failures), encoding="utf-8")
            self._written = True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the page is."""
        if self._written:
            terminalreporter.write_line(f"smemviz report: {self._folder / 'index.html'}")

    def _save(self, test: str, number: int, smem: Smem) -> str:
        name = f"{file_name(test)}{f'-{number + 1}' if number else ''}.smem.npz"
        smem.made[number].save(self._folder / name)
        return name


def file_name(test: str) -> str:
    """Turn the name of a test into that of a file, a different one for each test."""
    plain = test.replace("::", "-").replace("/", ".")
    name = re.sub(r"[^\w.-]", "_", plain)[:120]
    return name if name == plain else f"{name}-{hashlib.sha256(test.encode()).hexdigest()[:8]}"
