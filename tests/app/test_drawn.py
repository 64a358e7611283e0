"""The pictures of one request on the pages of layouts and of launches side by side: the tiles of the kernel page."""

from __future__ import annotations

import pytest
from helpers.waiting import settle
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

LAB = "/lab?B=32x32%20float32;%20pad=1"
COMPARE = "/compare?file=square&launch=square:set_row_read_col&launch=square:set_row_read_col_pad"
KERNEL = "/kernel?file=square&kernel=set_row_read_col&site=1"
SMALLEST = {".hot, .here": 9, ".value": 7.5}  # pixels; a cell says what it holds when one points at it too
# The sizes at which the marks in cells are drawn on the screen.
SIZES = """(kinds) => [...document.querySelectorAll(`.own-figure svg :is(${kinds})`)]
  .filter((one) => one.checkVisibility())
  .map((one) => parseFloat(getComputedStyle(one).fontSize) * Math.hypot(one.getScreenCTM().b, one.getScreenCTM().d))"""
# The marks that reach beyond the picture that they are in.
BEYOND = """() => [...document.querySelectorAll(".own-figure svg text")].filter((one) => {
  if (!one.checkVisibility()) return false;
  const [mark, picture] = [one, one.ownerSVGElement].map((part) => part.getBoundingClientRect());
  return mark.right > picture.right + 4 || mark.bottom > picture.bottom + 4;
}).map((one) => one.textContent)"""


@pytest.mark.parametrize("path", [LAB, COMPARE, KERNEL])
def test_tiles_are_of_one_kind_and_their_marks_can_be_read(page: Page, path: str) -> None:
    for width in (1440, 1024, 400):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(path)
        settle(page)
        expect(page.locator(".own-figure svg").first).to_be_visible()
        assert page.locator(".own-figure svg :is(.lane, .bad)").count() > 10, width
        for kinds, smallest in SMALLEST.items():
            assert min(page.evaluate(SIZES, kinds), default=smallest) > smallest - 0.01, (width, kinds)
        assert page.evaluate(BEYOND) == [], width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#lab-page .js-plotly-plot, .tile-of .js-plotly-plot").count() == 0


def test_a_cell_says_what_it_is_to_a_mouse_and_in_the_table(page: Page) -> None:
    page.goto(LAB)
    tile = page.locator("#lab-B-tile svg")
    expect(tile).to_be_visible()
    expect(page.locator("#lab-B-tile .key")).to_contain_text("unused")
    box = tile.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 50, box["y"] + 5)
    expect(page.locator(".cell-hover")).to_have_text("[0, 0]byte 0, bank 0this request: lane 0")
    page.get_by_role("button", name="Table of Tile of set-up B").click()
    table = page.get_by_role("region", name="Table of Tile of set-up B")
    expect(table.locator("tbody tr").first.locator("td").last).to_have_text("byte 128, bank 0; unused")


def test_set_ups_of_different_banks_have_their_own_colours(page: Page) -> None:
    page.goto("/lab?A=16x32%20int32&B=16x32%20int32&B-cc=1.3")
    last = "[...document.querySelectorAll('#lab-{} .key i')][1]"
    for side, name in (("A", "bank 31"), ("B", "bank 15")):
        expect(page.locator(f"#lab-{side}-tile .key")).to_contain_text(name)
    colours = [page.evaluate(f"getComputedStyle({last.format(f'{side}-tile')}).backgroundColor") for side in "AB"]
    assert colours[0] == colours[1] != "rgba(0, 0, 0, 0)"


def test_a_large_array_is_drawn_around_its_request(page: Page) -> None:
    page.goto("/lab?A=200x96%20float32&A-access=row;%20steps=400;%20warps=1&REQUEST=399&ACCESS=1")
    settle(page)
    expect(page.locator("#lab-A-tile svg .axis").filter(has_text="132")).to_have_count(1)
    expect(page.locator("#lab-A-tile svg .lane").first).to_be_visible()


# Of the lanes that are named: whether each stands within one cell that is framed; and how many are framed.
NAMED = """() => {
  const boxes = (of) =>
    [...document.querySelectorAll(`#lab-A-tile svg .${of}`)].map((one) => one.getBoundingClientRect());
  const frames = [...boxes("lane"), ...boxes("bad")];
  const within = (a, b) =>
    a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 3 && a.bottom <= b.bottom + 3;
  const said = [...boxes("here"), ...boxes("hot")];
  return [frames.length, said.length, said.filter((one) => !frames.some((cell) => within(one, cell))).length];
}"""


@pytest.mark.parametrize(("width", "columns", "lanes"), [(1440, 32, 0), (1440, 8, 32)])
def test_a_lane_is_named_in_its_own_cell_or_nowhere(page: Page, width: int, columns: int, lanes: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"/lab?A=32x{columns}%20float32&A-access=column")
    settle(page)
    expect(page.locator("#lab-A-tile svg")).to_be_visible()
    assert page.evaluate(NAMED) == [32, lanes, 0]


# How far the edges of the swatches stand out of the paper, at least; and what stands before the first of them.
SWATCHES = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255);
  const light = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const weights = [0.2126, 0.7152, 0.0722];
  const luminance = (colour) => parts(colour).map(light).reduce((sum, c, i) => sum + c * weights[i], 0.05);
  const paper = luminance(getComputedStyle(document.querySelector(".panel")).backgroundColor);
  const swatches = [...document.querySelectorAll(".key i:not(.mark-waste)")];
  const edges = swatches.map((one) => luminance(getComputedStyle(one).borderTopColor));
  const before = [...document.querySelectorAll("ul.key")].map((one) => getComputedStyle(one, "::before").content);
  return [Math.min(...edges.map((edge) => Math.max(edge, paper) / Math.min(edge, paper))), [...new Set(before)]];
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_swatches_of_a_key_stand_out_of_the_paper(page: Page, theme: str) -> None:
    page.goto(f"{KERNEL}&theme={theme}")
    settle(page)
    expect(page.locator("#tile-key i").first).to_be_visible()
    contrast, before = page.evaluate(SWATCHES)
    assert contrast >= 3
    assert before == ["none"]
