"""Pictures on a slide: type is large, labels touch no other, code keeps the lines that cost something."""

import pytest
from helpers.tiers import one_in

from smemviz.figures.drawing.projected import GAP, HEIGHT, TITLE, TYPE, WIDTH, slide
from smemviz.lessons.course import lesson_of


def slides(name):
    lesson = lesson_of(name)
    return slide([panel.figure for panel in lesson.stage(lesson.values({})).panels("light")])


def labels(figure):
    texts = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "text" and trace.visible]
    return [text for trace in texts for text in trace.text]


def test_high_pictures_stand_side_by_side_and_name_no_lane_whose_cell_is_too_small():
    (tile, banks), beside = slides("columns")
    assert beside
    assert tile.layout.width + GAP + banks.layout.width == WIDTH
    assert max(tile.layout.height, banks.layout.height) <= HEIGHT - TITLE
    assert labels(tile) == labels(banks) == []
    assert tile.layout.xaxis.tickfont.size == tile.layout.legend.font.size == TYPE


@pytest.mark.parametrize("name", ["reduction"])
def test_the_lanes_of_a_question_are_named_in_low_rows_and_in_rows_whose_numbers_lie_apart(name):
    lesson = lesson_of(name)
    (asked,), _beside = slide([lesson.stage(lesson.values({})).before("light").figure])
    assert set(labels(asked)) == {f"L{lane}" for lane in range(32)}


def test_low_pictures_stand_below_each_other():
    (tile, banks), beside = slides("rows")
    assert not beside
    assert tile.layout.width == banks.layout.width == WIDTH
    assert tile.layout.height + banks.layout.height + GAP + 2 * TITLE <= HEIGHT
    assert labels(tile) == labels(banks) == [f"L{lane}" for lane in range(32)]  # each in its own cell
    for figure in (tile, banks):
        (lanes,) = (trace for trace in figure.select_traces({"mode": "text"}) if len(trace.text))
        assert list(lanes.x) == list(range(32))
        assert lanes.textfont.size >= 12


def test_code_shows_the_lines_round_what_costs_something():
    (_bars, code), beside = slides("compiler")
    assert not beside
    assert code.layout.yaxis.range[1] > 0
    assert any("a_tile[ty,\N{NO-BREAK SPACE}k]" in text for text in code.data[2].text)
    assert min(trace.textfont.size for trace in code.data) >= 20


@pytest.mark.parametrize("name", one_in(2, ["sectors", "tiles"]))
def test_names_at_an_axis_have_room_beside_it(name):
    ((figure,), _beside) = slides(name)
    longest = max(map(len, figure.layout.yaxis.ticktext))
    assert figure.layout.margin.l >= longest * TYPE * 0.56
