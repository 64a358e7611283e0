import json
import re
import zlib
from base64 import b64decode
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.gallery import RECORDINGS
from helpers.strategies import totals
from playwright.sync_api import expect

from smemviz.engines import run
from smemviz.model.counting.service import wavefronts
from smemviz.model.hardware.hardware import H200
from smemviz.paths import kernels_dir
from smemviz.recordings.file import load
from smemviz.reports.html import report
from smemviz.reports.html.report import report_page
from smemviz.reports.recording import print_recording
from smemviz.reports.selection import Choice, launches

GALLERY = sorted(RECORDINGS.glob("*.smem.npz"))
MOST = 6e6  # bytes of a file of the gallery


def page_of(recording):
    return report_page(recording, launches(recording, Choice()), H200)


def data_of(text):
    packed = re.search(r'id="data">([^<]*)<', text)
    found: dict[str, Any] = json.loads(zlib.decompress(b64decode(packed[1])))
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.name.split(".")[0])
def test_every_recording_of_the_gallery_is_a_small_file_that_plays_all_of_it(path):
    recording = load(path)
    text = page_of(recording)
    assert len(text.encode()) < MOST
    data = data_of(text)
    shown = [launch for launch, _ in launches(recording, Choice())]
    assert [sum(len(block["warp"]) for block in one["blocks"]) for one in data["launches"]] == [
        len(launch.requests) for launch in shown
    ]
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=", text)


def test_what_is_played_gives_back_the_addresses_and_wavefronts(square):
    (one,) = (part for part in data_of(page_of(square))["launches"] if part["name"] == "set_row_read_col")
    (block,) = one["blocks"]
    base = np.cumsum(block["base"])
    lanes = np.array([one["shapes"][shape]["lanes"] for shape in block["shape"]])
    addresses = np.where(lanes >= 0, base[:, np.newaxis] + lanes, -1)
    launch = square["set_row_read_col"]
    order = np.lexsort((launch.requests.warp, launch.requests.step, launch.requests.epoch))
    assert np.array_equal(addresses, launch.requests.addresses[order])
    shared = np.array(block["site"]) != 2
    played = np.array([one["shapes"][shape]["wavefronts"] for shape in block["shape"]])
    assert np.array_equal(played[shared], wavefronts(addresses[shared], 4))
    assert len(one["shapes"]) == 34  # a store, 32 columns to load, a store to global memory


def test_blocks_there_is_no_room_for_are_left_out_and_that_is_said(square, monkeypatch):
    monkeypatch.setattr(report, "_MOST_REQUESTS", 6 * 40)
    text = page_of(square)
    assert {one["left_out"] for one in data_of(text)["launches"]} == {96 - 40}
    assert "336 logged requests are not played, to keep this file small; all are counted." in text


def test_arrays_there_is_no_room_for_are_not_drawn_and_that_is_said(square, monkeypatch):
    monkeypatch.setattr(report, "_MOST_CELLS", 3 * 32 * 32)
    text = page_of(square)
    assert [len(one["arrays"]) for one in data_of(text)["launches"]] == [1, 1, 1, 0, 0, 0]
    assert "3 shared arrays are not drawn, to keep this file small; --kernel and --launch choose what is." in text


def test_a_recording_that_was_cut_short_says_so(square):
    launch = square["set_row_read_col"]
    text = page_of(replace(square, launches=(replace(launch, totals=totals(launch, 100)),), unrecorded=1))
    assert text.count("300 of 396 requests were counted but not logged.") == 3  # above, and at the table, twice
    assert "1 more launch of the run not recorded, as asked." in text


def test_nothing_in_a_source_becomes_markup(square):
    evil = "</script><script>alert(1)</script>"
    sites = tuple(replace(site, source=evil) for site in square["set_row_read_col"].sites)
    text = page_of(replace(square, file=evil, launches=(replace(square["set_row_read_col"], sites=sites),)))
    assert evil not in text
    assert "alert(1)&lt;/script&gt;" in text


