"""Figures of a launch, asked for from Python."""

import plotly.graph_objects as go
import pytest
from helpers.gallery import h200

from smemviz.errors import InputError
from smemviz.reports.pictures import picture
from smemviz.reports.selection import Choice


@pytest.fixture(scope="module")
def launch():
    return h200("square")["set_row_read_col"]


def test_a_figure_is_the_one_that_is_exported(launch):
    for name in ["tile", "banks", "warps", "sectors", "timeline", "degrees"]:
        drawn = launch.figure(name)
        assert isinstance(drawn, go.Figure)
        exported = picture(h200("square"), name, Choice(kernel="set_row_read_col")).figure
        assert drawn.to_json() == exported.to_json()


def test_a_request_and_a_look_can_be_named(launch):
    recording = h200("square")
    drawn = launch.figure("tile", line=51, warp=3, view="physical", theme="dark", banks=16)
    choice = Choice(kernel="set_row_read_col", line=51, warp=3)
    same = picture(recording, "tile", choice, view="physical", drawn_banks=16, theme="dark").figure
    assert drawn.to_json() == same.to_json()


def test_what_there_is_not_is_told_in_a_line(launch):
    for asked, says in [
        ({"name": "tiles"}, "no figure is called 'tiles'; there are tile, banks, warps, sectors, timeline, degrees"),
        ({"name": "source"}, "the figure source needs the recording: smemviz export RECORDING --figure source"),
        ({"name": "degrees", "line": 51}, "the figure degrees has no line; it has none"),
        ({"line": 3}, "set_row_read_col: no access begins in line 3; accesses are in lines 51, 53"),
        ({"column": 4}, "column 4: name its line too"),
        ({"view": "side"}, "view 'side': the figure tile has declared, physical"),
        ({"array": "b"}, "set_row_read_col has no shared array 'b'; it has tile"),
        ({"block": 7}, "set_row_read_col: block 7 is not in the log; it has 0"),
    ]:
        with pytest.raises(InputError) as told:
            launch.figure(**asked)  # type: ignore[arg-type]
        assert str(told.value) == says
