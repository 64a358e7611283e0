"""Stepping and playing happen in the browser: what was sent with a launch is enough for all of its requests."""

import re

import pytest
from helpers.pages import knob
from helpers.waiting import settle
from playwright.sync_api import Page, Request, expect

pytestmark = pytest.mark.browser

TRANSPOSE = "/kernel?file=square&kernel=set_row_read_col"
SEEN = """() => {
  window.seen = [];
  const text = document.getElementById("position-text");
  new MutationObserver(() => window.seen.push(Number(text.textContent.split(" ")[0])))
    .observe(text, { childList: true, characterData: true, subtree: true });
}"""

FIRST = """() => {
  window.first = [];
  document.getElementById("tile").addEventListener("figure-drawn", () => window.first.push("tile"));
  new MutationObserver(() => window.first.push("headline"))
    .observe(document.getElementById("headline"), { childList: true, characterData: true, subtree: true });
}"""


def asked_while(page: Page) -> list[str]:
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    return asked


def test_a_step_asks_the_server_for_nothing(page: Page) -> None:
    page.goto(f"{TRANSPOSE}&site=0&warp=0&step=0")
    settle(page)
    asked = asked_while(page)
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#position-text")).to_contain_text("41 of 96: load by warp 8, step 1")
    expect(page.locator("#source .badge[aria-pressed=true]")).to_contain_text("tile[tx, ty]")
    expect(page.locator("#why > :not([hidden])")).to_contain_text("Stride of 32 words.")
    page.get_by_role("button", name="Last request").click()
    expect(page.locator("#request-title")).to_have_text("Sectors and lines")
    expect(page.locator("#position-text")).to_contain_text("96 of 96: global store by warp 31, step 2")
    page.wait_for_timeout(1500)  # what follows a step when one rests has had its time
    assert asked == []
    assert "site=2&warp=31&step=2" in page.url
    page.reload()
    expect(page.locator("#position-text")).to_contain_text("96 of 96")


def test_a_step_draws_anew_what_changed(page: Page) -> None:
    page.goto(f"{TRANSPOSE}&site=0&warp=0&step=0")
    settle(page)
    page.evaluate("() => (window.axis = document.querySelector('#tile svg > g:last-child text'))")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#position-text")).to_contain_text("2 of 96")
    assert page.evaluate("() => window.axis.isConnected")
    stepped = page.locator("#tile").inner_html()
    page.reload()
    settle(page)
    assert page.locator("#tile").inner_html() == stepped


def test_a_knob_draws_before_all_else_of_the_page_follows(page: Page) -> None:
    page.goto("/kernel?file=square&kernel=set_row_read_col_pad")
    settle(page)
    page.evaluate(FIRST)
    knob(page, "IPAD", 0)
    expect(page.locator("#headline")).to_contain_text("32-way")
    expect(page.locator("#tile text")).not_to_have_count(0)
    assert page.evaluate("window.first")[0] == "tile"


def test_a_whole_block_plays_without_the_server_and_skips_nothing(page: Page) -> None:
    page.goto(f"{TRANSPOSE}&site=0&warp=0&step=0&speed=12")
    settle(page)
    page.evaluate(SEEN)
    asked = asked_while(page)
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("#position-text")).to_contain_text("96 of 96")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert page.evaluate("window.seen") == list(range(2, 97))
    assert asked == []


def test_the_slider_and_the_warps_follow_a_step(page: Page) -> None:
    page.goto(f"{TRANSPOSE}&site=1&warp=0&step=1")
    settle(page)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("slider", name="Request")).to_have_value("33")
    expect(page.locator("#warps .warp-frame")).to_have_attribute("data-at", "1 1")
    page.get_by_role("slider", name="Request").press("ArrowRight")
    expect(page.locator("#position-text")).to_contain_text("35 of 96: load by warp 2, step 1")
    page.locator("h1").click()
    page.keyboard.press("Home")
    expect(page.locator("#position-text")).to_have_text("1 of 96: store by warp 0, step 0: 32 lanes, 1 wavefront")
    page.keyboard.press("End")
    expect(page.locator("#position-text")).to_contain_text("96 of 96")


def test_a_link_to_another_warp_of_what_is_shown_asks_for_nothing(page: Page) -> None:
    page.goto(f"{TRANSPOSE}&site=0&warp=0&step=0")
    settle(page)
    asked = asked_while(page)
    page.evaluate("address => window.smemviz.visit(address)", f"{TRANSPOSE}&site=0&warp=5&step=0")  # as links do
    expect(page.locator("#position-text")).to_contain_text(": store by warp 5, step 0")
    page.go_back()
    expect(page.locator("#position-text")).to_contain_text(": store by warp 0, step 0")
    assert asked == []


def test_back_returns_to_the_access_before(page: Page) -> None:
    page.goto(TRANSPOSE)
    settle(page)
    page.get_by_role("button", name="tile[ty, tx] shared store").click()
    expect(page.locator("#position-text")).to_contain_text("1 of 96: store")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#position-text")).to_contain_text("2 of 96: store")
    page.get_by_role("button", name=re.compile(r"tile\[tx, ty\] shared load")).click()
    expect(page.locator("#position-text")).to_contain_text("34 of 96: load by warp 1")  # the warp that is shown stays
    page.go_back()
    expect(page.locator("#position-text")).to_contain_text("2 of 96: store")


def test_a_cell_says_what_it_holds_under_the_mouse(page: Page) -> None:
    page.goto(f"{TRANSPOSE}&site=1&warp=0&step=1")
    settle(page)
    corner = page.locator("#tile .bad").first.bounding_box()
    assert corner is not None
    page.mouse.move(corner["x"] + 3, corner["y"] + 3)
    expect(page.locator(".cell-hover")).to_have_text(
        "tile[0, 0]bank 0holds 0 from thread 0 (warp 0, lane 0)this request: lane 0, in conflict"
    )
    page.keyboard.press("ArrowRight")
    expect(page.locator(".cell-hover")).to_be_hidden()


def test_the_keys_of_a_picture_name_all_of_its_colours(page: Page) -> None:
    page.goto(f"{TRANSPOSE}&site=0&warp=1&step=0")
    settle(page)
    expect(page.locator("#tile-key li")).to_have_text(["bank 0 to 31", "lane of this request", "nothing stored yet"])
    expect(page.locator("#request-key li")).to_have_text(["bank 0 to 31"])


@pytest.mark.parametrize("clicked", [False, True])
def test_the_access_that_is_shown_stays_over_knobs_hardware_and_kernels(page: Page, *, clicked: bool) -> None:
    page.goto("/kernel?file=square&kernel=set_row_read_col_pad")
    settle(page)
    shown = page.locator("#source .badge[aria-pressed=true]")
    if clicked:
        page.locator("#source .badge", has_text="tile[ty, tx]").click()
        expect(shown).to_have_text("tile[ty, tx]")
    before = shown.inner_text()
    for value, waves in (("0", "1,056 wavefronts"), ("1", "64 wavefronts")):
        knob(page, "IPAD", value)
        expect(page.locator("#facts")).to_contain_text(waves.split(" ")[0])
        settle(page)
        expect(shown).to_have_text(before)
    page.get_by_role("textbox", name="Counted for").click()
    page.get_by_role("option", name="7.5 Turing").click()
    expect(page.locator("#facts-note")).to_contain_text("7.5")
    settle(page)
    expect(shown).to_have_text(before)
    page.locator("#kernels").get_by_text("set_row_read_col", exact=True).click()
    expect(page.locator("#eyebrow")).to_have_text("square.py · set_row_read_col")
    settle(page)
    expect(shown).to_have_text(before)