def test_a_mistake_and_its_remedy_take_the_place_of_why_a_site_costs(capsys):
    recording = run(kernels_dir() / "mistakes.py", engine="lockstep")
    (one,) = (part for part in data_of(page_of(recording))["launches"] if part["name"] == "corner_of_each_tile")
    assert one["headline"] == "Unwritten read on line 89"
    first, *others = [site["why"] for site in one["sites"]]
    (_, reason), remedy = first
    assert reason.startswith("a_tile[0, 2] is read, but nothing wrote it: the block has 4 threads")
    assert remedy == ["Fix.", "Start one thread for each element, or let each thread store several."]
    assert all(other == first for other in others)
    print_recording(recording)
    assert "Pad the row" not in capsys.readouterr().out


def test_a_fix_in_a_file_of_cuda_cpp_is_written_as_cuda_cpp():
    recording = load(RECORDINGS / "square.cu.smem.npz")
    (one,) = (part for part in data_of(page_of(recording))["launches"] if part["name"] == "set_row_read_col")
    assert "Pad the row of tile by 1, [32][32] -> [32][33]" in one["sites"][1]["why"][1][1]


def test_the_source_has_its_sites_in_the_lines_and_what_each_line_costs_beside_it(square):
    (one,) = (part for part in data_of(page_of(square))["launches"] if part["name"] == "set_row_read_col")
    (file,) = one["files"]
    lines = {number: rest for number, *rest in file["lines"]}
    store = {"degree": "1-way", "excess": "0", "share": ""}
    load = {"degree": "32-way", "excess": "992", "share": "100 %"}
    assert lines[51] == [[["    ", None], ["tile[ty, tx]", 0], [" = idx", None]], [], store, 0]
    assert lines[53] == [[["    ", None], ["out[idx]", 2], [" = ", None], ["tile[tx, ty]", 1]], [], load, 4]
    assert lines[52][1:] == [[], {}, 0]


def test_accesses_that_no_letters_are_left_for_stand_beside_the_line(square):
    launch = square["set_row_read_row"]
    twice = replace(launch, sites=(*launch.sites, replace(launch.sites[0], calls=((7, 0),))), hardware=())
    (one,) = data_of(page_of(replace(square, launches=(twice,))))["launches"]
    ((said,),) = [beside for _number, _parts, beside, *_rest in one["files"][0]["lines"] if beside]
    assert said == [len(launch.sites), "line 7"]


@pytest.fixture
def opened(tmp_path, page, square):
    """Open the page from disk without a network; it has to stay quiet."""
    (tmp_path / "report.html").write_text(page_of(square), "utf-8")
    page.on("console", lambda said: pytest.fail(said.text))
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.context.set_offline(True)
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    return page


@pytest.mark.smoke
@pytest.mark.browser
def test_it_opens_at_the_worst_request_and_plays_by_keyboard(opened):
    present = opened.locator("#present")
    assert opened.locator("#headline").inner_text() == "1,984 excess wavefronts; worst: line 38, 32-way, half of them"
    opened.select_option("#launch", label="set_row_read_col")
    expect(present).to_have_text(
        "33 of 96: load of tile[tx, ty] by warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do"
    )
    expect(opened.locator("#why")).to_contain_text("gcd(32, 32) = 32, so 32 lanes fall into 1 of 32 banks, 32-way.")
    expect(opened.locator("#why")).to_contain_text("Pad the row of tile by 1, (32, 32) -> (32, 33)")
    opened.keyboard.press("Tab")  # out of the select, which has keys of its own
    opened.locator("h1").click()
    opened.keyboard.press("ArrowRight")
    expect(present).to_contain_text("34 of 96: load of tile[tx, ty] by warp 1, step 1")
    opened.keyboard.press("Home")
    expect(present).to_contain_text("1 of 96: store of tile[ty, tx] by warp 0, step 0: 32 lanes, 1 wavefront")
    expect(opened.locator("#why")).to_contain_text("so 32 lanes fall into 32 of 32 banks, one each.")
    opened.keyboard.press("End")
    expect(present).to_contain_text("96 of 96: global store of out[idx] by warp 31")
    opened.keyboard.press("Home")
    opened.keyboard.press(" ")
    expect(opened.locator("#play")).to_have_attribute("aria-label", "Pause")
    expect(present).to_have_text(re.compile(r"^([2-9]|\d\d) of 96"), timeout=30000)


