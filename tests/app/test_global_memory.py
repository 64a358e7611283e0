"""Global memory and CUDA C++ on the page: sectors, the elements touched, two index orders, a define as a knob."""

import re
from itertools import pairwise

import pytest
from helpers.pages import headline, knob, query
from helpers.waiting import settle
from playwright.sync_api import expect

from smemviz.frontends.cuda import nvrtc

pytestmark = pytest.mark.browser
needs_nvrtc = pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC, the extra 'cpp'")

SWAPPED = "/kernel?file=matmul&kernel=naive_swapped"
TRANSPOSE = "/kernel?file=square&kernel=set_row_read_col"


def site_fact(page, name):
    return page.locator("#site-facts div", has=page.get_by_text(name, exact=True)).locator("dd").inner_text()


def test_a_global_site_shows_sectors_as_a_shared_one_shows_banks(page):
    page.goto(TRANSPOSE)
    expect(page.locator("#request-title")).to_have_text("Banks by wavefront")
    expect(page.locator("#site-traffic-panel")).to_be_hidden()
    page.get_by_role("button", name="out[idx] global store").click()
    expect(page.locator("#request-title")).to_have_text("Sectors and lines")
    expect(page.locator("#request text.name").first).to_have_text("out[0]")
    expect(page.locator("#site-traffic-title")).to_have_text("All requests of out[idx]")
    facts = {name: site_fact(page, name) for name in ("requests", "sectors", "sectors per request", "efficiency")}
    assert facts == {"requests": "32", "sectors": "128", "sectors per request": "4", "efficiency": "100 %"}
    expect(page.locator("#elements-note")).to_contain_text("1,024 by block 0, once each")
    page.get_by_role("button", name="Next request").click()
    expect(page.locator("#request text.name").first).to_have_text("out[32]")
    assert query(page)["site"] == ["2"]
    page.reload()
    expect(page.locator("#request text.name").first).to_have_text("out[32]")


def test_a_kernel_without_shared_memory_opens_at_its_worst_request(page):
    page.set_viewport_size({"width": 1440, "height": 1000})  # where there is room for every name
    page.goto(SWAPPED)
    headline(page, "32 sectors per request of a[row, k], 12.5 % of their bytes used")
    expect(page.locator("#tile-panel")).to_be_hidden()
    expect(page.locator("#request text.name")).to_have_text([f"a[{row}, 0]" for row in range(32)])
    assert site_fact(page, "efficiency") == "12.5 %"
    expect(page.locator("#elements-note")).to_contain_text("2,048 by block 0, 32 times each; 4,096 by all blocks, 64")
    page.get_by_text("All blocks", exact=True).click()
    expect(page.locator("#elements .legendtext").first).to_have_text("64")
    page.get_by_role("textbox", name="Global array").click()
    page.get_by_role("option", name="c", exact=True).click()
    expect(page.locator("#elements-note")).to_contain_text("elements of c, stored")
    assert query(page).items() >= {"scope": ["launch"], "elements": ["c"]}.items()


def test_panels_of_global_memory_stand_apart(page):
    page.goto("/kernel?file=transpose&kernel=copy")
    settle(page)
    expect(page.locator("#elements .main-svg").first).to_be_visible()
    boxes = [one.bounding_box() for one in page.locator("#global-memory section.panel").all() if one.is_visible()]
    edges = [(box["y"], box["y"] + box["height"]) for box in boxes if box]
    assert len(edges) >= 2
    assert all(below - above >= 12 for (_, above), (below, _) in pairwise(edges))


def test_two_index_orders_are_one_link_away_from_each_other(page):
    page.goto(SWAPPED + "&M=32&K=32")
    page.get_by_role("link", name="side by side with naive").click()
    # 32 x 64 elements of c, 32 steps each: 64 warps.
    headline(page, "naive_swapped moves 69,632 sectors, naive 10,496")
    assert query(page)["launch"] == ["matmul:naive_swapped", "matmul:naive"]
    columns = page.locator(".requests-of > div")
    expect(columns.locator("h3")).to_have_text(["naive_swapped", "naive"])
    expect(columns.nth(0).locator("figcaption")).to_have_text(
        [
            "load a[row, k]: sectors per request 32, efficiency 12.5 %",
            "load b[k, column]: sectors per request 1, efficiency 12.5 %",
            "store c[row, column]: sectors per request 32, efficiency 12.5 %",
        ]
    )
    expect(columns.nth(1).locator("figcaption").nth(1)).to_have_text(
        "load b[k, column]: sectors per request 4, efficiency 100 %"
    )
    expect(columns.nth(0).locator(".js-plotly-plot").first.locator(".ytick")).to_have_count(32)
    expect(page.locator("#compare-table")).to_contain_text("12.5 %")


def test_a_launch_among_many_alike_is_chosen_by_its_number(page):
    page.goto("/kernel?file=often")
    expect(page.get_by_role("link", name=re.compile("^turn"))).to_have_text(["turn × 3004-way"])  # noqa: RUF001
    page.get_by_role("textbox", name="Launch of this kernel").click()
    page.get_by_role("option", name="launch 2", exact=True).click()
    headline(page, "6 excess wavefronts; worst: line 14, 4-way, half of them")
    assert query(page)["launch"] == ["1"]


@needs_nvrtc
def test_a_knob_of_a_define_brings_the_conflict_and_takes_it_away(page):
    page.goto("/kernel?file=square.cu&kernel=set_row_read_col_pad")
    headline(page, "No bank conflict: 64 wavefronts, as few as possible")
    expect(page.locator("#source .tok-k").first).to_have_text("__global__")
    knob(page, "IPAD", 0)
    expect(page.get_by_role("heading", level=1)).to_contain_text("992 excess wavefronts, all on line")
    expect(page.locator("#source")).to_contain_text("tile[tx][ty]")


@needs_nvrtc
def test_both_views_are_compared(page):
    picks = "launch=square.cu:set_col_read_col&launch=square.cu@compiled:set_col_read_col"
    page.goto(f"/compare?file=square.cu&{picks}")
    expect(page.locator("#compare-table")).to_contain_text("square.cu: set_col_read_col")
    expect(page.locator("#compare-table")).to_contain_text("square.cu@compiled: set_col_read_col")


def test_the_requests_of_a_kernel_in_cuda_are_played_one_after_the_other(page):
    page.goto("/kernel?file=square.cu&kernel=set_row_read_col&site=0")
    page.get_by_role("button", name="tile[tx][ty] shared load").click()
    expect(page.get_by_role("button", name="tile[tx][ty] shared load")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="First request").click()
    expect(page.get_by_role("button", name="tile[ty][tx] shared store")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Last request").click()
    expect(page.get_by_role("button", name="out[idx] global store")).to_have_attribute("aria-pressed", "true")


def test_the_twin_is_one_click_away_and_keeps_the_knob(page):
    page.goto("/kernel?file=square&kernel=set_row_read_col_pad&IPAD=2")
    page.get_by_role("link", name="The same in CUDA C++").click()
    expect(page.locator("#eyebrow")).to_have_text("square.cu · set_row_read_col_pad")
    expect(page.get_by_label("IPAD", exact=True)).to_have_value("2")
    page.get_by_role("link", name="The same in Python").click()
    expect(page.locator("#eyebrow")).to_have_text("square.py · set_row_read_col_pad")
