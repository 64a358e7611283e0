"""Two tiles side by side on top of the compare page."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.waiting import settle
from playwright.sync_api import Page, expect

from smemviz.app.library import Library
from smemviz.app.pages.compare.compare_page import view_compare
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.paths import kernels_dir


@pytest.fixture(scope="module")
def library() -> Library:
    return Library([kernels_dir() / "square.py", kernels_dir() / "stencil.py", kernels_dir() / "matmul.py"])


def compare(library: Library, file: str, *kernels: str) -> dict[str, Any]:
    query = {"file": file} | ({"launch": "\n".join(f"{file}:{kernel}" for kernel in kernels)} if kernels else {})
    return dict(view_compare(library, Stopwatch(), query, "light"))


def said(filling: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the name of each launch whose tile is shown, and what is said of the request."""
    panels = [one for one in filling["compare-tiles.children"] if "tile-of" in one.className]
    return [
        (panel.children[0].children[0].children, "".join(map(_text, panel.children[1].children))) for panel in panels
    ]


def _text(part: Any) -> str:
    return part if isinstance(part, str) else str(part.children)


@pytest.mark.exhaustive
def test_two_launches_show_the_same_access(library: Library) -> None:
    assert said(compare(library, "square", "set_row_read_col", "set_row_read_col_pad")) == [
        ("set_row_read_col", "tile[tx, ty]: Load by warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do"),
        ("set_row_read_col_pad", "tile[tx, ty]: Load by warp 0, step 1: 32 lanes, 1 wavefront"),
    ]


def test_of_more_the_slowest_stands_beside_the_fastest(library: Library) -> None:
    filling = compare(library, "square")
    assert [name for name, _ in said(filling)] == ["set_col_read_col", "set_row_read_row"]
    assert filling["compare-tiles.children"][-1].children == "Pick two launches to see the tiles of others."


def test_launches_without_shared_memory_have_no_tile(library: Library) -> None:
    assert compare(library, "matmul", "naive", "naive_swapped")["compare-tiles.children"] == []


def test_sectors_are_drawn_where_they_differ(library: Library) -> None:
    assert compare(library, "square")["compare-sectors-panel.hidden"] is True
    assert compare(library, "stencil")["compare-sectors-panel.hidden"] is False


@pytest.mark.browser
def test_both_tiles_are_on_the_first_screen(page: Page) -> None:
    for width, height in ((1440, 900), (1024, 768)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto("/compare?file=square&launch=square:set_row_read_col&launch=square:set_row_read_col_pad")
        settle(page)
        expect(page.locator("#compare-tiles svg")).to_have_count(2)
        left, right = (one.bounding_box() for one in page.locator("#compare-tiles .tile-of").all())
        assert left is not None
        assert right is not None
        assert left["x"] + left["width"] <= right["x"]
        assert left["y"] == right["y"] < height / 2
        assert right["x"] + right["width"] <= width
