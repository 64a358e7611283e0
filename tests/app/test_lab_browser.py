"""The layout lab in a browser, and the way from it to the page of all GPUs."""

import re
from urllib.parse import quote

import pytest
from helpers.pages import headline, query
from helpers.waiting import settle
from playwright.sync_api import expect

FLOATS = {"A": "32x32 float32", "A-access": "row; op=store\ncolumn", "B": "32x32 float32; pad=1"}
PAIR = "/lab?" + "&".join(
    f"{name}={quote(value)}" for name, joined in FLOATS.items() for value in joined.split("\n")
)  # fmt: skip


# In a browser


@pytest.mark.browser
def test_a_pad_is_tried_beside_the_plain_tile_and_everything_is_in_the_url(page):
    page.goto("/")
    page.get_by_role("link", name="Layouts").click()
    headline(page, "32-way conflict, 1,056 wavefronts where 64 would do")
    expect(page.locator("#lab-B")).to_be_hidden()
    expect(page.locator("#lab-results")).to_contain_text("pad 1")
    page.get_by_role("button", name="Compare with another").click()
    second = page.get_by_role("region", name="Set-up B")
    expect(second.get_by_label("Swizzle", exact=True)).to_have_value("xor 5 0 0")  # the cheapest
    second.get_by_label("Swizzle", exact=True).fill("")
    second.get_by_label("Pad", exact=True).fill("1")
    headline(page, "A: 32-way conflict, 1,056 wavefronts where 64 would do; B: no conflict, 64 wavefronts")
    page.wait_for_url(re.compile(r"pad(=|%3D)1$"))
    assert query(page) == {"B": ["32x32 float32; pad=1"]}
    page.reload()
    headline(page, "A: 32-way conflict, 1,056 wavefronts where 64 would do; B: no conflict, 64 wavefronts")
    expect(second.get_by_label("Pad", exact=True)).to_have_value("1")
    second.get_by_role("button", name="Swap").click()
    headline(page, "A: no conflict, 64 wavefronts; B: 32-way conflict, 1,056 wavefronts where 64 would do")
    page.go_back()
    headline(page, "A: 32-way conflict, 1,056 wavefronts where 64 would do; B: no conflict, 64 wavefronts")
    second.get_by_role("button", name="Close").click()
    headline(page, "32-way conflict, 1,056 wavefronts where 64 would do")
    expect(page.locator("#lab-B-results")).to_be_hidden()


@pytest.mark.browser
def test_what_a_control_reports_late_does_not_undo_back_and_what_is_typed_counts(page):
    """A control that waits for typing to pause may report what Swap put into it when Back has taken it out again."""
    page.goto("/lab?B=32x32%20float32;%20pad=1")
    plain = "A: 32-way conflict, 1,056 wavefronts where 64 would do; B: no conflict, 64 wavefronts"
    headline(page, plain)
    page.get_by_role("region", name="Set-up B").get_by_role("button", name="Swap").click()
    headline(page, "A: no conflict, 64 wavefronts; B: 32-way conflict, 1,056 wavefronts where 64 would do")
    page.go_back()
    headline(page, plain)
    pad = page.get_by_role("region", name="Set-up A").get_by_label("Pad", exact=True)
    late = """() => {
        const { history } = window, push = history.pushState;
        window.pushed = 0;
        history.pushState = function (...all) { window.pushed += 1; return push.apply(this, all); };
        window.dash_clientside.set_props({ type: "lab", side: "A", name: "pad", at: 0 }, { value: 1 });
    }"""
    page.evaluate(late)
    settle(page)
    expect(pad).to_have_value("0")
    headline(page, plain)
    assert query(page) == {"B": ["32x32 float32; pad=1"]}
    assert page.evaluate("window.pushed") == 0
    pad.fill("3")  # not what it reported late, which it may still be waiting to take back
    headline(page, "A: no conflict, 64 wavefronts; B: no conflict, 64 wavefronts")
    assert query(page)["A"] == ["32x32 float32; pad=3"]


@pytest.mark.browser
def test_a_formula_that_makes_no_sense_is_said_at_its_field(page):
    page.goto("/lab")
    swizzle = page.get_by_label("Swizzle", exact=True).first
    swizzle.fill("column ^ lane")
    expect(page.locator(".mantine-InputWrapper-error")).to_have_text(
        "column ^ lane: lane is not known here; there are row, column"
    )
    headline(page, "This cannot be counted")
    swizzle.fill("column ^ row")
    headline(page, "No conflict, 64 wavefronts")
    expect(page.locator(".mantine-InputWrapper-error")).to_have_count(0)
    assert query(page)["A"] == ["32x32 float32; swizzle=column ^ row"]


