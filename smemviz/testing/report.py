"""``--smem-report``: the recordings of a test session, and a page about the tests that failed, without scripts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from smemviz.figures.drawing.style import FONT, MONO, THEMES, css_variables
from smemviz.reports.html.page import document
from smemviz.testing.witness import Drawing, Witness
from smemviz.wording.labels import count

if TYPE_CHECKING:
    from smemviz.testing.fixture import Smem

_COLOURS = ("paper", "ink", "muted", "idle", "unused", "conflict")


@dataclass(frozen=True)
class Failure:
    """A test that failed: its witnesses, or else what pytest says of it, and the recordings it made, by file name."""

    test: str
    witnesses: tuple[Witness, ...]
    output: str
    files: tuple[str, ...]

    @staticmethod
    def read(data: Mapping[str, Any]) -> Failure:
        """Build it again from ``dataclasses.asdict``."""
        witnesses = tuple(
            Witness(**facts | {"drawing": facts["drawing"] and Drawing(**facts["drawing"])})
            for facts in data["witnesses"]
        )
        return Failure(data["test"], witnesses, data["output"], data["files"])


def page(failures: Sequence[Failure]) -> str:
    """Write the page about the tests that failed."""
    title = f"{count(len(failures), 'test')} failed" if failures else "No test failed"
    sections = "\n".join(_section(failure) for failure in failures)
    body = f"<main>\n<h1>{title}</h1>\n{sections}\n</main>"
    return document("document.html", f"smemviz: {title}", body=body, style=_style())


def _section(failure: Failure) -> str:
    output = f"{_pre(f'What pytest says of {failure.test}')}{escape(failure.output)}</pre>" if failure.output else ""
    witnesses = "\n".join(_witness(witness, failure.test) for witness in failure.witnesses)
    links = ", ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in failure.files)
    files = f'<p class="files">Recorded: {links}</p>' if links else ""
    return f"<section>\n<h2>{escape(failure.test)}</h2>\n{output}{witnesses}\n{files}\n</section>"


def _witness(witness: Witness, test: str) -> str:
    parts = [f"<h3>{escape(witness.headline)}</h3>"]
    parts += [f'<p class="detail">{escape(line)}</p>' for line in witness.details]
    if witness.source:
        parts.append(_source(witness, test))
    if witness.drawing:
        parts.append(_table(witness.drawing, witness.headline))
    parts += [f"<p><strong>Why.</strong> {escape(witness.why)}</p>"] if witness.why else []
    parts += [f"<p><strong>To pass.</strong> {escape(_sentence(witness.to_pass))}</p>"] if witness.to_pass else []
    return "\n".join(parts)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _source(witness: Witness, test: str) -> str:
    """Show the lines around the place, that of the access marked."""
    marked = int(witness.headline.split(": ")[0].rsplit(":", 1)[1])
    lines = [
        f"<{tag}>{number:5} {escape(text)}</{tag}>"
        for number, text in enumerate(witness.source, witness.source_from)
        for tag in ["mark" if number == marked else "span"]
    ]
    return _pre(f"Source of {test}") + "\n".join(lines) + "</pre>"


def _pre(label: str) -> str:
    """Open a box of text that scrolls, which the keyboard can reach."""
    return f'<pre tabindex="0" role="region" aria-label="{escape(label)}">'


def _table(drawing: Drawing, name: str) -> str:
    """Show a row per wavefront and a column per bank."""
    banks = len(drawing.cells[0])
    crowded = [sum(row[bank] != "." for row in drawing.cells) > 1 for bank in range(banks)]
    head = "".join(f'<th scope="col">{bank}</th>' for bank in range(banks))
    rows = [
        f'<tr><th scope="row">wavefront {number}</th>'
        + "".join(_cell(cell, full) for cell, full in zip(row, crowded, strict=True))
        + "</tr>"
        for number, row in enumerate(drawing.cells, drawing.first)
    ]
    more = f"; {count(drawing.more, 'wavefront')} more are not shown" if drawing.more else ""
    caption = f"The lane that each bank serves in each wavefront, * for several lanes on one word{more}"
    return (
        f'<div class="scroller" tabindex="0" role="region" aria-label="Banks: {escape(name)}">'
        f'<table>\n<caption>{caption}</caption>\n<thead><tr><th scope="col">bank</th>{head}</tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + "\n</tbody></table></div>"
    )


def _cell(cell: str, crowded: bool) -> str:
    if cell == ".":
        return "<td></td>"
    return f'<td class="{"conflict" if crowded else "served"}">{cell}</td>'


def _style() -> str:
    light, dark = (
        f"{css_variables(theme, _COLOURS)};--bank:{theme.ramp[2]}" for theme in (THEMES["light"], THEMES["dark"])
    )
    return f""":root {{ color-scheme: light dark; {light} }}
@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 {FONT}; }}
main {{ max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }}
h1 {{ font-size: 1.6rem; }}
section {{ border-top: 1px solid var(--unused); margin-top: 2rem; }}
h2, h3, pre, table {{ font-family: {MONO}; }}
h2 {{ font-size: 1rem; color: var(--muted); overflow-wrap: anywhere; }}
h3 {{ font-size: 1.05rem; overflow-wrap: anywhere; }}
p {{ max-width: 60rem; }}
.detail {{ margin: 0.2rem 0; color: var(--muted); }}
.scroller, pre {{ overflow-x: auto; margin: 1rem 0; }}
pre {{ font-size: 0.85rem; line-height: 1.45; background: var(--idle); padding: 0.6rem; border-radius: 6px; }}
pre span, pre mark {{ display: inline; background: none; color: inherit; }}
pre mark {{ font-weight: 700; border-bottom: 2px solid var(--conflict); }}
table {{ border-collapse: separate; border-spacing: 2px; font-size: 0.75rem; }}
caption {{ text-align: left; font-family: {FONT}; color: var(--muted); padding-bottom: 0.4rem; }}
th {{ font-weight: 400; color: var(--muted); text-align: right; white-space: nowrap; padding-right: 0.3rem; }}
td {{ min-width: 1.6em; height: 1.7em; text-align: center; background: var(--idle); border-radius: 3px; }}
td.served {{ background: var(--bank); }}
td.conflict {{ background: var(--bank); font-weight: 800; box-shadow: inset 0 0 0 2px var(--conflict); }}
a {{ color: inherit; }}"""


_ATTRIBUTE = "smem_failure"  # of a test's report, plain data, so that it survives the way from a worker


class Report:
    """Saves the recordings of each test, and writes ``index.html`` when the session ends.

    With pytest-xdist the workers save and the session that started them writes the page.
    """

    def __init__(self, config: pytest.Config, recorders: Mapping[pytest.Item, Smem]) -> None:
        self._folder = Path(config.option.smem_report)
        self._recorders = recorders
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
        smem = self._recorders.get(item)
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
