"""Addresses relative to the arrays of a launch."""

import numpy as np
from helpers import launches

from smemviz.model.layout.array_requests import relative_addresses

LANE = np.arange(32)


def test_each_lane_gets_its_array_and_its_offset():
    sites = (launches.site("b", "shared", "load"), launches.site("g", "global", "load"))
    arrays = (
        launches.array("a", "shared", (32,), 1024),
        launches.array("b", "shared", (32,), 1152),
        launches.array("g", "global", (64,), 1100),
    )
    crossing = 1024 + LANE * 8
    launch = launches.launch(sites, [(0, crossing), (1, 1100 + LANE * 4)], arrays)

    index, offset = relative_addresses(launch)

    assert index.tolist() == [[0] * 16 + [1] * 16, [2] * 32]
    assert offset.tolist() == [[*range(0, 128, 8), *range(0, 128, 8)], list(range(0, 128, 4))]


def test_lanes_off_and_lanes_outside_every_array_have_none():
    arrays = (launches.array("a", "shared", (8,), 0),)
    launch = launches.launch((launches.site("a", "shared", "load"),), [(0, np.where(LANE == 3, -1, LANE * 4))], arrays)

    index, offset = relative_addresses(launch)

    assert index[0].tolist() == [0, 0, 0, -1, 0, 0, 0, 0] + [-1] * 24
    assert offset[0].tolist() == [0, 4, 8, -1, 16, 20, 24, 28] + [-1] * 24


def test_overlapping_views_go_to_the_one_the_site_names_then_to_the_first():
    arrays = tuple(launches.array(name, "shared", (32,), 1024) for name in ("x", "y"))
    sites = tuple(launches.site(name, "shared", "load") for name in ("x", "y", "parameter"))
    launch = launches.launch(sites, [(s, 1024 + LANE * 4) for s in range(3)], arrays)

    assert relative_addresses(launch)[0][:, 0].tolist() == [0, 1, 0]


def test_negative_strides_and_empty_arrays():
    arrays = (
        launches.array("none", "global", (0,), 4096),
        launches.array("backwards", "global", (32,), 4096 + 124, (-4,)),
    )
    launch = launches.launch((launches.site("none", "global", "load"),), [(0, 4096 + LANE * 4)], arrays)

    index, offset = relative_addresses(launch)

    assert index[0].tolist() == [1] * 32
    assert offset[0].tolist() == list(range(-124, 4, 4))


def test_a_launch_without_requests():
    index, offset = relative_addresses(launches.launch((launches.site("a", "shared", "load"),), []))
    assert index.shape == offset.shape == (0, 32)
