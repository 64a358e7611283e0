"""Small things of the pages that only a browser shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.fitting import axe
from helpers.pages import open_page, query, serve
from helpers.waiting import settle
from playwright.sync_api import Browser, Page, expect

from smemviz.paths import kernels_dir

pytestmark = pytest.mark.browser


def test_a_table_comes_into_view_and_no_bank_at_all_is_not_typed(page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/kernel?file=square&kernel=set_row_read_col")
    settle(page)
    page.get_by_role("button", name="Table of Tile").click()
    expect(page.locator("#tile-panel .figure-table")).to_be_in_viewport()
    page.locator("summary", has_text="View").click()
    field = page.get_by_label("Number of banks to draw")
    expect(field).to_have_value("32")
    field.press("Control+a")
    field.press_sequentially("0")
    field.press("Enter")
    settle(page)
    assert "0" not in query(page).get("banks", [])


def test_a_number_of_banks_that_cannot_be_drawn_leaves_the_link(page: Page) -> None:
    page.goto("/kernel?file=square&kernel=set_row_read_col&banks=0&view=physical")
    settle(page)
    expect(page.get_by_label("Number of banks to draw")).to_have_value("32")
    page.wait_for_function("() => !location.search.includes('banks')")
    assert "view=physical" in page.url


def test_without_any_pick_all_launches_come_back_in_the_field_as_well(page: Page) -> None:
    page.goto("/compare?file=square&launch=square:set_row_read_col")
    chips = page.locator(".mantine-MultiSelect-pill")
    expect(chips).to_have_count(1)
    chips.get_by_role("button", include_hidden=True).click()
    expect(chips).to_have_count(6)


def test_axe_finds_nothing_about_a_file_that_cannot_be_shown(browser: Browser, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def main(:\n", encoding="utf-8")
    with serve([broken, kernels_dir() / "reverse.py"]) as server, open_page(browser, server) as page:
        page.goto("/")
        settle(page)
        expect(page.get_by_text("This file cannot be shown")).to_be_visible()
        axe(page)


def test_on_a_narrow_screen_the_kernels_stand_in_one_row_that_shows_the_chosen_one(page: Page) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto("/kernel?file=square&kernel=set_row_read_row")
    settle(page)
    expect(page.locator("#kernels .kernel-link")).to_have_count(6)
    links = page.locator("#kernels a")  # and to the comparison, and to the other language where that can be compiled
    assert len({link.bounding_box()["y"] // 20 for link in links.all()}) == 1  # type: ignore[index]
    expect(page.locator("#kernels .compare-link").first).to_be_in_viewport(ratio=1)
    page.goto("/kernel?file=square&kernel=set_row_read_col_pad")
    settle(page)
    expect(page.locator("#kernels .current")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") == 400
