"""What a compiler may leave out or merge, done to small logs."""

from __future__ import annotations

import numpy as np
from helpers import launches
from numpy.typing import NDArray

from smemviz.measure.ncu.compiler import Stream, avoidable, merge, unrolled
from smemviz.recordings.data import Launch, Requests, Site

LANE = np.arange(32)
LOAD, STORE, OTHER = (
    launches.site("tile", "shared", "load"),
    launches.site("tile", "shared", "store"),
    launches.site("other", "shared", "store"),
)


def log(*rows: tuple[Site, NDArray[np.int64], int]) -> Launch:
    """Make a launch of one warp that makes these requests: site, addresses, barriers passed."""
    sites = tuple(dict.fromkeys(site for site, _, _ in rows))
    n = len(rows)
    requests = Requests(
        addresses=np.array([addresses for _, addresses, _ in rows], np.int64),
        site=np.array([sites.index(site) for site, _, _ in rows], np.int32),
        block=np.zeros(n, np.int64),
        warp=np.zeros(n, np.int32),
        step=np.arange(n, dtype=np.int32),
        epoch=np.array([epoch for _, _, epoch in rows], np.int32),
        values=np.full((n, 32), np.nan),
    )
    return Launch("kernel", 1, (1, 1, 1), (32, 1, 1), 0, 0, sites, (), requests)


def test_a_load_of_what_the_thread_stored_may_come_from_a_register() -> None:
    found = avoidable(log((STORE, 4 * LANE, 0), (LOAD, 4 * LANE, 0)))
    assert found.stored.tolist() == [False, True]
    assert not found.loaded.any()


def test_a_load_of_what_another_lane_stored_may_not() -> None:
    assert not avoidable(log((STORE, 4 * LANE, 0), (LOAD, 4 * (31 - LANE), 0))).any.any()


def test_a_load_after_a_barrier_may_not() -> None:
    assert not avoidable(log((STORE, 4 * LANE, 0), (LOAD, 4 * LANE, 1))).any.any()


def test_one_lane_with_another_address_is_enough_to_need_the_load() -> None:
    moved = np.where(LANE == 7, 4 * 40, 4 * LANE)
    assert not avoidable(log((STORE, 4 * LANE, 0), (LOAD, moved, 0))).any.any()


def test_a_load_that_is_repeated_is_needed_once() -> None:
    found = avoidable(log(*[(LOAD, 4 * LANE, 0)] * 3))
    assert found.loaded.tolist() == [False, True, True]


def test_an_atomic_between_makes_the_load_necessary() -> None:
    update = launches.site("tile", "shared", "atomic_add", dtype="int32")
    assert not avoidable(log((LOAD, 4 * LANE, 0), (update, 4 * LANE, 0), (LOAD, 4 * LANE, 0))).any.any()


def test_a_store_that_is_overwritten_may_be_left_out_and_the_last_may_not() -> None:
    found = avoidable(log((STORE, 4 * LANE, 0), (STORE, 4 * LANE, 0), (LOAD, 4 * (31 - LANE), 1)))
    assert found.overwritten.tolist() == [True, False, False]


def test_a_store_that_is_loaded_from_a_register_only_is_overwritten_too() -> None:
    # tile[tx] = 1; tile[tx] += 1
    found = avoidable(log((STORE, 4 * LANE, 0), (LOAD, 4 * LANE, 0), (STORE, 4 * LANE, 0), (LOAD, 4 * (31 - LANE), 1)))
    assert found.any.tolist() == [True, True, False, False]


def test_stores_to_a_shared_array_that_nothing_loads_may_be_left_out() -> None:
    found = avoidable(log((OTHER, 4096 + 4 * LANE, 0), (STORE, 4 * LANE, 0), (LOAD, 4 * (31 - LANE), 1)))
    assert found.unread.tolist() == [True, False, False]


def test_stores_to_global_memory_are_for_others_to_see() -> None:
    out = launches.site("out", "global", "store")
    assert not avoidable(log((out, 4 * LANE, 0))).any.any()


