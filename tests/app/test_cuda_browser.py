"""A file of CUDA C++ in a browser: its source, its knobs, and both views side by side."""

from __future__ import annotations

import pytest
from helpers.pages import headline, knob
from playwright.sync_api import Page, expect

from smemviz.frontends.cuda import nvrtc

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC, the extra 'cpp'"),
]


def test_a_knob_of_a_define_brings_the_conflict_and_takes_it_away(page: Page) -> None:
    page.goto("/kernel?file=square.cu&kernel=set_row_read_col_pad")
    headline(page, "No bank conflict: 64 wavefronts, as few as can be")
    expect(page.locator("#source .tok-k").first).to_have_text("__global__")
    knob(page, "IPAD", 0)
    expect(page.get_by_role("heading", level=1)).to_contain_text("32-way conflict")
    expect(page.locator("#source")).to_contain_text("tile[tx][ty]")


def test_both_views_are_compared(page: Page) -> None:
    picks = "launch=square.cu:set_col_read_col&launch=square.cu@compiled:set_col_read_col"
    page.goto(f"/compare?file=square.cu&{picks}")
    expect(page.locator("#compare-table")).to_contain_text("square.cu: set_col_read_col")
    expect(page.locator("#compare-table")).to_contain_text("square.cu@compiled: set_col_read_col")


def test_the_requests_of_a_kernel_in_cuda_are_played_one_after_the_other(page: Page) -> None:
    page.goto("/kernel?file=square.cu&kernel=set_row_read_col&site=0")
    page.get_by_role("button", name="tile[tx][ty] shared load").click()
    expect(page.get_by_role("button", name="tile[tx][ty] shared load")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="First request").click()
    expect(page.get_by_role("button", name="tile[ty][tx] shared store")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Last request").click()
    expect(page.get_by_role("button", name="out[idx] global store")).to_have_attribute("aria-pressed", "true")


def test_the_twin_is_one_click_away_and_keeps_the_knob(page: Page) -> None:
    page.goto("/kernel?file=square&kernel=set_row_read_col_pad&IPAD=2")
    page.get_by_role("link", name="The same in CUDA C++").click()
    expect(page.locator("#eyebrow")).to_have_text("square.cu · set_row_read_col_pad")
    expect(page.get_by_label("IPAD", exact=True)).to_have_value("2")
    page.get_by_role("link", name="The same in Python").click()
    expect(page.locator("#eyebrow")).to_have_text("square.py · set_row_read_col_pad")
