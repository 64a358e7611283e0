"""What is seen of a kernel before anybody scrolls, and in which order on a narrow screen."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.waiting import settle
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

SIZES = ((1440, 900), (1024, 768), (1920, 1080))
LOW = 768  # on which all of it begins; the tile stays high enough to be read
KERNELS = (
    "file=square&kernel=set_row_read_col",
    "file=transpose&kernel=tile",
    "file=square.cu&kernel=set_row_read_col",
    "file=rectangle&kernel=set_row_read_col",
    "file=reduce&kernel=neighbours_by_close_threads",
    "file=matmul&kernel=tiled_swapped",
)
# The story in its order: what is so, why, what would help; where in the source, when, what else; which cells and banks.
STORY = (
    "#headline",
    "#why > :not([hidden]) p:first-child",
    "#why > :not([hidden]) p:last-child",
    "#source-panel h2",
    "#source .badge[aria-pressed=true]",
    "#position-text",
    "#suggest-title",
    "#tile svg",
    "#request svg",
)


def box(page: Page, selector: str) -> dict[str, Any]:
    found = page.locator(selector).first.bounding_box()
    assert found is not None, selector
    return dict(found)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_story_is_on_the_first_screen(page: Page, kernel: str) -> None:
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"/kernel?{kernel}")
        settle(page)
        expect(page.locator("#request svg")).to_be_visible()
        for selector in STORY:
            seen = box(page, selector)
            assert min(seen["x"], seen["y"]) >= 0, (width, selector, seen)
            assert seen["x"] + seen["width"] <= width, (width, selector, seen)
            if height > LOW:
                assert seen["y"] + seen["height"] <= height, (width, selector, seen)
            assert seen["y"] < height - 5, (width, selector, seen)
        edges = {round(one["x"] + one["width"]) for one in map(_box, page.locator("#source .badges").all())}
        assert len(edges) == 1  # the badges stand in one column
        assert box(page, "#tile svg")["y"] + box(page, "#tile svg")["height"] <= box(page, "#request svg")["y"]


def _box(locator: Any) -> dict[str, float]:
    return dict(locator.bounding_box())


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_telephone_shows_the_story_in_the_same_order(page: Page, kernel: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"/kernel?{kernel}")
    settle(page)
    expect(page.locator("#request svg")).to_be_visible()
    tops = [box(page, selector)["y"] for selector in STORY]
    assert tops == sorted(tops)


def test_a_badge_never_stands_over_the_code_of_its_line(page: Page) -> None:
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"/kernel?{KERNELS[1]}")
        settle(page)
        for line in page.locator(".source-line:has(.badges)").all():
            code, badges = _box(line.locator("code")), _box(line.locator(".badges"))
            beside = code["x"] + code["width"] <= badges["x"]
            assert beside or code["y"] + code["height"] <= badges["y"] + 1, (width, code, badges)
