"""How many requests of a launch have each degree: the numbers, the bars, and what is said of them."""

import re
from dataclasses import replace

import numpy as np
from helpers.gallery import h200
from helpers.pseudo import forgotten, pseudo
from helpers.strategies import totals

from smemviz.app.pages.kernel.folded import least_width
from smemviz.figures.degrees import degrees
from smemviz.figures.drawing.style import THEMES
from smemviz.figures.registry import FIGURES, FigureInput
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback import H200, request_view
from smemviz.reports.html.report import report_page
from smemviz.views.degrees import Degrees, degrees_of, described_degrees


def conflicting():
    return h200("square")["set_row_read_col"]


def test_a_row_is_stored_without_a_conflict_and_a_column_read_with_32_words_of_a_bank():
    found = degrees_of(conflicting())
    assert found == Degrees({1: 32, 32: 32}, 0, True)
    assert described_degrees(found) == "64 requests to shared memory, 32 of them with a bank conflict, at most 32-way."


def test_totals_count_the_whole_grid_and_not_only_what_was_logged():
    launch = conflicting()
    made = totals(launch, 1_000_000)  # each of them of degree 1
    assert degrees_of(replace(launch, totals=made)) == Degrees({1: 2 * 1_000_032}, 0, True)
    before = degrees_of(replace(launch, totals=made), Hardware((3, 5)))  # its rules need the addresses
    assert (sum(before.requests.values()), before.complete) == (64, False)
    assert described_degrees(before).endswith("Only requests that were logged are counted.")


def test_requests_whose_wavefronts_depend_on_the_data_are_left_out_and_that_is_said():
    launch = h200("histogram")["count_in_shared_memory"]
    found = degrees_of(launch, Hardware((3, 5)))  # atomics were a loop around a lock
    assert found.uncounted == 128
    assert "128 requests are left out: their wavefronts are not counted." in described_degrees(found)


def test_bars_in_conflict_are_hatched_and_every_bar_has_its_number():
    for theme in ["light", "dark"]:
        figure = degrees(Degrees({1: 5, 3: 7, 32: 1234}, 0, True), theme=theme)
        clean, bad = figure.data
        assert (clean.x, clean.y, clean.text) == (("1",), (5,), ("5",))
        assert (bad.x, bad.y, bad.text) == (("3", "32"), (7, 1234), ("7", "1,234"))
        assert clean.marker.pattern.shape is None
        assert (bad.marker.pattern.shape, bad.marker.color) == ("/", THEMES[theme].conflict)
        assert figure.layout.xaxis.categoryarray == ("1", "2", "3", "4", "8", "16", "32")
        assert figure.layout.meta["table"]["rows"] == [
            ["1-way", 5, "0.4 %"],
            ["3-way", 7, "0.6 %"],
            ["32-way", 1234, "99 %"],
        ]
        assert least_width(figure) == 52 + 16 + 7 * (8 + 7 * len("1,234"))


def test_a_launch_without_shared_memory_has_nothing_to_show_and_no_lane_is_no_request():
    found = h200("transpose")
    launch = found["copy"]
    figure = degrees(degrees_of(launch))
    assert not figure.data
    assert figure.layout.meta["says"] == "No request of this launch has a degree."
    assert "<details>" not in report_page(found, [(launch, 0)], H200)
    launch = conflicting()
    off = replace(launch.requests, addresses=np.full_like(launch.requests.addresses, -1))
    assert degrees_of(replace(launch, requests=off)).requests == {}


def test_the_report_draws_the_bars_and_writes_their_table():
    found = h200("square")
    page = report_page(found, [(found["set_row_read_col"], 1)], H200)
    text = re.sub(r"\s*(<|>)\s*", r"\1", page[page.index("<details>") : page.index("</details>")])
    assert text.startswith("<details><summary>Requests by degree</summary>")
    assert text.count("<rect") == 2 + 1 + 2 + 1  # the legend's and the bars, those in conflict with a hatch
    assert text.count('fill="url(#hatch-set_row_read_col-2-)"') == 2
    assert 'id="hatch-set_row_read_col-2-"' in text
    assert "<td>32-way</td><td>32</td><td>50 %</td>" in text


def test_every_text_is_a_message():
    found, launch = h200("square"), conflicting()
    with pseudo():
        asked = FigureInput(found, H200, "light", request_view(launch))
        caption = FIGURES["degrees"].caption
        assert caption is not None
        shown = [FIGURES["degrees"].draw(asked), caption(asked), FIGURES["degrees"].title]
        shown += [described_degrees(Degrees({}, 0, True)), described_degrees(Degrees({1: 2}, 3, False))]
        assert forgotten(shown) == []
