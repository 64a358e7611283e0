from dataclasses import replace

import numpy as np
from helpers.synthetic import requests, square_recording

from smemviz.model.counting.costs import excess_at
from smemviz.model.hardware.hardware import H200
from smemviz.model.playback import (
    blocks,
    contents,
    element_addresses,
    playback_order,
    request_view,
    worst_request,
)

LAUNCH = square_recording()["set_row_read_col"]


def test_playback_puts_every_store_before_the_barrier_ahead_of_every_load_after_it():
    rows = playback_order(LAUNCH, 0)
    assert LAUNCH.requests.site[rows].tolist() == [0] * 32 + [1] * 32 + [2] * 32
    assert LAUNCH.requests.warp[rows].tolist() == list(range(32)) * 3


def test_a_warp_that_passed_more_barriers_comes_later_though_its_step_is_lower():
    lanes = [np.full(32, 1024)] * 3
    off = [np.full(32, np.nan)] * 3
    launch = replace(LAUNCH, requests=requests([(0, 0, 0, 1), (0, 1, 0, 0), (0, 1, 1, 0)], lanes, off))
    rows = playback_order(launch, 0)
    assert launch.requests.warp[rows].tolist() == [1, 1, 0]


def test_the_worst_of_float_atomics_in_global_memory_moves_the_most_sectors():
    """What they ask for are sectors, as of a load; in shared memory they are a loop, of which no addresses tell."""
    site = replace(LAUNCH.sites[2], op="atomic_add", dtype="float32", width=4)
    assert site.space == "global"
    lanes = [4 * stride * np.arange(32) for stride in (1, 8)]
    off = [np.full(32, np.nan)] * 2
    launch = replace(
        LAUNCH, requests=requests([(2, 0, 0, 0), (2, 0, 1, 0)], lanes, off), sites=(*LAUNCH.sites[:2], site)
    )
    assert excess_at(site, launch.requests.addresses).tolist() == [0, 28]
    assert worst_request(launch, H200, site=2).row == 1
    assert excess_at(replace(site, space="shared"), launch.requests.addresses).tolist() == [-1, -1]


def test_a_request_is_found_by_what_still_exists_of_its_address():
    for asked, warp, step in [
        ({"warp": 5, "step": 1, "site": 1}, 5, 1),
        ({"warp": 5, "site": 1}, 5, 1),
        ({"site": 2}, 0, 2),
        ({"warp": 99, "step": 7, "site": 1}, 0, 1),
        ({"site": 42}, 0, 0),
        ({"block": 9}, 0, 0),
    ]:
        now = request_view(LAUNCH, **asked)
        assert now.row is not None
        assert (LAUNCH.requests.warp[now.row], LAUNCH.requests.step[now.row]) == (warp, step)


def test_the_tile_fills_warp_by_warp():
    array = LAUNCH.shared_arrays[0]
    held = contents(request_view(LAUNCH, warp=2, step=0), array)
    assert held.values[:96].tolist() == list(range(96))
    assert np.isnan(held.values[96:]).all()
    assert held.threads[95] == 95
    assert held.threads[96] == -1


def test_after_the_barrier_the_whole_tile_is_filled():
    held = contents(request_view(LAUNCH, warp=0, step=1), LAUNCH.shared_arrays[0])
    assert held.values.tolist() == list(range(1024))


def test_elements_of_any_rank_have_addresses_in_row_major_order():
    array = replace(LAUNCH.shared_arrays[0], shape=(2, 3, 4), strides=(64, 16, 4), address=256)
    assert element_addresses(array).tolist() == [
        256 + 64 * i + 16 * j + 4 * k for i in (0, 1) for j in (0, 1, 2) for k in range(4)
    ]


def test_a_launch_without_a_log_has_no_present_request():
    launch = replace(LAUNCH, requests=LAUNCH.requests.select(np.zeros(0, np.intp)))
    assert blocks(launch) == []
    assert request_view(launch).row is None
