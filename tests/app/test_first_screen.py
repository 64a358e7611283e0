"""What is seen of a page without scrolling, how large it is written, and what else only a screen shows."""

from itertools import pairwise

import pytest
from helpers.fitting import axe
from helpers.pages import open_page, query, serve
from helpers.waiting import settle
from playwright.sync_api import expect

from smemviz.app.pages.learn.learn_page import href
from smemviz.lessons.course import LESSONS
from smemviz.lessons.lesson import SHOW
from smemviz.paths import kernels_dir

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


def box(page, selector):
    found = page.locator(selector).first.bounding_box()
    assert found is not None, selector
    return dict(found)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_story_is_on_the_first_screen(page, kernel):
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
        edges = {round(one["x"] + one["width"]) for one in map(_box, page.locator("#source .costs").all())}
        assert len(edges) == 1  # what lines cost stands in columns
        assert box(page, "#tile svg")["y"] + box(page, "#tile svg")["height"] <= box(page, "#request svg")["y"]


def _box(locator):
    return dict(locator.bounding_box())


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_telephone_shows_the_story_in_the_same_order(page, kernel):
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"/kernel?{kernel}")
    settle(page)
    expect(page.locator("#request svg")).to_be_visible()
    tops = [box(page, selector)["y"] for selector in STORY]
    assert tops == sorted(tops)


def test_lines_of_code_stand_as_close_as_in_an_editor(page):
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"/kernel?{KERNELS[1]}")
        settle(page)
        lines = page.locator(".source-line:not(.source-heads)").all()
        heights = {round(_box(line)["height"]) for line in lines}
        assert {height % min(heights) for height in heights} == {0}, (width, heights)  # whole rows
        right = {
            round(one["x"] + one["width"]) for one in (_box(line) for line in page.locator("#source .costs").all())
        }
        assert len(right) == 1, width


LAB = "/lab?B=32x32%20float32;%20pad=1"
COMPARE = "/compare?file=square&launch=square:set_row_read_col&launch=square:set_row_read_col_pad"
KERNEL = "/kernel?file=square&kernel=set_row_read_col&site=1"
SMALLEST_MARK = {".hot, .here": 9, ".value": 9}  # pixels; a cell says what it holds when one points at it too
# The sizes at which the marks in cells are drawn on the screen.
MARK_SIZES = """(kinds) => [...document.querySelectorAll(`.own-figure svg :is(${kinds})`)]
  .filter((one) => one.checkVisibility())
  .map((one) => parseFloat(getComputedStyle(one).fontSize) * Math.hypot(one.getScreenCTM().b, one.getScreenCTM().d))"""
# The marks that reach beyond the picture that they are in.
BEYOND = """() => [...document.querySelectorAll(".own-figure svg text")].filter((one) => {
  if (!one.checkVisibility()) return false;
  const [mark, picture] = [one, one.ownerSVGElement].map((part) => part.getBoundingClientRect());
  return mark.right > picture.right + 4 || mark.bottom > picture.bottom + 4;
}).map((one) => one.textContent)"""


@pytest.mark.parametrize("path", [LAB, COMPARE, KERNEL])
def test_tiles_are_of_one_kind_and_their_marks_can_be_read(page, path):
    for width in (1440, 1024, 400):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(path)
        settle(page)
        expect(page.locator(".own-figure svg").first).to_be_visible()
        assert page.locator(".own-figure svg :is(.lane, .bad)").count() > 10, width
        for kinds, smallest in SMALLEST_MARK.items():
            assert min(page.evaluate(MARK_SIZES, kinds), default=smallest) > smallest - 0.01, (width, kinds)
        assert page.evaluate(BEYOND) == [], width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#lab-page .js-plotly-plot, .tile-of .js-plotly-plot").count() == 0


def test_a_cell_says_what_it_is_to_a_mouse_and_in_the_table(page):
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


