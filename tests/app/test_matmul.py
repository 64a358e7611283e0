"""The matrix product page, on a sweep with round numbers (tests/figures/swept.py) and counts made in lockstep."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.measured_app import printing
from helpers.pages import headline, knob, open_page, query, serve, tab
from helpers.servers import until
from helpers.swept import SIZES, at_rate, sweep
from helpers.waiting import eventually, settle
from playwright.sync_api import expect

from smemviz.app.pages.matmul import matmul_data as module
from smemviz.app.pages.matmul.matmul_data import Products, ProductState, command
from smemviz.app.pages.matmul.matmul_view import view_counted, view_job, view_measured, view_step
from smemviz.app.tasks.jobs import Job
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.errors import InputError
from smemviz.frontends.program import digests
from smemviz.frontends.reading import read_program
from smemviz.paths import kernels_dir
from smemviz.progress import LINES
from smemviz.recordings.sweep import Size, sweep_facts
from smemviz.views.matmul_steps import loaded

SOURCE = read_program(kernels_dir() / "matmul.py").sha256


def known():
    """Return the sweep as one of the gallery's file, with tiles of 16 at one size too."""
    points = (*sweep().points, at_rate("tiled", SIZES[1], 20e12, tile=16))
    return replace(sweep(), sha256=SOURCE, points=points)


