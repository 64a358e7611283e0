"""The access that is shown is found again: by its place, in another kernel by how it is written."""

from dataclasses import replace

import pytest
from helpers.made_kernels import SHORT

from smemviz.app.components.launches import request_view_of
from smemviz.app.state import LookState
from smemviz.engines import run
from smemviz.frontends.reading import parse_program, read_program
from smemviz.model.hardware.hardware import H200
from smemviz.model.playback import worst_request
from smemviz.paths import kernels_dir
from smemviz.recordings.places import access_of, place_of, site_at
from smemviz.wording.sentences import findings_of


def recorded(file, **constants):
    return run(read_program(kernels_dir() / f"{file}.py").with_constants(constants), engine="lockstep")


def shown(recording, launch, **query):
    row = request_view_of(recording, launch, H200, LookState.read(query)).row
    assert row is not None
    site = launch.sites[launch.requests.site[row]]
    return f"{site.op} {site.source}"


@pytest.fixture(scope="module")
def square():
    return recorded("square")


def test_without_a_conflict_the_padded_column_is_shown(square):
    launch = square["set_row_read_col_pad"]
    assert shown(square, launch) == "load tile[tx, ty]"
    row = worst_request(launch).row
    assert row is not None
    assert sorted(launch.requests.addresses[row] // 4 % 32) == list(range(32))


def test_a_pad_that_goes_and_comes_back_shows_one_access(square):
    launch = square["set_row_read_col_pad"]
    place = place_of(launch, site_of(launch, "tile[ty, tx]"))
    bare = recorded("square", IPAD=0)
    assert shown(bare, bare["set_row_read_col_pad"]) == "load tile[tx, ty]"
    assert shown(bare, bare["set_row_read_col_pad"], at=place) == "store tile[ty, tx]"
    assert shown(bare, bare["set_row_read_col_pad"], at="nowhere") == "load tile[tx, ty]"


def test_another_kernel_shows_the_access_that_is_written_alike(square):
    launch, other = square["set_row_read_row"], square["set_row_read_col"]
    load = site_of(launch, "tile[ty, tx]", "load")
    assert other.sites[site_at(square, other, place_of(launch, load)) or 0].source == "tile[tx, ty]"  # the same array
    store = site_of(launch, "tile[ty, tx]", "store")
    found = other.sites[site_at(square, other, place_of(launch, store)) or 0]
    assert (found.op, found.source) == ("store", "tile[ty, tx]")
    assert site_at(square, other, "1:0") is None


def test_a_function_that_is_reached_twice_has_two_places():
    recording = recorded("reduce")
    for launch in recording.launches:
        places = [place_of(launch, i) for i in range(len(launch.sites))]
        assert [site_at(recording, launch, place) for place in places] == list(range(len(places)))


def test_a_kernel_with_a_mistake_shows_where_it_was_met():
    recording = recorded("mistakes")
    launch = recording["no_second_barrier"]
    first = findings_of(recording, launch)[0]
    assert first.message.startswith("b_tile[0, 0] is loaded by thread (0, 2, 0)")
    assert access_of(recording, launch, first) == (site_of(launch, "b_tile[ty, tx]", "store"), 0, 0)
    assert shown(recording, launch) == "store b_tile[ty, tx]"
    other = recording["block_smaller_than_tile"]
    place = place_of(other, site_of(other, "a_tile[ty, tx]", "store"))
    assert shown(recording, launch, at=place) == "store b_tile[ty, tx]"  # the mistake before what is merely alike
    barrier = recording["barrier_in_a_branch"]
    assert access_of(recording, barrier, findings_of(recording, barrier)[0]) is None


def test_of_two_accesses_to_an_array_in_a_line_that_with_the_mistake_is_shown():
    for index, element in [("i - 1", "a[-1]"), ("i + 32", "a[32]")]:
        recording = run(parse_program(SHORT.replace("= a[i]", f"= a[i] + a[{index}]"), "short.py"), engine="lockstep")
        launch = recording["strided"]
        (finding,) = recording.findings

        assert finding.message.startswith(element)
        assert access_of(recording, launch, finding) == (site_of(launch, f"a[{index}]"), 0, 0)
        old = replace(finding, facts={})
        assert access_of(recording, launch, old) == (site_of(launch, "a[i]"), 0, 0)


def site_of(launch, source, op=""):
    return next(i for i, site in enumerate(launch.sites) if site.source == source and site.op.startswith(op))
