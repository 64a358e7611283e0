"""The dashboard as its users meet it; the numbers are those the H200 counts (tests/data/h200_counters.csv)."""

import re

import pytest
from helpers.pages import headline, knob, query
from helpers.waiting import settle
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CONFLICT = "992 excess wavefronts, all on line 53, 32-way"
PADDED_CONFLICT = "992 excess wavefronts, all on line 80, 32-way"
NO_CONFLICT = "No bank conflict: 64 wavefronts, as few as possible"
PADDED = "/kernel?file=square&kernel=set_row_read_col_pad"
TRANSPOSE = "/kernel?file=square&kernel=set_row_read_col"


def now(page, text):
    expect(page.locator("#position-text")).to_have_text(text)


def fact(page, name):
    return page.locator("#facts div", has=page.get_by_text(name, exact=True)).locator("dd").inner_text()


def choose(page, name, option):
    page.get_by_role("textbox", name=name, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def lanes_in_tile(page):
    expect(page.locator("#tile svg text").first).to_be_visible()
    return page.locator("#tile svg text.hot").all_text_contents()


@pytest.mark.smoke
def test_from_the_gallery_to_the_conflict_and_its_fix(page):
    page.set_viewport_size({"width": 1440, "height": 1000})  # where there is room for every lane
    page.goto("/")
    card = page.get_by_role("article").filter(has=page.get_by_role("heading", name="square"))
    expect(card).to_contain_text("32-way at worst, 3,968 wavefronts in excess")
    expect(page.locator(".origins")).to_contain_text("recorded on NVIDIA H200")
    assert card.locator(".thumbnail img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    expect(page.locator("nav [aria-current]")).to_have_text(["Gallery"])
    card.get_by_role("link", name="set_row_read_col", exact=True).click()

    headline(page, CONFLICT)
    expect(page.locator("nav [aria-current]")).to_have_text(["Gallery"])
    expect(page.locator("#origin")).to_contain_text("recorded on NVIDIA H200, driver 580.159.04")
    expect(page.locator("#origin")).to_contain_text("rule for compute capability 9.0, measured")
    now(page, "33 of 96: load by warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do")
    assert lanes_in_tile(page) == [f"L{lane}" for lane in range(32)]
    assert {name: fact(page, name) for name in ("shared bytes", "wavefronts", "ideal", "excess", "global sectors")} == {
        "shared bytes": "4,096",
        "wavefronts": "1,056",
        "ideal": "64",
        "excess": "992",
        "global sectors": "128",
    }

    page.get_by_role("button", name="tile[ty, tx] shared store").click()
    now(page, "1 of 96: store by warp 0, step 0: 32 lanes, 1 wavefront")
    assert lanes_in_tile(page) == []

    page.get_by_role("link", name=re.compile("^set_row_read_col_pad")).click()
    headline(page, NO_CONFLICT)
    now(page, "1 of 96: store by warp 0, step 0: 32 lanes, 1 wavefront")  # the access that was shown stays shown
    knob(page, "IPAD", 0)
    headline(page, PADDED_CONFLICT)
    now(page, "1 of 96: store by warp 0, step 0: 32 lanes, 1 wavefront")
    expect(page.get_by_label("PITCH", exact=True)).to_have_value("32")
    expect(page.locator("#origin")).to_contain_text("run by the lockstep engine")
    expect(page.locator("#origin")).to_contain_text("The GPU recording was made with other constants.")
    assert fact(page, "shared bytes") == "4,096"


def test_playback_steps_through_the_block_and_fills_the_tile(page):
    page.goto(TRANSPOSE + "&BDIMX=16")
    load = "load by warp 0, step 1: 32 lanes, 8 wavefronts where 1 would do"
    now(page, f"9 of 24: {load}")
    page.get_by_role("button", name="First request").click()
    now(page, "1 of 24: store by warp 0, step 0: 32 lanes, 1 wavefront")
    values = page.locator("#tile text.value")
    expect(values).to_have_count(0)
    page.get_by_role("button", name="Next request").click()
    now(page, "2 of 24: store by warp 1, step 0: 32 lanes, 1 wavefront")
    expect(values).to_have_text([str(value) for value in range(32)])
    page.get_by_role("heading", name="Tile", exact=True).click()
    page.keyboard.press("ArrowRight")
    now(page, "3 of 24: store by warp 2, step 0: 32 lanes, 1 wavefront")
    expect(values).to_have_count(64)
    page.keyboard.press("ArrowLeft")
    now(page, "2 of 24: store by warp 1, step 0: 32 lanes, 1 wavefront")
    page.get_by_role("button", name="Last request").click()
    now(page, "24 of 24: global store by warp 7, step 2: 32 lanes, 4 sectors for 128 bytes")
    expect(values).to_have_count(256)
    page.get_by_role("button", name="Previous request").click()
    now(page, "23 of 24: global store by warp 6, step 2: 32 lanes, 4 sectors for 128 bytes")
    page.get_by_role("button", name="Play").click()
    now(page, "24 of 24: global store by warp 7, step 2: 32 lanes, 4 sectors for 128 bytes")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_playing_can_be_paused(page):
    page.goto(TRANSPOSE + "&site=0&warp=0&step=0&speed=1")
    now(page, "1 of 96: store by warp 0, step 0: 32 lanes, 1 wavefront")
    page.get_by_role("button", name="Play").click()
    position = page.locator("#position-text")
    expect(position).not_to_contain_text("1 of 96")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    settle(page)
    paused = position.inner_text()
    page.wait_for_timeout(1500)
    now(page, paused)


def test_arrow_keys_in_the_source_go_from_site_to_site(page):
    page.goto(TRANSPOSE)
    chosen = page.locator("#source button[aria-pressed=true]")
    expect(chosen).to_contain_text("tile[tx, ty]")
    chosen.focus()
    page.keyboard.press("ArrowUp")
    expect(chosen).to_contain_text("out[idx]")
    now(page, "65 of 96: global store by warp 0, step 2: 32 lanes, 4 sectors for 128 bytes")
    page.keyboard.press("ArrowDown")
    expect(chosen).to_contain_text("tile[tx, ty]")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(chosen).to_contain_text("tile[ty, tx]")


def test_a_cell_of_the_warps_picture_selects_its_warp_and_site(page):
    page.goto(TRANSPOSE)
    now(page, "33 of 96: load by warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do")
    settle(page)
    cell = page.locator("#warps .textpoint text", has_text=re.compile("^32$")).nth(5)
    expect(cell).to_be_attached()
    cell.scroll_into_view_if_needed()
    box = cell.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    now(page, "38 of 96: load by warp 5, step 1: 32 lanes, 32 wavefronts where 1 would do")
    assert query(page)["warp"] == ["5"]
    assert query(page)["site"] == ["1"]


def test_a_copied_link_shows_what_the_sender_saw(page):
    page.goto(PADDED + "&IPAD=0&cc=8.6&view=physical&banks=16&site=1&warp=3&step=1&theme=dark")
    headline(page, PADDED_CONFLICT)
    now(page, "36 of 96: load by warp 3, step 1: 32 lanes, 32 wavefronts where 1 would do")
    expect(page.get_by_label("IPAD", exact=True)).to_have_value("0")
    expect(page.get_by_role("textbox", name="Counted for")).to_have_value("8.6 Ampere")
    page.locator("summary", has_text="View").click()
    expect(page.get_by_role("radio", name="Rows of banks")).to_be_checked()
    expect(page.get_by_label("Number of banks to draw")).to_have_value("16")
    expect(page.locator("#tile-note")).to_have_text(
        "Drawn with 16 banks. All counts are for 32 banks. "
        "Lanes are served in groups, as many at a time as there are banks."
    )
    expect(page.locator("#origin")).to_contain_text("rule for compute capability 8.6, documented")
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")


def test_back_returns_to_the_constants_before(page):
    page.goto(PADDED)
    headline(page, NO_CONFLICT)
    now(page, "33 of 96: load by warp 0, step 1: 32 lanes, 1 wavefront")
    knob(page, "IPAD", 0)
    headline(page, PADDED_CONFLICT)
    now(page, "33 of 96: load by warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do")
    assert query(page)["IPAD"] == ["0"]
    knob(page, "IPAD", 1)
    now(page, "33 of 96: load by warp 0, step 1: 32 lanes, 1 wavefront")  # which nobody clicked
    page.go_back()
    page.go_back()
    headline(page, NO_CONFLICT)
    assert fact(page, "shared bytes") == "4,224"
    expect(page.locator("#origin")).to_contain_text("recorded on NVIDIA H200")
    expect(page.get_by_label("IPAD", exact=True)).to_have_value("1")
    assert "IPAD" not in query(page)
    page.go_forward()
    headline(page, PADDED_CONFLICT)
    expect(page.get_by_label("IPAD", exact=True)).to_have_value("0")


def test_setting_a_computed_constant_overrides_it(page):
    page.goto(PADDED)
    headline(page, NO_CONFLICT)
    knob(page, "PITCH", 48)
    headline(page, "480 excess wavefronts, all on line 80, 16-way")
    assert fact(page, "shared bytes") == "6,144"
    knob(page, "PITCH", "")
    headline(page, NO_CONFLICT)
    expect(page.get_by_label("PITCH", exact=True)).to_have_value("33")


def test_the_controls_of_the_next_file_are_filled_too(page):
    page.goto(TRANSPOSE)
    headline(page, CONFLICT)
    page.get_by_role("link", name="Gallery").click()
    page.get_by_role("link", name="static_reverse").click()
    headline(page, "No bank conflict: 4 wavefronts, as few as possible")
    expect(page.get_by_label("N", exact=True)).to_have_value("64")
    expect(page.get_by_label("Number of banks to draw")).to_have_value("32")
    expect(page.get_by_role("textbox", name="Counted for")).to_have_value("9.0 Hopper")
    expect(page.get_by_role("radio", name="Recording")).to_be_checked()


def test_an_impossible_block_is_refused_in_words_and_the_page_stays_usable(page):
    page.goto(PADDED)
    headline(page, NO_CONFLICT)
    knob(page, "BDIMX", 64)
    expect(page.locator("#error")).to_contain_text("a block of 64 x 64 x 1 has 4096 threads; a device takes 1024")
    headline(page, "A block of 64 x 64 x 1 has 4096 threads; a device takes 1024")
    knob(page, "BDIMX", 16)
    expect(page.locator("#error")).to_have_count(0)
    # A warp reads two columns of 16 rows, 17 words apart; words 0 and 15 * 17 + 1 = 256 share bank 0.
    headline(page, "16 excess wavefronts; worst: line 78, 2-way, half of them")
    assert fact(page, "block") == "16 x 16 x 1"


def test_the_same_recording_is_counted_for_another_gpu(page):
    page.goto("/kernel?file=rectangle&kernel=set_row_read_col")
    headline(page, "240 excess wavefronts, all on line 55, 16-way")
    # CUDA C programming guide, 3.x in 8-byte mode: document 004's 8-way.
    page.goto("/kernel?file=rectangle&kernel=set_row_read_col&cc=3.5-8")
    headline(page, "112 excess wavefronts, all on line 55, 8-way")
    expect(page.get_by_role("textbox", name="Counted for")).to_have_value("3.5, 8-byte banks Kepler")
    expect(page.locator("#origin")).to_contain_text("recorded on NVIDIA H200")


def test_a_lockstep_run_can_stand_beside_the_recording(page):
    page.goto(TRANSPOSE)
    headline(page, CONFLICT)
    page.get_by_text("Lockstep run").click()
    expect(page.locator("#origin")).to_contain_text("run by the lockstep engine")
    headline(page, CONFLICT)
    assert query(page)["source"] == ["lockstep"]


def test_launches_blocks_arrays_and_constants_of_every_kind_can_be_chosen(page):
    page.goto("/")
    page.get_by_role("link", name="shuffle (2)").click()
    headline(page, "16 excess wavefronts, all on line 32, 2-way")  # 2 blocks x 2 warps x 2 steps x 4
    assert fact(page, "grid") == "2 x 1 x 1"
    assert fact(page, "accesses not counted") == "1"
    choose(page, "Block", "block 1")
    expect(page.locator("#warps .xtitle")).to_have_text("warp of block 1")
    choose(page, "Shared array", "sums")
    expect(page.locator("#tile text.axis", has_text="element")).to_have_text("element")
    assert query(page).items() >= {"launch": ["1"], "block": ["1"], "array": ["sums"]}.items()
    choose(page, "DTYPE", "float32")
    headline(page, "8 excess wavefronts, all on line 32, 2-way")
    choose(page, "FLIP", "False")
    expect(page.get_by_role("button", name="row[N - 1 - i]")).to_have_attribute("title", re.compile("never runs"))
    knob(page, "SCALE", "0.25")
    expect(page.get_by_text("set, was 0.5")).to_be_visible()
    page.get_by_role("button", name="Reset").click()
    headline(page, "16 excess wavefronts, all on line 32, 2-way")
    expect(page.get_by_label("SCALE", exact=True)).to_have_value("0.5")
    assert not any(name.isupper() for name in query(page))


def test_a_mistake_met_while_running_is_named_with_its_line(page):
    page.goto("/kernel?file=many&HALF=16")
    expect(page.locator("#why")).to_contain_text("Out of bounds")
    expect(page.locator("#why")).to_contain_text(re.compile(r"Line 29: block .*, thread"))
    expect(page.locator("#why")).to_contain_text("sums[2] is outside shape (2,)")


def test_a_file_that_is_not_served_is_not_read(page):
    for file in ("/etc/passwd", "../pyproject", "kernels/square.py"):
        page.goto(f"/kernel?file={file}")
        headline(page, "Not here")
        expect(page.get_by_role("main")).to_contain_text("not served here")


def test_the_theme_follows_the_system_and_the_toggle_is_in_the_url(page):
    page.emulate_media(color_scheme="dark")
    page.goto("/")
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    page.get_by_role("button", name="Switch to the light theme").click()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "light")
    assert query(page)["theme"] == ["light"]
    page.get_by_role("link", name="set_row_read_col", exact=True).first.click()
    headline(page, CONFLICT)
    assert query(page)["theme"] == ["light"]