@pytest.mark.browser
def test_the_picture_is_on_the_first_screen_beside_its_form(page):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/lab")
    expect(page.locator("#lab-A-tile svg").first).to_be_visible()
    form, tile, banks = (page.locator(one).bounding_box() for one in ("#lab-A", "#lab-A-tile", "#lab-A-banks"))
    assert form is not None
    assert tile is not None
    assert banks is not None
    assert form["x"] + form["width"] <= tile["x"]
    assert tile["x"] + tile["width"] <= banks["x"]
    assert max(one["y"] + one["height"] for one in (tile, banks)) <= 900


@pytest.mark.browser
def test_the_field_of_a_pattern_offers_its_whole_list_and_what_is_set_is_unfolded(page):
    page.goto("/lab?A-access=column; steps=2")
    first = page.get_by_role("group", name="access 1 of set-up A")
    expect(first.get_by_label("Steps")).to_have_value("2")
    expect(first.get_by_label("Steps")).to_be_visible()
    first.get_by_label("Pattern 1").click()
    for pattern in ("row", "column", "diagonal"):
        expect(page.get_by_role("option", name=pattern, exact=True)).to_be_visible()
    page.goto("/lab")
    expect(page.get_by_label("Pattern 1").first).to_have_value("row")
    expect(page.get_by_label("Steps").first).to_be_hidden()


@pytest.mark.browser
def test_accesses_are_added_changed_and_removed(page):
    page.goto("/lab?A=32x64%20float16")
    page.get_by_role("button", name="Add an access").first.click()
    third = page.get_by_role("group", name="access 3 of set-up A")
    third.get_by_label("Operation").click()
    page.get_by_role("option", name="ldmatrix_x4").click()
    expect(third.get_by_label("Pattern 3")).to_have_value("matrices")
    expect(page.locator("#lab-A-counts")).to_contain_text("ldmatrix x4")
    assert query(page)["A-access"] == ["row; op=store", "column", "matrices; op=ldmatrix_x4"]
    page.get_by_role("button", name="Remove access 1 of A").click()
    expect(page.get_by_role("group", name="access 3 of set-up A")).to_have_count(0)
    expect(page.get_by_label("Pattern 1").first).to_have_value("column")
    assert query(page)["A-access"] == ["column", "matrices; op=ldmatrix_x4"]


@pytest.mark.browser
def test_keys_go_from_request_to_request_and_the_view_is_chosen(page):
    page.goto(PAIR)
    said = page.locator("#lab-A-sentence")
    expect(said).to_contain_text("request 1 of 32")
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("request 2 of 32. Warp 0, step 1")
    expect(page.locator("#lab-B-sentence")).to_contain_text("request 2 of 32")
    assert query(page)["REQUEST"] == ["2"]
    page.get_by_text("Rows of banks").click()
    expect(page.locator("#lab-B-tile")).to_contain_text("row of 32 banks")
    assert query(page)["VIEW"] == ["banks"]


@pytest.mark.browser
def test_a_layout_that_was_found_goes_into_b_and_its_code_to_the_clipboard(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/lab")
    page.get_by_role("link", name="pad 1", exact=True).click()
    headline(page, "A: 32-way conflict, 1,056 wavefronts where 64 would do; B: no conflict, 64 wavefronts")
    assert query(page)["B"] == ["32x32 float32; pad=1"]
    button = page.get_by_role("button", name="Copy the code of xor 5 0 0 (column ^ row)")
    button.click()
    expect(button).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines()[1] == "tile[row, column ^ row] = value"


@pytest.mark.browser
def test_the_page_of_all_gpus_is_reached_from_the_lab_and_from_a_kernel(page):
    page.goto(PAIR)
    expect(page.locator("#lab-A-sentence")).to_contain_text("request 1 of 32")
    page.get_by_role("link", name="The same access on every GPU").click()
    headline(page, "512 to 1,024 wavefronts, depending on the GPU")
    page.get_by_role("link", name="Kepler, 8-byte banks").click()
    expect(page.locator("#gpus-origin")).to_contain_text("compared with Kepler (3.0, 8-byte banks).")
    page.locator("#gpus-origin a").click()
    expect(page.get_by_role("heading", name="Set-up A")).to_be_visible()
    page.goto("/kernel?file=square&kernel=set_row_read_col")
    page.get_by_role("link", name="On every GPU").click()
    headline(page, "16 to 32 wavefronts, depending on the GPU")
    expect(page.locator("#gpus-origin")).to_contain_text("tile[tx, ty] in set_row_read_col, load by warp 0, step 1")