@pytest.fixture(scope="module", autouse=True)
def recorded():
    """Let the page have the sweep above in place of the one that comes with smemviz."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Products, "recorded", known())
        yield


@pytest.fixture
def data():
    return Products(Job(environment=LINES))


# What the URL asks for


@pytest.mark.parametrize(
    ("query", "state"),
    [
        ({}, ProductState(SIZES[2], 32, "16-8")),
        ({"SIZE": "64", "TILE": "8", "PICTURED": "24-8"}, ProductState(Size(64, 64, 64), 8, "24-8")),
        ({"SIZE": "228 x 240 X 112"}, ProductState(Size(228, 240, 112), 32, "16-8")),
        ({"TILE": "7", "PICTURED": "x"}, ProductState(SIZES[2], 32, "16-8")),
        ({"TILE": "16"}, ProductState(SIZES[1], 16, "16-8")),
        ({"TILE": "8"}, ProductState(Size(64, 64, 64), 8, "16-8")),
    ],
)
def test_the_url_says_what_is_shown(query, state):
    assert ProductState.read(query, known()) == state


def test_a_size_that_makes_no_sense_is_refused_in_words():
    for text in ["", "0", "-4", "64x64", "a", "8193", "1" * 5000]:
        with pytest.raises(InputError, match="is not a size: write 64, or 228x240x112"):
            ProductState.read({"SIZE": text}, None)


# What is shown


@pytest.mark.exhaustive
def test_a_small_size_is_counted_as_it_is_and_a_large_one_at_64(data):
    small = data.counted(ProductState(Size(32, 32, 32), 16, ""))
    assert small["naive"].moved.elements_loaded == 2 * 32**3
    assert (small["tiled"].size, small["tiled"].grid) == (Size(32, 32, 32), (2, 2, 1))
    assert data.counted(ProductState(SIZES[1], 16, ""))["tiled"].size == Size(64, 64, 64)


@pytest.mark.exhaustive
def test_savings_are_of_every_tile(data):
    found = data.savings(ProductState(SIZES[2], 32, ""))
    assert [(s.tile, s.elements, s.sectors) for s in found] == [(8, 8, 5), (16, 16, 8), (32, 32, 20)]
    assert {s.size for s in found} == {Size(64, 64, 64)}


def test_a_refused_size_leaves_a_sentence(data):
    filling = view_counted(data, {"SIZE": "huge"}, "light", True)
    assert filling["products-headline.children"] == "This cannot be shown"
    assert filling["products-results.hidden"] is True
    links = view_measured(data, {"SIZE": "huge"}, "light", True)["products-sizes.children"][1:]
    assert [(link.children, link.className) for link in links] == [(size.name, "kernel-link") for size in SIZES]


def test_a_kernel_that_changed_since_is_named(data, monkeypatch):
    before = view_measured(data, {}, "light", True)["skipped-note.children"]
    other = {**digests(data.program), "tiled": "0" * 16}
    monkeypatch.setattr(Products, "recorded", replace(known(), sha256="0" * 64, kernels=other))
    filling = view_measured(data, {}, "light", True)
    assert filling["products-notices.children"] == []  # a note by the times, not the first thing on the page
    *others, note = filling["skipped-note.children"]
    assert others[: len(before)] == before
    assert note.children == "tiled changed since; the times are of what stood there before."


@pytest.mark.exhaustive
def test_without_a_sweep_the_page_still_counts(data, monkeypatch):
    monkeypatch.setattr(Products, "recorded", None)
    filling = view_counted(data, {"TILE": "16"}, "light", True)
    assert filling["products-headline.children"] == "Tiles of 16 by 16: 8 times fewer sectors to load"
    assert filling["products-origin.children"] == "Counted now, in lockstep; nothing was measured."


def test_a_step_beyond_the_last_is_the_last(products):
    filling = view_step(products, {"PICTURED": "16-8"}, {"step": "9999"})
    # 4 blocks, each twice a load, 8 multiplications and 2 barriers, and a store.
    assert filling["step-count.data"] == {"count": 92, "now": 92}
    assert filling["step-text.children"].startswith("Step 92 of 92, block (1, 1): store.")


def test_the_smallest_product_is_of_4_by_4_by_tiles_of_2_by_2(data):
    launch, steps = data.steps("4-2")
    first = [step for step in steps if step.block == 0]
    assert [step.kind for step in first] == [*["load", "wait", "multiply", "multiply", "wait"] * 2, "store"]
    cells = {(row, column) for row in (0, 1) for column in (0, 1)}
    assert [(part.array.name, part.cells) for part in loaded(launch, first[0].rows)][:2] == [
        ("a", cells),
        ("a_tile", cells),
    ]
    assert len(steps) == 4 * len(first)


# Measuring, with a command of ours in place of ``smemviz sweep``


def test_the_command_is_our_own():
    state = ProductState(Size(228, 240, 112), 16, "")
    line = " ".join(command(Path("/a/matmul.py"), state)[1:])
    assert line == "-m smemviz sweep /a/matmul.py --set TILE=16 --sizes 228x240x112 --limit 20 --json"


def test_what_is_measured_here_is_shown_for_its_size_only(data, monkeypatch):
    here = replace(known(), points=(at_rate("tiled", Size(96, 96, 96), 1e12),))
    monkeypatch.setattr(module, "command", lambda path, state: printing(json.dumps(sweep_facts(here))))
    state = ProductState(Size(96, 96, 96), 32, "")
    assert data.measure(state)
    until(lambda: not data.running())
    assert (data.problem, data.latest) == ("", 1)
    assert data.sweep(state.size, 32) == (here, True)
    assert data.sweep(SIZES[1], 32) == (known(), False)


def test_progress_is_shown_and_measuring_can_be_cancelled(data, monkeypatch):
    monkeypatch.setattr(module, "command", lambda path, state: printing("", seconds=600, said="3/9 tiled 64"))
    data.measure(ProductState(SIZES[0], 32, ""))
    until(lambda: not (now := data.running()) or now.message)
    text, bar = view_job(data, True)["products-measure-status.children"]
    assert text.children.endswith(": tiled 64")
    assert (bar.value, bar.max) == ("3", "9")
    data.cancel()
    until(lambda: not data.running())
    assert (data.problem, data.latest) == ("", 0)


def test_without_a_gpu_there_is_no_button(data):
    assert view_job(data, False)["products-measure-area.hidden"] is True


# In a browser


@pytest.fixture(scope="module")
def address(recorded):
    with serve() as served:
        yield served


@pytest.fixture
def page(browser, address):
    with open_page(browser, address) as page:
        yield page


@pytest.fixture
def measuring(browser, recorded, monkeypatch):
    """Give a quiet page of a server of its own that measures: what it keeps, or still runs, no other test meets."""
    monkeypatch.setattr(Stopwatch, "available", True)
    with serve() as address, open_page(browser, address) as page:
        yield page


def row(page, kernel):
    tab(page, "Every kernel at this size")
    name = page.get_by_role("rowheader", name=kernel, exact=True)
    return page.locator("#products-table tr", has=name).locator("td").all_inner_texts()


@pytest.mark.browser
def test_the_page_is_reached_from_every_page_and_shows_what_was_measured(page):
    page.goto("/")
    page.get_by_role("link", name="Matmul", exact=True).click()
    headline(page, "tiled reaches 50 % of cuBLAS, naive 5 %")
    expect(page.locator("#products-origin")).to_contain_text("times measured on NVIDIA Test Card, driver 600.1")
    expect(page.locator("#products-origin")).to_contain_text("host Test Processor, 16 cores, NumPy 2.4.6")
    tiled = ["5.498 ms", "25,000", "50 %", "42 % of float32", "1.5e-04 of 100"]
    eventually(page, lambda: row(page, "tiled")[-5:], tiled)
    assert row(page, "tiled_integer")[-3] == "int32"
    assert row(page, "NumPy on the host")[-5:-3] == ["137.4 ms", "1,000"]
    expect(page.locator("#skipped-note")).to_have_text("three loops was skipped: expected to take 137 s")
    expect(page.get_by_label("Size", exact=True)).to_have_value("4096")
    expect(page.locator("#ceilings-table")).to_contain_text("float32")
    expect(page.locator("#quoted-table")).to_contain_text("GeForce RTX 3080")


@pytest.mark.browser
def test_size_and_tile_are_in_the_url_and_back_returns(page):
    page.goto("/matmul")
    headline(page, "tiled reaches 50 % of cuBLAS, naive 5 %")
    knob(page, "Size", "48")
    expect(page.locator("#loads-title")).to_have_text("What tiles save, counted at 48")
    expect(page.locator("#products-table")).to_contain_text("221,184")  # 2 * 48^3
    assert query(page) == {"SIZE": ["48"]}
    page.get_by_role("textbox", name="Tile").click()
    page.get_by_role("option", name="16", exact=True).click()
    headline(page, "Tiles of 16 by 16: 8 times fewer sectors to load")
    assert query(page) == {"SIZE": ["48"], "TILE": ["16"]}
    page.go_back()
    page.go_back()
    headline(page, "tiled reaches 50 % of cuBLAS, naive 5 %")
    expect(page.get_by_label("Size", exact=True)).to_have_value("4096")
    page.get_by_role("navigation", name="Sizes that were measured").get_by_role("link", name="1024").click()
    expect(page.get_by_label("Size", exact=True)).to_have_value("1024")


@pytest.mark.browser
def test_a_size_that_makes_no_sense_is_said_and_can_be_corrected(page):
    page.goto("/matmul?SIZE=12x13")
    expect(page.get_by_role("alert")).to_contain_text("'12x13' is not a size")
    expect(page.locator("#products-results")).to_be_hidden()
    knob(page, "Size", "20x24x36")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator("#products-table")).to_contain_text("tiled_any")


@pytest.mark.browser
def test_steps_are_taken_by_key_button_and_slider(page):
    page.goto("/matmul")
    text = page.locator("#step-text")
    expect(text).to_contain_text("Step 1 of 92, block (0, 0): load tile 1 of 2")
    expect(page.locator("#step-table")).to_contain_text("a_tile")
    page.locator("body").press("ArrowRight")
    expect(text).to_contain_text("Step 2 of 92, block (0, 0): the barrier")
    expect(page.locator("#step-table")).to_have_text("No memory is accessed at a barrier.")
    page.get_by_role("button", name="Next step").click()
    expect(text).to_contain_text("Step 3 of 92, block (0, 0): multiply, 1 of 8")
    assert query(page)["step"] == ["3"]
    page.get_by_role("button", name="Last step").click()
    expect(text).to_contain_text("Step 92 of 92, block (1, 1): store")
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    slider.press("ArrowLeft")
    expect(text).to_contain_text("Step 91 of 92")
    page.get_by_role("button", name="First step").click()
    expect(text).to_contain_text("Step 1 of 92")
    assert "step" not in query(page)
    page.get_by_role("textbox", name="Product that is pictured").click()
    page.get_by_role("option", name="32 x 32, tiles of 16").click()
    expect(text).to_contain_text("Step 1 of 156")


@pytest.mark.browser
def test_steps_play_and_pause_with_the_space_bar(page):
    page.goto("/matmul")
    text = page.locator("#step-text")
    expect(text).to_contain_text("Step 1 of 92")
    page.locator("body").press("Space")
    expect(text).to_contain_text(re.compile("Step [3-9] of 92"))
    page.locator("body").press("Space")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    settle(page)
    stopped = text.inner_text()
    page.wait_for_timeout(1500)
    assert text.inner_text() == stopped


@pytest.mark.browser
def test_a_button_measures_where_there_is_a_gpu(measuring, monkeypatch, tmp_path):
    here = replace(
        known(), points=(at_rate("tiled", Size(96, 96, 96), 1e12), at_rate("cuBLAS", Size(96, 96, 96), 4e12, None))
    )
    slow = printing(json.dumps(sweep_facts(here)), until=tmp_path / "seen", said="1/4 tiled 96")
    monkeypatch.setattr(module, "command", lambda path, state: slow)
    page = measuring
    page.goto("/matmul?SIZE=96")
    expect(page.locator("#products-origin")).to_contain_text("96 with tiles of 32 was not measured on NVIDIA Test Card")
    page.get_by_role("button", name="Measure here").click()
    expect(page.locator("#products-measure-status")).to_contain_text("tiled 96")
    (tmp_path / "seen").touch()
    headline(page, "tiled reaches 25 % of cuBLAS")
    expect(page.locator("#products-origin")).to_contain_text("times measured here, on NVIDIA Test Card")
