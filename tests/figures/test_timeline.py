"""Times as they were sampled, the requests of a block in time, and its warps by accesses."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.measured import timing
from helpers.reading import cells, written
from helpers.synthetic import square_recording

from smemviz.figures.timeline import timeline
from smemviz.figures.times import times
from smemviz.figures.warps import warps
from smemviz.model.counting.costs import line_up
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback import request_view
from smemviz.recordings.data import Requests

LAUNCH = square_recording()["set_row_read_col"]


def bars(figure):
    """Return the bars of each name as (warp, start, length)."""
    return {
        trace.name: [(int(y), int(b), int(x)) for y, b, x in zip(trace.y, trace.base, trace.x, strict=True)]
        for trace in figure.data
        if trace.type == "bar"
    }


def test_a_request_is_as_long_as_its_wavefronts_and_follows_the_one_before():
    found = bars(timeline(request_view(LAUNCH, warp=0, step=1)))
    stores = [(warp, warp, 1) for warp in range(32)]
    loads = [(warp, 32 + 32 * warp, 1) for warp in range(32)]
    assert found["ideal"] == stores + loads
    assert found["excess"] == [(warp, 33 + 32 * warp, 31) for warp in range(32)]
    assert found["no wavefront is counted"] == [(warp, 32 + 32 * 32 + warp, 1) for warp in range(32)]


def test_the_present_request_is_framed_and_a_barrier_is_a_line():
    figure = timeline(request_view(LAUNCH, warp=2, step=1))
    named = {trace.name: trace for trace in figure.data if list(trace.x) != [None]}  # of the key
    assert (min(named["this request"].x), max(named["this request"].x)) == (32 + 64, 32 + 96)
    assert named["barrier"].x == (32, 32, None)


def test_hovering_says_who_asks_and_what_it_costs():
    excess = next(trace for trace in timeline(request_view(LAUNCH, warp=0, step=1)).data if trace.name == "excess")
    assert excess.hovertext[3] == "<b>warp 3, step 1</b><br>line 53: load tile[tx, ty]<br>32 wavefronts, 1 would do"


def test_of_a_long_block_the_part_around_the_present_request_is_drawn():
    many = replace(LAUNCH, requests=LAUNCH.requests.select(list(range(96)) * 8))  # type: ignore[arg-type]
    now = request_view(many, warp=0, step=1)
    figure = timeline(replace(now, position=700))
    assert figure.layout.xaxis.title.text == "wavefronts, one after the other (requests 257 to 768)"
    assert sum(len(found) for name, found in bars(figure).items() if name != "excess") == 512


def test_places_are_counted_for_every_request():
    line = line_up(LAUNCH, request_view(LAUNCH, warp=0, step=0).rows)
    assert line.length.sum() == 32 + 1024 + 32
    assert (line.sectors[-32:] == 4).all()
    assert (line.wavefronts[-32:] == -1).all()


def test_without_a_request_there_is_a_sentence():
    figure = timeline(request_view(replace(LAUNCH, requests=Requests.empty())))
    assert figure.layout.annotations[0].text == "No request of this block was logged."


FIGURE = times(timing(1.75))


def test_floor_and_net_make_up_the_median():
    parts = {bar.name: (bar.base[0], bar.x[0]) for bar in FIGURE.data if bar.type == "bar"}
    assert parts == {"floor": (0.0, 0.5), "net": (0.5, 1.25)}
    (floor,) = (bar for bar in FIGURE.data if bar.name == "floor")
    assert floor.marker.pattern.shape == "\\"


def test_samples_stand_in_the_order_they_were_taken():
    (samples,) = (trace for trace in FIGURE.data if trace.name == "samples")
    assert samples.x == (1.752, 1.746, 1.75, 1.754, 1.748)
    assert samples.y == (0, 1, 2, 3, 4)
    assert FIGURE.layout.yaxis2.range[0] > FIGURE.layout.yaxis2.range[1]  # the first on top


def test_bands_are_the_percentiles_and_the_interval_and_the_line_is_the_median():
    bands = {shape.name: (shape.x0, shape.x1) for shape in FIGURE.layout.shapes}
    assert bands == {
        "5th to 95th percentile": pytest.approx((1.746, 1.754)),
        "95 % interval": pytest.approx((1.748, 1.752)),
        "median": (1.75, 1.75),
    }


def test_the_numbers_are_written():
    assert [label.text for label in FIGURE.layout.annotations] == [
        "floor 0.500 µs",
        "<b>net 1.250 µs</b>",
        "<b>median 1.750 µs</b>",
    ]
    title = FIGURE.layout.xaxis2.title.text
    assert title == "µs per launch; 5 samples of 400 launches each, first on top"


def test_a_recording_without_its_samples_still_has_bands():
    figure = times(timing(1.75, samples_us=()))
    assert len(figure.layout.shapes) == 3
    assert figure.layout.xaxis2.range[0] < 1.746 < 1.754 < figure.layout.xaxis2.range[1]


def test_it_is_drawn_dark_too():
    assert times(timing(1.75), theme="dark").layout.font.color == "#e8ecf1"


def test_every_warp_shows_the_degree_of_its_requests_and_the_sectors_of_its_stores():
    texts = written(warps(LAUNCH, 0))
    assert {w: texts[w, 1] for w in range(32)} == dict.fromkeys(range(32), "1")
    assert {w: texts[w, 3] for w in range(32)} == dict.fromkeys(range(32), "32")
    assert {w: texts[w, 5] for w in range(32)} == dict.fromkeys(range(32), "4")


def test_each_site_has_its_name_and_its_totals_above_it():
    names = {text for (_, y), text in written(warps(LAUNCH, 0)).items() if y % 1}
    assert names == {
        "line 51 · store <b>tile[ty, tx]</b>",
        "shared · 32 wavefronts · worst 1-way",
        "line 53 · load <b>tile[tx, ty]</b>",
        "shared · 1,024 wavefronts · worst 32-way",
        "line 53 · store <b>out[idx]</b>",
        "global · 128 sectors",
    }


def test_a_long_expression_ends_before_the_totals_of_its_row():
    long = replace(LAUNCH.sites[1], source="tile[" + " + ".join(["tx"] * 40) + "]")
    launch = replace(LAUNCH, sites=(LAUNCH.sites[0], long, LAUNCH.sites[2]))
    name, total = (text for (_, y), text in sorted(written(warps(launch, 0)).items()) if 2 <= y < 3 and y % 1)
    assert name.endswith("…</b>")
    assert name.startswith("line 53 · load <b>tile[tx + tx")
    assert len(name.replace("<b>", "").replace("</b>", "")) + len(total) <= 88


def test_colour_is_the_logarithm_of_the_degree():
    z = cells(warps(LAUNCH, 0)).z
    assert np.isnan(z[0::2].astype(float)).all()
    assert set(z[1]) == {0.0}
    assert set(z[3]) == {5.0}


def test_the_selected_cell_is_framed():
    frame = warps(LAUNCH, 0, site=1, warp=3).data[-1]
    assert (min(frame.x), max(frame.x), min(frame.y), max(frame.y)) == (2.5, 3.5, 2.5, 3.5)


def test_counts_follow_the_compute_capability():
    # 3.x with 8-byte banks: 32 ints apart, two columns of one 64-bit word still meet in one bank (CUDA C guide).
    hover = cells(warps(LAUNCH, 0, hardware=Hardware((3, 5), 8))).hovertext
    assert hover[3, 0] == "<b>warp 0</b>, line 53: load tile[tx, ty]<br>1 request, 16 wavefronts, at worst 16-way"
