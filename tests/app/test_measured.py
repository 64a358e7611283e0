"""Times and counts of the kernel and the compare page, in a browser; the numbers are those of ``measured.py``."""

import csv
import io
import re
from pathlib import Path

import pytest
from helpers.measured_app import SQUARE, printing, time_json, write_gallery
from helpers.pages import headline, open_page, query, serve, tab
from helpers.waiting import eventually, settle
from playwright.sync_api import expect

from smemviz.app.tasks import stopwatch as module
from smemviz.app.tasks.stopwatch import Stopwatch

pytestmark = pytest.mark.browser

TRANSPOSE = "/kernel?file=square&kernel=set_row_read_col"
COMPARE = "/compare?file=square"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Serve kernel files whose recordings have times, in place of the gallery; gives the address."""
    with serve(write_gallery(tmp_path_factory.mktemp("kernels"))) as address:
        yield address


@pytest.fixture
def page(browser, measured):
    with open_page(browser, measured) as page:
        yield page


@pytest.fixture
def with_gpu(monkeypatch):
    monkeypatch.setattr(Stopwatch, "available", True)


def facts(page):
    rows = page.locator("#timing-body .fact")
    return {row.locator("dt").inner_text(): row.locator("dd").inner_text() for row in rows.all()}


def table(page):
    return [row.locator("th, td").all_inner_texts() for row in page.locator("#compare-table tbody tr").all()]


def test_the_time_of_a_recording_is_labelled_with_its_card(page):
    page.goto(TRANSPOSE)
    expect(page.locator("#timing-origin")).to_have_text(
        "Measured on NVIDIA H200, driver 580.159, 21 November 2025, 03:00 UTC, by CUDA graph replay; "
        "SM clock 1984 MHz, power 122 W. The floor is an empty kernel of this size."
    )
    assert facts(page) == {
        "median": "1.250 µs",
        "95 % interval": "1.248 µs to 1.252 µs",
        "floor": "0.500 µs",
        "net": "0.750 µs",
        "5th to 95th percentile": "1.246 µs to 1.254 µs",
        "samples": "5 of 400 launches",
    }
    expect(page.locator("#impact")).to_have_text(
        "Yes. 992 wavefronts in excess take 992 cycles, 0.500 µs: 67 % of the 0.750 µs net. "
        "The clock agrees: set_row_read_row, which has none, takes 0.500 µs less."
    )
    expect(page.locator("#times .main-svg").first).to_be_attached()
    page.get_by_role("link", name=re.compile("^set_row_read_row")).click()
    expect(page.locator("#impact")).to_contain_text("bank conflicts cost this launch nothing")
    eventually(page, lambda: facts(page)["median"], "0.750 µs")


def test_other_constants_have_no_time_and_the_command_that_measures_it(page):
    page.goto(TRANSPOSE + "_pad&IPAD=0")
    expect(page.locator("#timing-body")).to_have_text(
        "No time was measured with these constants. The GPU recording was made with other constants. "
        "On a machine with an NVIDIA GPU, smemviz time square.py --set IPAD=0 measures it."
    )
    expect(page.locator("#verdict")).to_contain_text("Not checked against hardware")
    expect(page.locator("#hardware-body")).to_contain_text("not measured")


def test_a_site_is_shown_three_times_over_with_its_verdict_in_words(page):
    page.goto(TRANSPOSE)
    tab(page, "Hardware counters")
    expect(page.locator("#verdict")).to_have_text("All 3 accesses agree with the hardware's counters.")
    load = page.locator(".hardware-table tbody").nth(1)
    expect(load).to_contain_text("line 53, shared load")
    assert load.locator("td").all_inner_texts()[:3] == [
        "32 requests",
        "1,024 wavefronts\n32 ideal",
        "32 requests\n1,024 wavefronts\n32 ideal",
    ]
    expect(load.locator(".verdict")).to_have_text("✓ agrees")
    expect(page.locator("#hardware-body")).to_contain_text(
        "Requests recorded on NVIDIA H200, driver 580.159, 21 November 2025. Model: the rule for compute capability "
        "9.0, measured, applied to their addresses. Hardware: the clean kernel under Nsight Compute on NVIDIA H200"
    )
    counters = page.get_by_text("All 1 raw counters of the launch")
    counters.click()
    expect(page.get_by_role("region", name="Raw counters")).to_contain_text("smsp__inst_executed_op_shared_ld.sum")


def test_a_difference_is_explained_beside_its_numbers(page):
    page.goto("/kernel?file=square&kernel=set_row_read_row")
    expect(page.locator("#verdict")).to_have_text("Of 3 accesses: 2 agree, 1 explained.")
    load = page.locator(".hardware-table tbody").nth(1)
    expect(load.locator(".verdict")).to_have_text("∴ explained")
    expect(load).to_contain_text("4 loads became 1")
    expect(page.locator("#hardware-body")).to_contain_text("square.py:30: LDS belongs to no access")


def test_without_a_gpu_there_is_no_button(page, monkeypatch):
    monkeypatch.setattr(Stopwatch, "available", False)
    page.goto(TRANSPOSE)
    settle(page)
    tab(page, "Time")
    expect(page.locator("#timing-body")).to_be_visible()
    expect(page.get_by_role("button", name="Measure")).to_be_hidden()


def test_measuring_shows_progress_and_then_the_time_of_this_card(page, with_gpu, monkeypatch, tmp_path):
    slow = printing(time_json(SQUARE, 3.25), until=tmp_path / "seen", said="2/3 set_row_read_col")
    monkeypatch.setattr(module, "command", lambda path, overrides: slow)
    page.goto(TRANSPOSE + "_pad&IPAD=3")
    tab(page, "Time")
    expect(page.locator("#timing-body")).to_contain_text("No time was measured")
    page.get_by_role("button", name="Measure").click()
    expect(page.locator("#measure-status")).to_contain_text(re.compile(r"Measuring square.py, \d+ s: set_row_read_col"))
    expect(page.get_by_role("progressbar", name="Launches measured")).to_have_attribute("value", "2")
    expect(page.get_by_role("button", name="Measure")).to_be_disabled()
    (tmp_path / "seen").touch()
    expect(page.locator("#timing-origin")).to_contain_text("Measured here, on NVIDIA Test Card, driver 600.1")
    eventually(page, lambda: facts(page)["median"], "3.250 µs")
    expect(page.locator("#measure-status")).to_be_empty()
    expect(page.get_by_role("button", name="Measure")).to_be_enabled()
    page.goto(COMPARE + "&IPAD=3")
    expect(page.locator("#compare-origin")).to_contain_text("times measured here on NVIDIA Test Card, driver 600.1")


def test_measuring_can_be_cancelled(page, with_gpu, monkeypatch):
    monkeypatch.setattr(module, "command", lambda path, overrides: printing("", seconds=60))
    page.goto(TRANSPOSE)
    tab(page, "Time")
    page.get_by_role("button", name="Measure").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden()
    expect(page.locator("#measure-status")).to_be_empty()
    expect(page.locator("#timing-origin")).to_contain_text("NVIDIA H200")


def test_six_kernels_side_by_side(page):
    page.goto("/")
    page.get_by_role("link", name="Compare the kernels of square").click()
    headline(page, "set_col_read_col takes 2.33 times as long as set_row_read_row")
    none = ["0", "1-way"]
    bad = ["▲ 992", "32-way"]
    moved = ["128", "4", "100 %", "coalesced"]
    yes = "Yes: 0.500 µs, {} of net"
    assert table(page) == [
        ["set_row_read_row", "32", "32", *none, "4,096", *moved, "0.750 µs", "0.250 µs", "1.00 x", "No"],
        ["set_col_read_col", "1,024", "1,024", "▲ 1,984", "32-way", "4,096", *moved, "1.750 µs", "1.250 µs", "2.33 x",
         "Yes: 1.000 µs, 80 % of net"],
        ["set_row_read_col", "32", "1,024", *bad, "4,096", *moved, "1.250 µs", "0.750 µs", "1.67 x",
         yes.format("67 %")],
        ["set_row_read_col_dyn", "32", "1,024", *bad, "4,096", *moved, "1.150 µs", "0.650 µs", "1.53 x",
         yes.format("77 %")],
        ["set_row_read_col_pad", "32", "32", *none, "4,224", *moved, "0.800 µs", "0.300 µs", "1.07 x", "No"],
        ["set_row_read_col_dyn_pad", "32", "32", *none, "4,224", *moved, "0.900 µs", "0.400 µs", "1.20 x", "No"],
    ]  # fmt: skip
    expect(page.locator("#compare-impact")).to_contain_text(
        "No excess wavefronts: set_row_read_row, set_row_read_col_pad, set_row_read_col_dyn_pad."
    )
    page.locator("#compare-table").get_by_role("link", name="set_row_read_col", exact=True).click()
    expect(page.locator("#eyebrow")).to_have_text("square.py · set_row_read_col")
    page.get_by_role("navigation", name="Kernels of this file").get_by_role("link", name="Compare").click()
    expect(page.locator("#compare-table tbody tr")).to_have_count(6)


def test_launches_are_picked_and_the_picks_are_in_the_url(page):
    page.goto(COMPARE)
    expect(page.locator("#compare-table tbody tr")).to_have_count(6)
    field = page.get_by_role("combobox", name="Launches").or_(page.get_by_role("textbox", name="Launches")).first
    for _ in range(4):
        field.press("Backspace")
        page.wait_for_timeout(60)  # as fast as keys repeat
    expect(page.locator("#compare-table tbody tr")).to_have_count(2)
    field.fill("static")
    page.get_by_role("option", name="reverse: static_reverse").click()
    expect(page.locator("#compare-table tbody th")).to_have_text(
        ["square: set_row_read_row", "square: set_col_read_col", "reverse: static_reverse"]
    )
    assert query(page)["launch"] == ["square:set_row_read_row", "square:set_col_read_col", "reverse:static_reverse"]
    assert table(page)[2][-4:] == ["not measured"] * 4
    page.reload()
    expect(page.locator("#compare-table tbody tr")).to_have_count(3)
    page.go_back()
    expect(page.locator("#compare-table tbody tr")).to_have_count(2)


def test_constants_of_the_url_are_honoured(page):
    page.goto(COMPARE + "&IPAD=0")
    expect(page.locator("#compare-table tbody tr")).to_have_count(6)
    assert table(page)[4] == [
        "set_row_read_col_pad", "32", "1,024", "▲ 992", "32-way", "4,096", "128", "4", "100 %", "coalesced",
        *["not measured"] * 4,
    ]  # fmt: skip
    expect(page.locator("#compare-origin")).to_contain_text("times not measured")
    expect(page.locator("#compare-origin")).to_contain_text("run by the lockstep engine")
    page.locator("#compare-table").get_by_role("link", name="set_row_read_col_pad", exact=True).click()
    expect(page.get_by_label("IPAD", exact=True)).to_have_value("0")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("file=square&BDIMX=64", "a block of 64 x 64 x 1 has 4096 threads; a device takes 1024"),
        ("file=square&NOSUCH=1", "there is no constant NOSUCH"),
        ("launch=square:main", "main() does not launch this kernel"),
        ("launch=/etc/passwd:main", "does not name a launch"),
        ("file=/etc/passwd", "not served here"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(page, query, said):
    page.goto(f"/compare?{query}")
    headline(page, "This cannot be compared")
    expect(page.locator("#error")).to_contain_text(said)
    expect(page.locator("#compare-results")).to_be_hidden()
    settle(page)
    assert page.url.endswith(query)


def test_the_csv_has_what_the_table_has_and_says_where_it_is_from(page):
    page.goto(COMPARE + "&launch=square:set_col_read_col&launch=reverse:static_reverse&theme=dark")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    text = Path(download.value.path()).read_text()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [(row["file"], row["store_wavefronts"], row["excess"], row["median_us"]) for row in rows] == [
        ("square", "1024", "1984", "1.75"),
        ("reverse", "2", "0", ""),
    ]
    assert rows[0]["requests_from"] == "recorded on NVIDIA H200, driver 580.159, 21 November 2025"
    assert rows[0]["time_from"].startswith("measured on NVIDIA H200")
    assert rows[1]["requests_from"].startswith("run by the lockstep engine")
    assert rows[1]["time_from"] == "not measured"
    refused = page.request.get("/compare.csv?file=nothing")
    assert (refused.status, refused.text()) == (400, "nothing: not served here; the gallery lists what is\n")
