"""The panel that suggests another layout, in a browser, with the real command behind it."""

from __future__ import annotations

import pytest
from helpers.fitting import fits
from helpers.waiting import settle
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (400, "dark")])
def test_axe_finds_nothing_and_nothing_sticks_out(page: Page, width: int, theme: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"/kernel?file=transpose&kernel=tile&theme={theme}")
    settle(page)
    page.locator("#suggest-title").click()
    page.locator("#suggestions summary").first.click()
    expect(page.locator("#suggestions pre").first).to_be_visible()
    fits(page, width)


def test_one_click_suggests_runs_and_shows_the_difference(page: Page) -> None:
    page.goto("/kernel?file=reduce&kernel=neighbours_by_close_threads")
    page.locator("#suggest-title").click()
    page.get_by_role("button", name="Suggest").click()
    row = page.locator("#suggestions tbody tr").first
    expect(row).to_contain_text("180 in lockstep")
    page.locator("#suggestions summary").first.click()
    expect(page.locator("#suggestions pre").first).to_contain_text("+    held[t ^ (t >> 5)] = values")
