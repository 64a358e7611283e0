"""The pages of a file with mistakes, in a browser."""

from __future__ import annotations

import pytest
from helpers.pages import headline, knob
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_a_refused_kernel_leads_to_the_others_and_back(page: Page) -> None:
    page.goto("/kernel?file=mistakes&kernel=too_many_threads")
    headline(page, "This cannot be launched")
    page.get_by_role("link", name="store_past_the_edge").click()
    headline(page, "Out of bounds in line 45")
    expect(page.locator(".source-line.mistaken")).to_contain_text("c[row, column] = total")
    expect(page.locator(".source-line.mistaken")).to_contain_text("out of bounds")
    page.get_by_role("link", name="too_many_threads").click()
    headline(page, "This cannot be launched")


def test_lowering_a_knob_mends_a_refused_launch(page: Page) -> None:
    page.goto("/kernel?file=mistakes&kernel=too_many_threads")
    knob(page, "TALL", 32)
    expect(page.get_by_role("heading", level=1)).to_contain_text("No shared memory is used")
