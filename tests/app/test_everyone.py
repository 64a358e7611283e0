"""The dashboard without a mouse, without sight, without a wide screen, and without motion."""

import re
from typing import Any

import pytest
from helpers import waiting
from helpers.fitting import CUT_OFF, axe, fits
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

KERNEL = "/kernel?file=square&kernel=set_row_read_col&site=1&warp=0&step=1"
PAGES = {  # by path, what names one of the figures; "" where there is none
    "/": "The shared tile of set_col_read_col under its worst request: store by warp 0, step 0: 32 lanes, 32 wavefr",
    KERNEL: "Tile: load by warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do",
    "/compare?file=square": "Wavefronts: set_row_read_row: 64 wavefronts; set_col_read_col: 2,048 wavefronts",
    "/matmul": "Step by step: Step 1 of 92, block (0, 0): load tile 1 of 2. 64 of a and 64 of b come in",
    "/lab": "Tile of set-up A: Warp 0, step 0: 32 lanes, 32-way: 32 wavefronts where 1 would do.",
    "/swizzles?access=row-16": "",
    "/gpus": "",
    "/editor": "Tile: ",
    "/learn": "",
    "/learn/banks?ANSWER=show": "What a bank is, picture 1: ",
    "/numbers": "",
}
# A wide screen, a telephone, and a laptop of 1440 x 900 at 200 %; 320 is 1280 at 400 % (WCAG 1.4.10).
SIZES = ((1440, 900), (360, 740), (720, 450), (320, 256))

# The names of the figures that are shown, and of those among them that no button opens the table of.
FIGURES = """() => [...document.querySelectorAll(".js-plotly-plot, .own-figure")]
  .filter((one) => one.checkVisibility()).map((one) => [one.getAttribute("role"), one.getAttribute("aria-label")])"""

OPEN_ALL = """() => [...document.querySelectorAll("[data-table]")].filter((one) => one.checkVisibility())
  .forEach((one) => one.click())"""

TABLES = """() => [...document.querySelectorAll(".figure-table")].map((one) => ({
  name: one.querySelector(".scroller").getAttribute("aria-label"),
  says: one.querySelector(".scroller").textContent,
  captions: [...one.querySelectorAll("table")].map((table) => table.caption && table.caption.textContent),
  scopes: [...one.querySelectorAll("th")].map((head) => head.scope),
}))"""


def settle(page, path):
    page.goto(path)
    waiting.settle(page)
    expect(page.locator("main h1")).to_be_visible()


@pytest.mark.parametrize("path", PAGES)
def test_every_page_fits_every_screen_and_every_figure_has_a_name_and_a_table(page, path):
    settle(page, path)
    if PAGES[path]:
        expect(page.get_by_role("img", name=PAGES[path]).first).to_be_attached()
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function("() => document.documentElement.scrollWidth <= window.innerWidth")
        assert page.evaluate(CUT_OFF) == [], width
    figures = page.evaluate(FIGURES)
    assert [name for role, name in figures if role != "img" or not name] == []
    page.evaluate(OPEN_ALL)
    tables = page.evaluate(TABLES)
    assert len(tables) == len(figures)
    for table in tables:
        assert re.match("Table of .+", table["name"])
        assert table["says"] != "The figure shows nothing yet."
        assert all(table["captions"])
        assert set(table["scopes"]) <= {"col", "colgroup", "row"}
    page.wait_for_function("() => document.documentElement.scrollWidth <= window.innerWidth")


# Refusals and other states that no link leads to, by what is waited for.
STATES = {
    "/kernel?file=square&BDIMX=64": ".js-plotly-plot .main-svg",
    "/kernel?file=mistakes&kernel=too_many_threads": "#notices >> text=1056 threads",
    "/kernel?file=matmul&kernel=naive_swapped": ".js-plotly-plot .main-svg",
    "/compare?file=matmul&launch=matmul:naive_swapped&launch=matmul:naive": ".js-plotly-plot .main-svg",
    "/compare?file=no": "#error",
    "/lab?A=32x32%20float32&A-access=lane%20/%202&B=32x32%20float32": ".mantine-InputWrapper-error",
    "/learn/by-hand?ANSWER=flat": "#learn-feedback >> text=Not",
    "/learn/words?ANSWER=17": ".learn-lanes",
}


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (400, "dark")])
@pytest.mark.parametrize("path", STATES)
def test_axe_finds_nothing_and_nothing_sticks_out(page, path, width, theme):
    page.set_viewport_size({"width": width, "height": 900})
    settle(page, f"{path}&theme={theme}")
    expect(page.locator(STATES[path]).first).to_be_attached()
    fits(page, width)


