"""What a compiler may leave out or merge, done to small logs."""

import numpy as np
from helpers import launches

from smemviz.measure.ncu.compiler import Stream, avoidable, merge, unrolled
from smemviz.recordings.data import Launch, Requests

LANE = np.arange(32)
LOAD, STORE, OTHER = (
    launches.site("tile", "shared", "load"),
    launches.site("tile", "shared", "store"),
    launches.site("other", "shared", "store"),
)


def log(*rows):
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


OWN, OTHERS = 4 * LANE, 4 * (31 - LANE)  # what each lane accesses, and what another one does
UPDATE, OUT = launches.site("tile", "shared", "atomic_add", dtype="int32"), launches.site("out", "global", "store")
NO = ""


def test_what_a_compiler_may_leave_out():
    for rows, why in [
        # A load of what the thread stored may come from a register; not what another lane stored, nor after a barrier.
        ([(STORE, OWN, 0), (LOAD, OWN, 0)], ["unread", "stored"]),
        ([(STORE, OWN, 0), (LOAD, OTHERS, 0)], [NO, NO]),
        ([(STORE, OWN, 0), (LOAD, OWN, 1)], [NO, NO]),
        # One lane with another address is enough to need the load.
        ([(STORE, OWN, 0), (LOAD, np.where(LANE == 7, 4 * 40, OWN), 0)], [NO, NO]),
        ([(LOAD, OWN, 0)] * 3, [NO, "loaded", "loaded"]),
        ([(LOAD, OWN, 0), (UPDATE, OWN, 0), (LOAD, OWN, 0)], [NO, NO, NO]),
        ([(STORE, OWN, 0), (STORE, OWN, 0), (LOAD, OTHERS, 1)], ["overwritten", NO, NO]),
        # tile[tx] = 1; tile[tx] += 1
        (
            [(STORE, OWN, 0), (LOAD, OWN, 0), (STORE, OWN, 0), (LOAD, OTHERS, 1)],
            ["overwritten", "stored", NO, NO],
        ),
        ([(OTHER, 4096 + OWN, 0), (STORE, OWN, 0), (LOAD, OTHERS, 1)], ["unread", NO, NO]),
        ([(OUT, OWN, 0)], [NO]),  # stores to global memory are for others to see
        ([(LOAD, np.full(32, -1), 0)], [NO]),
    ]:
        found = avoidable(log(*rows))
        for reason in ("stored", "loaded", "overwritten", "unread"):
            assert getattr(found, reason).tolist() == [one == reason for one in why], reason
        assert found.any.tolist() == [one != NO for one in why]


def stream(*addresses, width=4):
    """Make a stream of one warp."""
    return Stream(np.array(addresses, np.int64), np.zeros(len(addresses), np.int64), width)


def widths(parts):
    """Return the number of requests of each width."""
    return {part.width: len(part.era) for part in parts}


def test_four_words_of_an_aligned_piece_become_one_request_of_16_bytes():
    parts = list(merge(stream(*(64 * LANE + 4 * k for k in range(4))), 16))
    assert widths(parts) == {16: 1}
    assert parts[0].addresses.tolist() == [(64 * LANE).tolist()]


def words(*numbers, row=64):
    """Return requests for words of a row of so many bytes, a row a lane."""
    return [row * LANE + 4 * number for number in numbers]


def test_what_becomes_one_wide_request():
    for addresses, wide, found in [
        (words(3, 1, 0, 2), 16, {16: 1}),
        (words(1, 2, 3, 4), 16, {8: 1, 4: 2}),  # two of them fill 8 bytes, the first and the last stay alone
        (words(0, 1, 2, 3, row=68), 16, {4: 4}),  # each lane is aligned differently
        (words(0, 1, 0, 1), 8, {8: 2}),
        ([64 * LANE, np.where(LANE < 16, 64 * LANE + 4, -1)], 8, {4: 2}),  # other lanes are on
    ]:
        assert widths(list(merge(stream(*addresses), wide))) == found


def test_a_barrier_between_keeps_requests_apart():
    apart = Stream(np.array([64 * LANE, 64 * LANE + 4], np.int64), np.array([0, 1]), 4)
    assert widths(list(merge(apart, 8))) == {4: 2}


def test_a_complex_number_is_two_floats():
    halves = stream(np.where(LANE < 2, 8 * LANE, -1), width=8).halves()
    assert halves.width == 4
    assert halves.addresses[:, :3].tolist() == [[0, 8, -1], [4, 12, -1]]


def test_an_unrolled_loop_is_gone_through_by_other_lanes_together():
    """Eight lanes each make one, two, three and four rounds, as in a kernel on an H200."""
    rounds = np.repeat([1, 2, 3, 4], 8)
    rows = np.array([np.where(rounds > turn, 100 * turn + 4 * LANE, -1) for turn in range(4)])
    loop = Stream(rows, np.zeros(4, np.int64), 4)

    def lanes(times, peeled, rest_first):
        return (unrolled(loop, times, peeled, rest_first).addresses >= 0).sum(axis=1).tolist()

    assert lanes(4, 0, True) == [24, 16, 8, 8, 8, 8, 8]
    assert lanes(2, 1, True) == lanes(2, 1, False) == [32, 16, 16, 16]
    last = unrolled(loop, 2, 1, False)
    assert last.addresses[1:, 8].tolist() == [-1, -1, 100 + 32]  # the one round that is left of a lane's two
    assert sorted(last.addresses[last.addresses >= 0].tolist()) == sorted(rows[rows >= 0].tolist())


def test_loops_that_follow_each_other_are_unrolled_one_by_one():
    on = LANE < 16
    rows = np.array([np.where(on, 4 * LANE, -1), 4 * LANE, np.where(on, 4 * LANE, -1)])
    found = unrolled(Stream(rows, np.zeros(3, np.int64), 4), 2, 0, True)
    assert (found.addresses >= 0).sum(axis=1).tolist() == [16, 16, 16, 16]