@pytest.mark.browser
def test_pictures_show_the_lanes_in_their_cells_and_banks(opened):
    opened.select_option("#launch", label="set_row_read_col")
    assert opened.locator("#banks text.hot").count() == 0  # 32 rows beside the tile have no room for names
    assert opened.locator("#tile text.hot").all_text_contents() == [f"L{lane}" for lane in range(32)]
    assert opened.locator("#tile .bad").count() == 32
    assert opened.locator("#tile text.value").count() == 0  # up to 1,023, which no cell has room for
    opened.locator("#source button", has_text="out[idx]").click()
    assert opened.locator("#banks-picture").is_hidden()
    assert opened.locator("#sectors .sector").count() == 4
    assert opened.locator("#sectors .name").all_text_contents() == ["out[0]"]
    opened.locator("#first").click()
    assert opened.locator("#tile .lane").count() == 32


def table_of(page, picture, number):
    """Return the last row of heads of an open table, and its rows with their heads."""
    table = page.locator(f"#{picture}-picture table").nth(number)
    rows = [row.locator("th, td").all_text_contents() for row in table.locator("tbody tr").all()]
    return table.locator("thead tr").last.locator("th").all_text_contents(), rows


@pytest.mark.browser
def test_every_picture_says_what_it_shows_and_has_a_table_that_follows(opened):
    opened.select_option("#launch", label="set_row_read_col")
    cost = "32 lanes, 32 wavefronts where 1 would do"
    for picture, named in (("tile", "Tile: tile with the lanes of this request"), ("banks", "Banks by wavefront")):
        expect(opened.locator(f"#{picture}")).to_have_attribute("aria-label", f"{named}: {cost}")
        expect(opened.locator(f"#{picture}")).to_have_attribute("role", "img")
        opened.locator(f"#{picture}-picture [data-table]").click()
    heads, rows = table_of(opened, "tile", 0)
    assert (heads, len(rows)) == ([str(column) for column in range(32)], 32)
    there = "bank 0; holds 32 from thread 32 (warp 1, lane 0); this request: lane 1, in conflict"
    assert rows[1][:3] == ["1", there, "bank 1; holds 33 from thread 33 (warp 1, lane 1)"]
    heads, rows = table_of(opened, "banks", 0)
    assert (heads, rows[31]) == (
        [str(bank) for bank in range(32)],
        ["32", "lane 31, in conflict; word 992", *["idle"] * 31],
    )
    heads, rows = table_of(opened, "banks", 1)
    assert heads == ["lane", "element", "address", "bank", "wavefront"]
    assert rows[31] == ["31", "tile[31, 0]", "4,992", "0", "32"]  # 31 rows of 128 bytes behind the system's 1,024
    opened.locator("#first").click()
    expect(opened.locator("#banks-picture tbody tr").first.locator("td").last).to_have_text("lane 31; word 31")
    assert table_of(opened, "tile", 0)[1][1][1] == "bank 0; nothing stored yet"


@pytest.mark.browser
def test_a_request_to_global_memory_has_the_lines_it_moves_as_a_table(opened):
    opened.select_option("#launch", label="set_row_read_col")
    opened.locator("#last").click()
    opened.locator("#sectors-picture [data-table]").click()
    heads, rows = table_of(opened, "sectors", 0)
    assert heads == [f"{byte} to {byte + 3}" for byte in range(0, 128, 4)]
    assert rows == [["out[992]", *map(str, range(32))]]
    heads, rows = table_of(opened, "sectors", 1)
    assert heads == ["lane", "element", "address", "sector"]
    assert [rows[31][0], rows[31][1], rows[31][3]] == ["31", "out[1023]", "3"]  # 32 words of 4 bytes lie in 4 sectors


@pytest.mark.browser
def test_the_page_has_no_accessibility_violation_in_either_theme(opened):
    from axe_playwright_python.sync_playwright import Axe

    axe = Axe()
    for button in opened.locator("[data-table]:visible").all():
        button.click()
    for _ in range(2):
        found = axe.run(opened)
        assert found.violations_count == 0, found.generate_report()
        opened.locator("#theme").click()
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
def test_the_command_writes_what_opens(export, square_file, tmp_path, page):
    out = tmp_path / "reduce.html"
    export(square_file.with_name("reduce.smem.npz"), "-o", out)
    page.context.set_offline(True)
    page.goto(out.as_uri())
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#launch option").count() == 6
    assert page.locator("#block option").count() == 4
