"""What changed in a file, on the compare page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dash.development.base_component import Component
from helpers.revisions import commit
from playwright.sync_api import Page, expect

from smemviz.app.library import Library
from smemviz.app.pages.compare.compare_tables import view_changes
from smemviz.app.texts import Texts
from smemviz.paths import kernels_dir

SQUARE = (kernels_dir() / "square.py").read_text(encoding="utf-8")


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """Serve a file whose last revision had no pad."""
    path = tmp_path / "mine.py"
    path.write_text(SQUARE.replace("IPAD = 1", "IPAD = 0"), encoding="utf-8")
    commit(path)
    path.write_text("# A line above.\n" + SQUARE, encoding="utf-8")
    return Library([path])


def said(parts: object) -> list[str]:
    """Return the texts of a component in order."""
    if isinstance(parts, str):
        return [parts]
    if isinstance(parts, list | tuple):
        return [text for part in parts for text in said(part)]
    return said(getattr(parts, "children", None) or []) if isinstance(parts, Component) else []


def rows(parts: list[Component], table: int) -> list[str]:
    tables = [part.children for part in parts if getattr(part, "className", "") == "scroller"]
    return [" | ".join(said(row)) for row in tables[table].children[2].children]


def test_nothing_is_compared_before_it_is_asked_for(library: Library) -> None:
    assert view_changes(library, {"file": "mine"}) == []
    assert view_changes(library, {"file": "mine", "against": " "}) == []


def test_a_revision_shows_totals_and_the_lines_that_changed(library: Library) -> None:
    parts = view_changes(library, {"file": "mine", "against": "HEAD"})
    assert said(parts[0]) == ["No launch is worse in B."]
    assert said(parts[1]) == ["A is HEAD, B is mine as this page shows it."]
    assert rows(parts, 0)[4] == "set_row_read_col_pad | 96 | 1,056 → 64 | 992 → 0 | 32 → 1 | 128 | not measured"
    line = SQUARE[: SQUARE.index("out[idx] = tile[tx, ty]", SQUARE.index("def set_row_read_col_pad"))].count("\n") + 1
    places = f"{line} → {line + 1}"
    assert rows(parts, 1) == [f"{places} | tile[tx, ty] | shared load | 32 | 1,024 → 32 | 992 → 0 | 32 → 1 | -"]


def test_constants_stand_for_what_was_before(library: Library) -> None:
    parts = view_changes(library, {"file": "mine", "IPAD": "0", "against": "IPAD=1"})
    assert said(parts[0]) == ["Worse in B: set_row_read_col_pad in wavefronts; set_row_read_col_dyn_pad in wavefronts."]


def test_counts_are_those_of_the_hardware_of_the_page(library: Library) -> None:
    """A row of 33 floats begins within a word of 8 bytes: of every second column, lanes 0 and 31 meet in one bank."""
    totals = {
        cc: rows(view_changes(library, {"file": "mine", "against": "HEAD", "cc": cc}), 0)[4] for cc in ("3.7", "3.7-8")
    }
    assert totals["3.7"] == "set_row_read_col_pad | 96 | 544 → 64 | 480 → 0 | 16 → 1 | 128 | not measured"
    assert totals["3.7-8"] == "set_row_read_col_pad | 96 | 544 → 80 | 480 → 16 | 16 → 2 | 128 | not measured"


@pytest.mark.exhaustive
def test_no_revision_is_read_for_other_machines(library: Library, texts: Texts, tmp_path: Path) -> None:
    served = Library([tmp_path / "mine.py"], texts, local=False)
    refused = "mine: revisions are read only where nobody but this machine reaches the server"
    assert said(view_changes(served, {"file": "mine", "against": "HEAD"})) == [refused]
    assert said(view_changes(served, {"file": "mine", "against": "IPAD=0"})[0]) == ["No launch is worse in B."]


def test_a_text_of_the_editor_is_run_in_the_sandbox(tmp_path: Path, texts: Texts) -> None:
    """Neither what is shown nor what it is compared with may reach Python's ``exec``."""
    trace = tmp_path / "trace"
    hostile = f"{SQUARE}\n\nif IPAD == 0:\n    open({str(trace)!r}, 'w')\n"
    names = [texts.add(text).name for text in (SQUARE, hostile)]
    served = Library([kernels_dir() / "reverse.py"], texts)
    assert said(view_changes(served, {"file": names[0], "against": "IPAD=0"})[0]) == ["No launch is worse in B."]
    refused = said(view_changes(served, {"file": names[1], "against": "IPAD=0"}))
    assert "open is not defined here" in refused[0]
    assert not trace.exists()


def test_a_revision_and_constants_go_together(library: Library) -> None:
    parts = view_changes(library, {"file": "mine", "against": "HEAD IPAD=1"})
    assert [len(rows(parts, 0)), len(parts)] == [6, 3]  # six launches, and no line changed


@pytest.mark.parametrize(
    ("against", "error"),
    [
        ("nowhere", "nowhere:mine.py: git does not have it: "),
        ("HEAD~1 HEAD~2", "HEAD~1 HEAD~2: write a revision such as HEAD~1, constants such as IPAD=0, or both"),
        ("--output=/tmp/x", "--output=/tmp/x: write a revision such as HEAD~1, "),
        ("HEAD:../other", "HEAD:../other: write a revision such as HEAD~1, "),
        ("WIDE=1", "mine.py:1: there is no constant WIDE; the file has: BDIMX, BDIMY, IPAD, PITCH"),
    ],
)
def test_a_mistake_is_said_in_its_place(library: Library, against: str, error: str) -> None:
    (alert,) = view_changes(library, {"file": "mine", "against": against})
    assert error in said(alert)[0]


@pytest.mark.browser
def test_what_is_compared_with_stands_in_the_address(page: Page) -> None:
    page.goto("/compare?file=square")
    field = page.get_by_role("textbox", name="Before")
    field.fill("IPAD=0")
    field.press("Enter")
    changes = page.locator("#compare-changes")
    expect(changes).to_contain_text("No launch is worse in B.")
    expect(page).to_have_url(re.compile(r"/compare\?file=square&against=IPAD%3D0$"))
    page.reload()
    expect(changes).to_contain_text("1,056 → 64")
    expect(field).to_have_value("IPAD=0")
    field.fill("")
    field.press("Enter")
    expect(changes).to_be_empty()
    expect(page).to_have_url(re.compile(r"/compare\?file=square$"))
