"""Which launch and which request of it is exported, and as a trace."""

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from smemviz.errors import InputError
from smemviz.model.hardware.hardware import H200
from smemviz.recordings.data import Requests
from smemviz.recordings.file import load
from smemviz.reports.files import write_trace
from smemviz.reports.selection import Choice, choose, every_launch, launches


def place(recording, choice, space=None):
    launch, now = choose(recording, choice, space=space)
    row = now.row
    assert row is not None
    requests = launch.requests
    site = launch.sites[requests.site[row]]
    return launch.kernel, site.line, *(int(getattr(requests, n)[row]) for n in ("block", "warp", "step")), site.source


def test_the_first_request_that_wastes_the_most_is_shown_of_what_is_named(square):
    column, store = ("set_row_read_col", 53, 0, 0, 1, "tile[tx, ty]"), ("set_row_read_col", 53, 0, 0, 2, "out[idx]")
    named = Choice(kernel="set_row_read_row", warp=7, step=0)
    for choice, space, wanted in [
        (Choice(), None, ("set_col_read_col", 38, 0, 0, 0, "tile[tx, ty]")),  # 31 of 32 wavefronts, as all of it
        (Choice(line=53), None, column),
        (Choice(line=53, column=4), None, store),
        (Choice(line=53), "global", store),
        (named, None, ("set_row_read_row", 25, 0, 7, 0, "tile[ty, tx]")),
    ]:
        assert place(square, choice, space) == wanted


def test_a_name_that_is_nothing_is_refused_with_what_there_is(square):
    for choice, said in [
        (Choice(kernel="nothing"), "no launch of 'nothing'; it has: set_row_read_row"),
        (Choice(launch=0), "--launch counts the launches of one kernel; name it with --kernel"),
        (Choice(kernel="set_row_read_row", launch=1), "set_row_read_row has launches 0 to 0, not 1"),
        (Choice(line=1), r"no access begins at 1; accesses are in lines 25, 27, 38, 40, 51, 53"),
        (Choice(line=53, column=1), "no access begins at 53:1"),
        (Choice(line=53, block=3), "set_row_read_col: block 3 is not in the log; it has 0"),
        (Choice(line=53, warp=32), "no such request in warp 32; there are 0, 1, 2"),
        (Choice(line=53, step=0), "no such request in step 0; there are 1"),
    ]:
        with pytest.raises(InputError, match=said):
            choose(square, choice, space="shared")


def test_launches_that_are_alike_are_drawn_once_and_all_exported_as_data(square):
    one = replace(square["set_row_read_col"], time=None, hardware=(), counters={})
    looped = replace(square, launches=(one, replace(one), replace(one)))
    assert [number for _, number in launches(looped, Choice())] == [0]
    assert [number for number, _ in every_launch(looped, Choice())] == [0, 1, 2]
    assert [number for number, _ in every_launch(looped, Choice(kernel=one.kernel, launch=2))] == [2]


def test_a_launch_without_logged_requests_has_no_request_to_choose(square):
    bare = replace(square["set_row_read_col"], requests=Requests.empty())
    launch, now = choose(replace(square, launches=(bare,)), Choice())
    assert launch is bare
    assert now.row is None
    assert np.array_equal(now.rows, [])


def trace(path, recording, choice):
    write_trace(path, recording, choice, H200)
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def test_every_warp_has_a_track_and_every_request_is_as_long_as_its_wavefronts(square, tmp_path):
    found = trace(tmp_path / "trace.json", square, Choice(kernel="set_row_read_col"))["traceEvents"]
    assert Counter(event["ph"] for event in found) == {"X": 96, "C": 2 * 97, "M": 2 + 2 * 32, "i": 1}
    assert {e["args"]["name"] for e in found if e["name"] == "thread_name"} == {f"warp {warp}" for warp in range(32)}
    assert [e["args"]["name"] for e in found if e["name"] == "process_name"] == ["set_row_read_col, block 0"]
    loads = [e for e in found if e["name"] == "load tile[tx, ty]"]
    assert {(e["dur"], e["args"]["wavefronts"], e["args"]["excess"], e["args"]["line"]) for e in loads} == {
        (32, 32, 31, 53)
    }
    stores = [e for e in found if e["name"] == "store out[idx]"]
    assert {(e["dur"], e["cat"], e["args"]["sectors"]) for e in stores} == {(1, "global", 4)}


