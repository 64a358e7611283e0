"""Pictures on a slide: type is large, labels touch no other, code keeps the lines that cost something."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest

from smemviz.figures.drawing.projected import GAP, HEIGHT, TITLE, TYPE, WIDTH, slide
from smemviz.lessons.course import lesson_of


def slides(name: str) -> tuple[list[go.Figure], bool]:
    lesson = lesson_of(name)
    return slide([panel.figure for panel in lesson.stage(lesson.values({})).panels("light")])


def labels(figure: go.Figure) -> list[str]:
    return [text for trace in figure.data if trace.type == "scatter" and trace.mode == "text" for text in trace.text]


def test_high_pictures_stand_side_by_side_and_label_every_fourth_lane() -> None:
    (tile, banks), beside = slides("columns")
    assert beside
    assert tile.layout.width + GAP + banks.layout.width == WIDTH
    assert max(tile.layout.height, banks.layout.height) <= HEIGHT - TITLE
    assert labels(tile) == labels(banks) == [f"L{lane}" for lane in range(0, 32, 4)]
    assert tile.layout.xaxis.tickfont.size == tile.layout.legend.font.size == TYPE


def places(figure: go.Figure) -> list[tuple[float, float]]:
    """Return where lanes are written, and the cells that they belong to."""
    texts = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "text"]
    return [pair for trace in texts for pair in zip(trace.x, trace.customdata, strict=True)]


def test_lanes_wider_than_their_cells_stand_beside_them_where_that_is_free() -> None:
    (tile, banks), _beside = slides("columns")
    for figure in (tile, banks):
        assert {cell for _, cell in places(figure)} == {0}
        assert {x for x, _ in places(figure)} == {0.6}  # beyond the frame of the cell, also when moved before
        texts = figure.select_traces({"mode": "text"})
        assert {at for trace in texts for at in trace.textposition} == {"middle right"}
    (tile, _banks), _beside = slides("rows")
    assert all(x == cell for x, cell in places(tile))  # others are beside it


def test_low_pictures_stand_below_each_other() -> None:
    (tile, banks), beside = slides("rows")
    assert not beside
    assert tile.layout.width == banks.layout.width == WIDTH
    assert tile.layout.height + banks.layout.height + GAP + 2 * TITLE <= HEIGHT
    assert labels(tile) == labels(banks) == [f"L{lane}" for lane in range(0, 32, 2)]


def test_code_shows_the_lines_round_what_costs_something() -> None:
    (_bars, code), beside = slides("compiler")
    assert not beside
    assert code.layout.yaxis.range[1] > 0
    assert any("a_tile[ty,\N{NO-BREAK SPACE}k]" in text for text in code.data[2].text)
    assert min(trace.textfont.size for trace in code.data) >= 20


@pytest.mark.parametrize("name", ["sectors", "tiles"])
def test_names_at_an_axis_have_room_beside_it(name: str) -> None:
    ((figure,), _beside) = slides(name)
    longest = max(map(len, figure.layout.yaxis.ticktext))
    assert figure.layout.margin.l >= longest * TYPE * 0.56
