from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from smemviz.errors import InputError
from smemviz.recordings.data import Requests
from smemviz.recordings.recording import Recording
from smemviz.reports.selection import Choice, choose, every_launch, launches


def place(recording: Recording, choice: Choice, space: str | None = None) -> tuple[str, int, int, int, int]:
    """Return kernel, line, block, warp and step of what is chosen."""
    launch, now = choose(recording, choice, space=space)
    row = now.row
    assert row is not None
    requests = launch.requests
    line = launch.sites[requests.site[row]].line
    return launch.kernel, line, int(requests.block[row]), int(requests.warp[row]), int(requests.step[row])


def test_without_a_name_it_is_the_first_request_that_wastes_the_most(square: Recording) -> None:
    assert place(square, Choice()) == ("set_col_read_col", 38, 0, 0, 0)  # 31 of 32 wavefronts, as all others of it


def test_a_line_names_the_launch_and_the_access_that_wastes_the_most(square: Recording) -> None:
    assert place(square, Choice(line=53)) == ("set_row_read_col", 53, 0, 0, 1)
    launch, now = choose(square, Choice(line=53))
    assert launch.sites[launch.requests.site[now.row]].source == "tile[tx, ty]"


def test_a_column_tells_the_accesses_of_a_line_apart(square: Recording) -> None:
    launch, now = choose(square, Choice(line=53, column=4))
    assert launch.sites[launch.requests.site[now.row]].source == "out[idx]"


def test_memory_of_one_kind_is_preferred_where_the_names_leave_a_choice(square: Recording) -> None:
    launch, now = choose(square, Choice(line=53), space="global")
    assert launch.sites[launch.requests.site[now.row]].space == "global"


def test_warp_and_step_name_a_request(square: Recording) -> None:
    assert place(square, Choice(kernel="set_row_read_row", warp=7, step=0)) == ("set_row_read_row", 25, 0, 7, 0)


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (Choice(kernel="nothing"), "no launch of 'nothing'; it has: set_row_read_row"),
        (Choice(launch=0), "--launch counts the launches of one kernel; name it with --kernel"),
        (Choice(kernel="set_row_read_row", launch=1), "set_row_read_row has launches 0 to 0, not 1"),
        (Choice(line=1), r"no access begins at 1; accesses are in lines 25, 27, 38, 40, 51, 53"),
        (Choice(line=53, column=1), "no access begins at 53:1"),
        (Choice(line=53, block=3), "set_row_read_col: block 3 is not in the log; it has 0"),
        (Choice(line=53, warp=32), "no such request in warp 32; there are 0, 1, 2"),
        (Choice(line=53, step=0), "no such request in step 0; there are 1"),
    ],
)
def test_a_name_that_is_nothing_is_refused_with_what_there_is(square: Recording, choice: Choice, said: str) -> None:
    with pytest.raises(InputError, match=said):
        choose(square, choice, space="shared")


def test_launches_that_are_alike_are_drawn_once_and_all_exported_as_data(square: Recording) -> None:
    one = replace(square["set_row_read_col"], time=None, hardware=(), counters={})
    looped = replace(square, launches=(one, replace(one), replace(one)))
    assert [number for _, number in launches(looped, Choice())] == [0]
    assert [number for number, _ in every_launch(looped, Choice())] == [0, 1, 2]
    assert [number for number, _ in every_launch(looped, Choice(kernel=one.kernel, launch=2))] == [2]


def test_a_launch_without_logged_requests_has_no_request_to_choose(square: Recording) -> None:
    bare = replace(square["set_row_read_col"], requests=Requests.empty())
    launch, now = choose(replace(square, launches=(bare,)), Choice())
    assert launch is bare
    assert now.row is None
    assert np.array_equal(now.rows, [])