def test_requests_follow_one_another_and_the_counters_fill_the_time(square, tmp_path):
    found = trace(tmp_path / "trace.json", square, Choice(kernel="set_row_read_col"))["traceEvents"]
    end = 0
    for event in (e for e in found if e["ph"] == "X"):
        assert event["ts"] == end
        end += event["dur"]
    assert end == 32 + 32 * 32 + 32  # stores, loads, and the stores to global memory, a place each
    counted = [e for e in found if e["ph"] == "C" and e["name"] == "wavefronts"]
    assert sum((b["ts"] - a["ts"]) * (sum(a["args"].values()) > 0) for a, b in pairwise(counted)) == 32 + 32 * 32
    assert counted[-1] == {
        "name": "wavefronts", "ph": "C", "pid": 1, "ts": end, "args": {"ideal": 0, "excess": 0}
    }  # fmt: skip
    (barrier,) = (e for e in found if e["name"] == "barrier")
    assert barrier["ts"] == 32  # between store and load


def test_every_logged_block_is_a_process_and_one_can_be_chosen(square_file, tmp_path):
    transposed = load(square_file.with_name("transpose.smem.npz"))
    whole = trace(tmp_path / "a.json", transposed, Choice(kernel="tile"))["traceEvents"]
    assert {e["pid"] for e in whole} == {1, 2, 3, 4, 5, 6}
    one = trace(tmp_path / "b.json", transposed, Choice(kernel="tile", block=4))["traceEvents"]
    assert [e["args"]["name"] for e in one if e["name"] == "process_name"] == ["tile, block 4"]
    with pytest.raises(InputError, match="block 6 is not in the log of any of these launches"):
        trace(tmp_path / "c.json", transposed, Choice(kernel="tile", block=6))


def test_the_trace_says_where_it_comes_from(square, tmp_path):
    facts = trace(tmp_path / "trace.json", square, Choice())["otherData"]
    assert facts["file"] == "kernels/square.py"
    assert facts["requests"].startswith("recorded on NVIDIA H200")
    assert json.loads(facts["constants"])["IPAD"] == 1
    assert facts["missing"] == ""


def test_every_event_has_what_the_importers_of_the_format_ask_for(square_file, tmp_path):
    """The "Trace Event Format" wants numbers for pid, tid, ts and dur, names in metadata, and counters of numbers."""
    recording = load(square_file.with_name("transpose.smem.npz"))
    found = trace(tmp_path / "trace.json", recording, Choice())
    assert isinstance(found["traceEvents"], list)
    assert found["displayTimeUnit"] in ("ms", "ns")
    named = set()
    for event in found["traceEvents"]:
        assert isinstance(event["name"], str)
        assert type(event["pid"]) is int
        match event["ph"]:
            case "M":
                assert event["name"] in ("process_name", "process_sort_index", "thread_name", "thread_sort_index")
                (value,) = event["args"].values()
                assert type(value) is (str if event["name"].endswith("_name") else int)
                named.add((event["pid"], event["tid"]))
            case "X":
                assert event["ts"] >= 0
                assert event["dur"] > 0
                assert [type(event[key]) for key in ("tid", "ts", "dur")] == [int, int, int]
                assert (event["pid"], event["tid"]) in named
                assert all(type(value) is int for value in event["args"].values())
            case "C":
                assert type(event["ts"]) is int
                assert event["args"]
                assert all(type(value) is int for value in event["args"].values())
            case "i":
                assert event["s"] == "p"
                assert type(event["ts"]) is int
            case other:
                pytest.fail(f"no such kind of event: {other}")
