from __future__ import annotations

from dataclasses import replace
from typing import Any

from helpers.synthetic import square_recording

from smemviz.figures.timeline import line_up, timeline
from smemviz.model.playback import request_view
from smemviz.recordings.data import Requests

LAUNCH = square_recording()["set_row_read_col"]


def bars(figure: Any) -> dict[str, list[tuple[int, int, int]]]:
    """Return the bars of each name as (warp, start, length)."""
    return {
        trace.name: [(int(y), int(b), int(x)) for y, b, x in zip(trace.y, trace.base, trace.x, strict=True)]
        for trace in figure.data
        if trace.type == "bar"
    }


def test_a_request_is_as_long_as_its_wavefronts_and_follows_the_one_before() -> None:
    found = bars(timeline(request_view(LAUNCH, warp=0, step=1)))
    stores = [(warp, warp, 1) for warp in range(32)]
    loads = [(warp, 32 + 32 * warp, 1) for warp in range(32)]
    assert found["ideal"] == stores + loads
    assert found["excess"] == [(warp, 33 + 32 * warp, 31) for warp in range(32)]
    assert found["no wavefront is counted"] == [(warp, 32 + 32 * 32 + warp, 1) for warp in range(32)]


def test_the_present_request_is_framed_and_a_barrier_is_a_line() -> None:
    figure = timeline(request_view(LAUNCH, warp=2, step=1))
    named = {trace.name: trace for trace in figure.data}
    assert (min(named["this request"].x), max(named["this request"].x)) == (32 + 64, 32 + 96)
    assert named["barrier"].x == (32, 32, None)


def test_hovering_says_who_asks_and_what_it_costs() -> None:
    excess = next(trace for trace in timeline(request_view(LAUNCH, warp=0, step=1)).data if trace.name == "excess")
    assert excess.hovertext[3] == "<b>warp 3, step 1</b><br>line 53: load tile[tx, ty]<br>32 wavefronts, 1 would do"


def test_of_a_long_block_the_part_around_the_present_request_is_drawn() -> None:
    many = replace(LAUNCH, requests=LAUNCH.requests.select(list(range(96)) * 8))  # type: ignore[arg-type]
    now = request_view(many, warp=0, step=1)
    figure = timeline(replace(now, position=700))
    assert figure.layout.xaxis.title.text == "wavefronts, one after the other (requests 257 to 768)"
    assert sum(len(found) for name, found in bars(figure).items() if name != "excess") == 512


def test_places_are_counted_for_every_request() -> None:
    line = line_up(LAUNCH, request_view(LAUNCH, warp=0, step=0).rows)
    assert line.length.sum() == 32 + 1024 + 32
    assert (line.sectors[-32:] == 4).all()
    assert (line.wavefronts[-32:] == -1).all()


def test_without_a_request_there_is_a_sentence() -> None:
    figure = timeline(request_view(replace(LAUNCH, requests=Requests.empty())))
    assert figure.layout.annotations[0].text == "No request of this block was logged."
