"""The pages of a file with mistakes, in a browser."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers.waiting import settle
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (400, "dark")])
def test_axe_finds_nothing_about_a_refusal_and_nothing_sticks_out(quiet: Page, width: int, theme: str) -> None:
    page = quiet
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"/kernel?file=mistakes&kernel=too_many_threads&theme={theme}")
    settle(page)
    expect(page.locator("#notices")).to_contain_text("1056 threads")
    found = Axe().run(page)
    assert found.response["violations"] == [], found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_refused_kernel_leads_to_the_others_and_back(quiet: Page) -> None:
    page = quiet
    page.goto("/kernel?file=mistakes&kernel=too_many_threads")
    expect(page.get_by_role("heading", level=1)).to_have_text("This cannot be launched")
    page.get_by_role("link", name="store_past_the_edge").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Out of bounds in line 45")
    expect(page.locator(".source-line.mistaken")).to_contain_text("c[row, column] = total")
    expect(page.locator(".source-line.mistaken")).to_contain_text("out of bounds")
    page.get_by_role("link", name="too_many_threads").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("This cannot be launched")


def test_lowering_a_knob_mends_a_refused_launch(quiet: Page) -> None:
    page = quiet
    page.goto("/kernel?file=mistakes&kernel=too_many_threads")
    knob = page.get_by_label("TALL", exact=True)
    knob.fill("32")
    knob.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("No shared memory is used")
