"""The stage: a launch's block in other layouts of its arrays, on its page."""

import pytest
from helpers.fitting import axe
from helpers.gallery import h200
from helpers.pages import headline
from helpers.waiting import settle
from playwright.sync_api import expect

from smemviz.app.factory import create_app
from smemviz.app.library import Library
from smemviz.app.pages.kernel.layouts_view import view_layouts
from smemviz.model.hardware.hardware import H200
from smemviz.model.playback import worst_request
from smemviz.paths import gallery
from smemviz.reports.animation import stage_animation

in_browser = pytest.mark.browser
TRANSPOSE = "/kernel?file=square&kernel=set_row_read_col"


@in_browser
def test_another_layout_takes_one_wavefront_and_asks_the_server_for_nothing(page):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(TRANSPOSE)
    settle(page)
    choice = page.get_by_role("radiogroup", name="Layout")
    expect(choice.locator("label")).to_have_text(["As written 1,056", "Padded 64", "Swizzled 64"])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    choice.get_by_role("radio", name="As written").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("h1 :not([hidden])")).to_have_text("Padded: wavefronts down from 1,056 to 64")
    says = page.locator("#layout-says")
    expect(says.locator("span")).to_have_text(
        "0 in excess, 992 as written. Pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more)"
    )
    expect(page.locator(".source-heads .as-written")).to_have_text("as written:")
    expect(page.locator("#position-text")).to_have_text("33 of 96: load by warp 0, step 1: 32 lanes, 1 wavefront")
    expect(page.locator("#tile-key li").last).to_have_text("never touched")
    expect(page.locator(".motion")).to_be_hidden()
    axe(page)
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")  # the next request, in the same layout
    expect(page.locator("#position-text")).to_have_text("34 of 96: load by warp 1, step 1: 32 lanes, 1 wavefront")
    assert asked == []
    assert "layout=padded" in page.url
    page.reload()
    expect(page.locator("#position-text")).to_have_text("34 of 96: load by warp 1, step 1: 32 lanes, 1 wavefront")
    expect(page.locator(".source-heads .as-written")).to_be_visible()
    page.get_by_role("radio", name="As written").check(force=True)
    for one in page.locator(".as-written").all():
        expect(one).to_be_hidden()
    headline(page, "992 excess wavefronts, all on line 53, 32-way")
    expect(page.locator("#position-text")).to_contain_text("32 wavefronts where 1 would do")


@in_browser
def test_the_fix_of_the_layout_that_is_shown_is_copied(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(TRANSPOSE)
    settle(page)
    page.locator("#layout-says").get_by_role(
        "button", name="Copy the fix"
    ).click()  # as written, of the first that helps
    expect(page.locator("#layout-says button")).to_have_text("Copied")
    assert "+    tile = cuda.shared.array((BDIMY, PITCH), int32)" in page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("radio", name="Swizzled").check(force=True)
    page.locator("#layout-says").get_by_role("button", name="Copy the fix").click()
    expect(page.locator("#layout-says button")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "+    out[idx] = tile[tx, ty ^ tx]" in copied.splitlines()


@pytest.mark.parametrize(
    ("file", "kernel", "line"),
    [
        ("square", "set_row_read_col", "+    tile = cuda.shared.array((BDIMY, PITCH), int32)"),
        ("square.cu", "set_row_read_col", "+    __shared__ int tile[BDIMY][PITCH];"),
    ],
)
def test_a_layout_comes_with_its_fix_in_the_language_of_the_file(file, kernel, line):
    filling = view_layouts(Library(gallery()), {"file": file, "kernel": kernel}, {})
    fixes = {layout["name"]: layout["fix"] for layout in filling["layouts.data"]}
    assert fixes["written"] == ""
    assert line in fixes["padded"].splitlines()


@in_browser
def test_who_wants_no_motion_has_the_stills(page):
    page.emulate_media(reduced_motion="reduce")
    page.goto(TRANSPOSE)
    settle(page)
    page.get_by_role("radio", name="Swizzled").check(force=True)
    expect(page.locator("#position-text")).to_contain_text("32 lanes, 1 wavefront")
    expect(page.locator(".motion")).to_have_count(0)
    page.keyboard.press("Home")
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#position-text")).to_contain_text("3 of 96")
    expect(page.locator(".motion")).to_have_count(0)


def _width(page, selector):
    return float(page.locator(selector).evaluate("one => one.getBoundingClientRect().width"))


@in_browser
def test_the_border_between_source_and_pictures_is_dragged_and_moved_by_keys(page):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(TRANSPOSE)
    settle(page)
    border, shown = page.get_by_role("separator"), page.locator("#position-text").text_content()
    source, tile = (_width(page, one) for one in ("#source-panel", "#tile svg"))
    border.focus()
    page.keyboard.press("ArrowRight")
    expect(border).to_have_attribute("aria-valuenow", "42")
    page.wait_for_function(
        "before => document.querySelector('#tile svg').getBoundingClientRect().width < before", arg=tile
    )
    assert _width(page, "#source-panel") > source
    place = border.bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 8, place["y"] + 60)
    page.mouse.down()
    page.mouse.move(100, place["y"] + 60, steps=4)
    page.mouse.up()
    expect(border).to_have_attribute("aria-valuenow", "25")  # and no further
    page.wait_for_function(
        "before => document.querySelector('#tile svg').getBoundingClientRect().width > before", arg=tile
    )
    expect(page.locator("#position-text")).to_have_text(shown or "")  # the arrow did not step
    axe(page)
    border.dblclick(position={"x": 8, "y": 60})
    assert abs(_width(page, "#source-panel") - source) < 2


@in_browser
@pytest.mark.exhaustive
def test_the_layouts_are_saved_as_a_film(page):
    page.goto(TRANSPOSE)
    settle(page)
    page.locator("#tile-panel .save > summary").click()
    with page.expect_download() as download:
        page.locator("#tile-panel .video").last.click()
    head = download.value.path().read_bytes()[:12]
    assert head[4:8] == b"ftyp" or head[:4] == b"\x1aE\xdf\xa3"  # MP4, or WebM


@in_browser
def test_lanes_fall_into_their_bins_while_it_plays(page):
    page.emulate_media(reduced_motion="no-preference")
    page.goto(f"{TRANSPOSE}&speed=1")
    settle(page)
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".motion")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".motion")).to_be_hidden()


@in_browser
def test_without_conflict_there_is_no_choice(page):
    page.goto("/kernel?file=square&kernel=set_row_read_col_pad")
    settle(page)
    expect(page.get_by_role("radiogroup", name="Layout")).to_be_hidden()


@pytest.mark.exhaustive
def test_the_page_serves_what_the_command_line_exports():
    client = create_app(gallery()).server.test_client()
    answer = client.get("/kernel.gif?file=square&kernel=set_row_read_col&site=1&warp=0&step=1")
    assert (answer.status_code, answer.mimetype) == (200, "image/gif")
    recording = h200("square")
    now = worst_request(recording["set_row_read_col"]).spelled(recording)
    assert answer.data == stage_animation(recording, now, H200)
    mended = client.get("/kernel.gif?file=square&kernel=set_row_read_col_pad")
    assert (mended.status_code, mended.mimetype) == (400, "text/plain")
    assert "no figure stage: no layout was found" in mended.text