def test_an_empty_log_has_nothing_to_leave_out() -> None:
    assert len(avoidable(log((LOAD, np.full(32, -1), 0))).any) == 1


def stream(*addresses: NDArray[np.int64], width: int = 4) -> Stream:
    """Make a stream of one warp."""
    return Stream(np.array(addresses, np.int64), np.zeros(len(addresses), np.int64), width)


def widths(parts: list[Stream]) -> dict[int, int]:
    """Return the number of requests of each width."""
    return {part.width: len(part.era) for part in parts}


def test_four_words_of_an_aligned_piece_become_one_request_of_16_bytes() -> None:
    parts = list(merge(stream(*(64 * LANE + 4 * k for k in range(4))), 16))
    assert widths(parts) == {16: 1}
    assert parts[0].addresses.tolist() == [(64 * LANE).tolist()]


def test_order_does_not_matter_but_alignment_does() -> None:
    assert widths(list(merge(stream(*(64 * LANE + 4 * k for k in (3, 1, 0, 2))), 16))) == {16: 1}
    # words 1 to 4: two of them fill 8 bytes, the first and the last stay alone
    assert widths(list(merge(stream(*(64 * LANE + 4 * k for k in (1, 2, 3, 4))), 16))) == {8: 1, 4: 2}


def test_rows_of_odd_length_do_not_merge_because_each_lane_is_aligned_differently() -> None:
    assert widths(list(merge(stream(*(68 * LANE + 4 * k for k in range(4))), 16))) == {4: 4}


def test_the_same_words_again_make_a_second_wide_request() -> None:
    assert widths(list(merge(stream(*(64 * LANE + 4 * k for k in (0, 1, 0, 1))), 8))) == {8: 2}


def test_requests_with_other_lanes_on_do_not_merge() -> None:
    half = np.where(LANE < 16, 64 * LANE + 4, -1)
    assert widths(list(merge(stream(64 * LANE, half), 8))) == {4: 2}


def test_a_barrier_between_keeps_requests_apart() -> None:
    apart = Stream(np.array([64 * LANE, 64 * LANE + 4], np.int64), np.array([0, 1]), 4)
    assert widths(list(merge(apart, 8))) == {4: 2}


def test_a_complex_number_is_two_floats() -> None:
    halves = stream(np.where(LANE < 2, 8 * LANE, -1), width=8).halves()
    assert halves.width == 4
    assert halves.addresses[:, :3].tolist() == [[0, 8, -1], [4, 12, -1]]


def test_an_unrolled_loop_is_gone_through_by_other_lanes_together() -> None:
    """Eight lanes each make one, two, three and four rounds, as in a kernel on an H200."""
    rounds = np.repeat([1, 2, 3, 4], 8)
    rows = np.array([np.where(rounds > turn, 100 * turn + 4 * LANE, -1) for turn in range(4)])
    loop = Stream(rows, np.zeros(4, np.int64), 4)

    def lanes(times: int, peeled: int, rest_first: bool) -> list[int]:
        return (unrolled(loop, times, peeled, rest_first).addresses >= 0).sum(axis=1).tolist()

    assert lanes(4, 0, True) == [24, 16, 8, 8, 8, 8, 8]
    assert lanes(2, 1, True) == lanes(2, 1, False) == [32, 16, 16, 16]
    last = unrolled(loop, 2, 1, False)
    assert last.addresses[1:, 8].tolist() == [-1, -1, 100 + 32]  # the one round that is left of a lane's two
    assert sorted(last.addresses[last.addresses >= 0].tolist()) == sorted(rows[rows >= 0].tolist())


def test_loops_that_follow_each_other_are_unrolled_one_by_one() -> None:
    on = LANE < 16
    rows = np.array([np.where(on, 4 * LANE, -1), 4 * LANE, np.where(on, 4 * LANE, -1)])
    found = unrolled(Stream(rows, np.zeros(3, np.int64), 4), 2, 0, True)
    assert (found.addresses >= 0).sum(axis=1).tolist() == [16, 16, 16, 16]