def cells(page, panel):
    """Return the texts of a figure's first table, row by row, the two rows of column heads first."""
    rows: Any = page.locator(f"{panel} .figure-table table:first-child tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return list(rows)


def test_a_table_says_what_its_figure_shows_and_follows_it(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    settle(page, KERNEL)
    button = page.get_by_role("button", name="Table of Banks by wavefront")
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    region = page.get_by_role("region", name="Table of Banks by wavefront")
    heads, banks, first, second, *rest = cells(page, "#request-panel")
    # Row stores, column loads: all lanes read words of bank 0, 32 words apart (document 004).
    assert heads == ["wavefront", "bank"]
    assert banks == [str(bank) for bank in range(32)]
    assert first == ["1", "lane 0, in conflict; word 0", *["idle"] * 31]
    assert second == ["2", "lane 1, in conflict; word 32", *["idle"] * 31]
    assert len(rest) == 30
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert (
        page.evaluate("navigator.clipboard.readText()")
        .splitlines()[1]
        .startswith('1,"lane 0, in conflict; word 0",idle,')
    )

    page.get_by_role("button", name="First request").click()
    expect(region.locator("table").first.locator("tbody tr")).to_have_count(1)  # a store of a row: one wavefront
    assert cells(page, "#request-panel")[2][:3] == ["1", "lane 0; word 0", "lane 1; word 1"]
    expect(page.get_by_role("img", name="Banks by wavefront: store by warp 0, step 0")).to_be_attached()
    button.click()
    expect(region).to_have_count(0)

    page.get_by_role("button", name="Table of Warps by accesses").click()
    store = cells(page, "#warps-panel")[2]
    assert store[:2] == ["line 51: store tile[ty, tx]", "1 request, 1 wavefront, at worst 1-way"]
    page.get_by_role("button", name="Table of Tile").click()
    assert cells(page, "#tile-panel")[3][2] == "bank 1; nothing stored yet"
    axe(page)


def test_a_large_table_is_cut_and_says_so(page):
    settle(page, "/lab?A=64x128%20float32")
    page.get_by_role("button", name="Table of Tile of set-up A").click()
    region = page.get_by_role("region", name="Table of Tile of set-up A")
    expect(page.locator("#lab-A-tile .note")).to_have_text("Shown is a part of 64 x 128 elements.")
    expect(region).to_contain_text("The first 32 of 64 rows. Copy takes all.")
    expect(region.locator("td")).to_have_count(32 * 64)


def test_a_sheet_of_keys_opens_on_every_page_and_gives_the_focus_back(page):
    settle(page, KERNEL)
    sheet = page.get_by_role("dialog", name="Keys")
    field = page.get_by_label("BDIMX", exact=True)
    field.press("?")
    expect(sheet).to_be_hidden()  # it is typed there
    page.get_by_role("link", name="Gallery").focus()
    page.keyboard.press("?")
    expect(sheet).to_be_visible()
    expect(sheet.get_by_role("heading", level=3)).to_have_text(["On every page", "Requests of a kernel"])
    page.keyboard.press("ArrowRight")  # the page behind stays where it is
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(page.get_by_role("link", name="Gallery")).to_be_focused()
    expect(page.locator("#position-text")).to_contain_text("33 of 96")

    page.get_by_role("button", name="Keys", exact=True).click()
    axe(page)
    switch = page.get_by_role("switch", name="Keys that are a letter or a sign")
    expect(switch).to_have_attribute("aria-checked", "true")
    switch.click()
    sheet.get_by_role("button", name="Close").click()
    page.reload()
    expect(page.locator("#position-text")).to_contain_text("33 of 96")
    page.keyboard.press("?")
    expect(sheet).to_be_hidden()
    page.get_by_role("button", name="Keys", exact=True).click()
    expect(switch).to_have_attribute("aria-checked", "false")


FOCUS = """() => {
  const one = document.activeElement;
  const style = getComputedStyle(one);
  return {
    name: one.getAttribute("aria-label") || one.textContent.trim() || one.id || one.tagName,
    ringed: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    field: one.matches("input"),
    html: one === document.body ? "" : one.outerHTML.slice(0, 160),
  };
}"""


def test_the_keyboard_reaches_everything_and_shows_where_it_is(page):
    settle(page, KERNEL)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to the content")).to_be_in_viewport()
    seen: list[dict[str, Any]] = []
    while not seen or seen[-1]["html"]:  # until the focus leaves the page
        page.keyboard.press("Tab")
        seen.append(page.evaluate(FOCUS))
        assert len(seen) < 200
    names = [one["name"] for one in seen]
    for wanted in ("Gallery", "Keys", "IPAD", "Table of Tile", "Save Tile", "Play", "Table of Warps by accesses"):
        assert any(wanted in name for name in names), wanted
    assert [one["html"] for one in seen[:-1] if not one["ringed"] and not one["field"]] == []


STILL = """() => [...document.querySelectorAll("*")].flatMap((one) => [null, "::before", "::after"].map((part) => {
  const style = getComputedStyle(one, part);
  const longest = (text) => Math.max(...text.split(",").map(parseFloat));
  const moves = Math.max(longest(style.transitionDuration), longest(style.animationDuration)) > 0.001;
  return moves || style.scrollBehavior === "smooth" ? one.outerHTML.slice(0, 120) : null;
})).filter(Boolean)"""


def test_nothing_moves_where_motion_is_to_be_reduced(page):
    page.emulate_media(reduced_motion="reduce")
    settle(page, KERNEL)
    assert page.evaluate(STILL) == []
    page.get_by_role("textbox", name="Counted for").click()  # a list that drops down
    expect(page.get_by_role("option").first).to_be_visible()
    assert page.evaluate(STILL) == []