def test_set_ups_of_different_banks_have_their_own_colours(page):
    page.goto("/lab?A=16x32%20int32&B=16x32%20int32&B-cc=1.3")
    for side, name in (("A", "bank 0 to 31"), ("B", "bank 0 to 15")):
        expect(page.locator(f"#lab-{side}-tile .key")).to_contain_text(name)
    first, second = (
        page.evaluate(f"getComputedStyle(document.querySelector('#lab-{side}-tile .key i')).backgroundImage").split(
            "rgb"
        )
        for side in "AB"
    )
    assert (first[1], first[-1]) == (second[1], second[-1])  # from the first bank's colour to the last one's
    assert len(first) == len(second) == 6


def test_a_large_array_is_drawn_around_its_request(page):
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
def test_a_lane_is_named_in_its_own_cell_or_nowhere(page, width, columns, lanes):
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
def test_swatches_of_a_key_stand_out_of_the_paper(page, theme):
    page.goto(f"{KERNEL}&theme={theme}")
    settle(page)
    expect(page.locator("#tile-key i").first).to_be_visible()
    contrast, before = page.evaluate(SWATCHES)
    assert contrast >= 3
    assert before == ["none"]


SMALLEST = 10  # pixels
# The texts of cells: how large they are, and where.
TEXTS = """() => [...document.querySelectorAll(".learn-panel:not([hidden]) svg text")]
  .filter((one) => one.textContent.trim() && one.getClientRects().length)
  .map((one) => {
    const { a, b } = one.getScreenCTM(), { left, top, right, bottom } = one.getBoundingClientRect();
    const size = Math.hypot(a, b) * parseFloat(getComputedStyle(one).fontSize);
    const inCell = Boolean(one.closest(".textpoint, .heatmap-label, .hm"));
    return { text: one.textContent, size, inCell, left, top, right, bottom };
  })"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [1440, 1260])
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
def test_nothing_in_the_pictures_of_a_lesson_is_small_or_covered(page, lesson, width):
    page.set_viewport_size({"width": width, "height": 900})
    for scene in lesson.scenes:
        page.goto(href(lesson, {**scene, "ANSWER": SHOW}))
        settle(page)
        texts = page.evaluate(TEXTS)
        assert [one for one in texts if round(one["size"], 1) < SMALLEST] == [], scene
        rows: dict[int, list[dict[str, float]]] = {}
        for one in texts:
            if one["inCell"]:
                rows.setdefault(round(one["top"] / 4), []).append(one)
        for row in rows.values():
            row.sort(key=lambda one: one["left"])
            assert [(a, b) for a, b in pairwise(row) if a["right"] > b["left"] + 1] == [], scene


def test_a_table_comes_into_view_and_no_bank_at_all_is_not_typed(page):
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


def test_a_number_of_banks_that_cannot_be_drawn_leaves_the_link(page):
    page.goto("/kernel?file=square&kernel=set_row_read_col&banks=0&view=physical")
    settle(page)
    expect(page.get_by_label("Number of banks to draw")).to_have_value("32")
    page.wait_for_function("() => !location.search.includes('banks')")
    assert "view=physical" in page.url


def test_without_any_pick_all_launches_come_back_in_the_field_as_well(page):
    page.goto("/compare?file=square&launch=square:set_row_read_col")
    chips = page.locator(".mantine-MultiSelect-pill")
    expect(chips).to_have_count(1)
    chips.get_by_role("button", include_hidden=True).click()
    expect(chips).to_have_count(6)


def test_axe_finds_nothing_about_a_file_that_cannot_be_shown(browser, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("def main(:\n", encoding="utf-8")
    with serve([broken, kernels_dir() / "reverse.py"]) as server, open_page(browser, server) as page:
        page.goto("/")
        settle(page)
        expect(page.get_by_text("This file cannot be shown")).to_be_visible()
        axe(page)


def test_on_a_narrow_screen_the_kernels_stand_in_one_row_that_shows_the_chosen_one(page):
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
