from __future__ import annotations

import pytest
from helpers.measured import timing

from smemviz.figures.times import times

FIGURE = times(timing(1.75))


def test_floor_and_net_make_up_the_median() -> None:
    parts = {bar.name: (bar.base[0], bar.x[0]) for bar in FIGURE.data if bar.type == "bar"}
    assert parts == {"floor": (0.0, 0.5), "net": (0.5, 1.25)}
    (floor,) = (bar for bar in FIGURE.data if bar.name == "floor")
    assert floor.marker.pattern.shape == "\\"


def test_samples_stand_in_the_order_they_were_taken() -> None:
    (samples,) = (trace for trace in FIGURE.data if trace.name == "samples")
    assert samples.x == (1.752, 1.746, 1.75, 1.754, 1.748)
    assert samples.y == (0, 1, 2, 3, 4)
    assert FIGURE.layout.yaxis2.range[0] > FIGURE.layout.yaxis2.range[1]  # the first on top


def test_bands_are_the_percentiles_and_the_interval_and_the_line_is_the_median() -> None:
    bands = {shape.name: (shape.x0, shape.x1) for shape in FIGURE.layout.shapes}
    assert bands == {
        "5th to 95th percentile": pytest.approx((1.746, 1.754)),
        "95 % interval": pytest.approx((1.748, 1.752)),
        "median": (1.75, 1.75),
    }


def test_the_numbers_are_written() -> None:
    assert [label.text for label in FIGURE.layout.annotations] == [
        "floor 0.500 µs",
        "<b>net 1.250 µs</b>",
        "<b>median 1.750 µs</b>",
    ]
    title = FIGURE.layout.xaxis2.title.text
    assert title == "µs per launch; 5 samples of 400 launches each, first on top"


def test_a_recording_without_its_samples_still_has_bands() -> None:
    figure = times(timing(1.75, samples_us=()))
    assert len(figure.layout.shapes) == 3
    assert figure.layout.xaxis2.range[0] < 1.746 < 1.754 < figure.layout.xaxis2.range[1]


def test_it_is_drawn_dark_too() -> None:
    assert times(timing(1.75), theme="dark").layout.font.color == "#e8ecf1"
