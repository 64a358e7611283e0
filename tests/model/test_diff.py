"""Pairing the sites of two versions of a kernel, telling what became worse, and launches that asked for the same."""

from dataclasses import replace

import numpy as np
from helpers.made_kernels import TURN
from helpers.strategies import a_launch, totals

import smemviz
from smemviz.model.counting.diff import diff, duplicates, grew
from smemviz.recordings.data import Launch
from smemviz.recordings.measured import Timing


def run(folder, *changes, **constants):
    source = TURN
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    path = folder / "turn.py"
    path.write_text(source)
    return smemviz.run(path, constants, engine="lockstep")


def only(pairs):
    (pair,) = pairs
    return pair


def lines(pair):
    """Return the lines of each pair of sites."""
    assert pair.before
    assert pair.after
    return [
        (
            None if site.before is None else pair.before.sites[site.before].line,
            None if site.after is None else pair.after.sites[site.after].line,
        )
        for site in pair.sites
    ]


def test_a_recording_and_itself_differ_in_nothing(tmp_path):
    recording = run(tmp_path)
    pair = only(diff(recording, recording))
    assert lines(pair) == [(11, 11), (11, 11), (13, 13), (13, 13)]
    assert pair.totals[0] == pair.totals[1]
    assert pair.totals[0] == {
        "requests": 128,
        "wavefronts": 64,
        "ideal": 64,
        "excess": 0,
        "max_degree": 1,
        "sectors": 256,
    }
    assert pair.worse(0) == ()


def test_another_constant_changes_counts_at_the_same_sites(tmp_path):
    pair = only(diff(run(tmp_path), run(tmp_path, PITCH=32)))
    before, after = pair.sites[2].counts
    # a column of a tile 32 wide lies in one bank
    assert (before.wavefronts, after.wavefronts) == (32, 1024)
    assert (before.max_degree, after.max_degree) == (1, 32)
    assert [site.counts[0] == site.counts[1] for site in pair.sites] == [True, True, False, True]
    assert pair.worse(0) == ("wavefronts",)
    assert pair.worse(15.5) == ()  # 1,056 wavefronts are 15.5 times more than 64, and no more than that
    assert pair.worse(15.4) == ("wavefronts",)


def test_lines_that_moved_or_were_rewritten_are_followed(tmp_path):
    more = ("    cuda.syncthreads()\n", "    cuda.syncthreads()\n    # one\n    # two\n")
    above = ("PITCH = 33\n", "# a comment\nPITCH = 33\n")
    there = (11, 11, 13, 13)
    for changes, now in [
        ((more, above), (12, 12, 16, 16)),
        ([("out[y, x] = tile[x, y]", "out[x, y] = tile[y, x]")], there),
        ([("tile", "sheet")], there),  # another name
    ]:
        pair = only(diff(run(tmp_path), run(tmp_path, *changes)))
        assert lines(pair) == list(zip(there, now, strict=True))


def test_accesses_that_came_and_went_stand_in_their_place(tmp_path):
    added = ("    cuda.syncthreads()\n", "    cuda.syncthreads()\n    tile[y, x] += a[y, x]\n    cuda.syncthreads()\n")
    pair = only(diff(run(tmp_path), run(tmp_path, added)))
    assert lines(pair) == [(11, 11), (11, 11), (None, 13), (None, 13), (None, 13), (13, 15), (13, 15)]
    back = only(diff(run(tmp_path, added), run(tmp_path)))
    assert lines(back) == [(11, 11), (11, 11), (13, None), (13, None), (13, None), (15, 13), (15, 13)]
    assert pair.worse(0) == ("wavefronts", "sectors")
    assert back.worse(0) == ()


def test_launches_pair_by_kernel_and_number(tmp_path):
    twice = ("    turn[1, (32, 32)](a, a.copy())\n", "    turn[1, (32, 32)](a, a.copy())\n" * 2)
    other = ("def main", "@cuda.jit\ndef idle(a):\n    a[0] = 0\n\ndef main")
    called = ("a.copy())\n", "a.copy())\n    idle[1, 1](np.zeros(1))\n")
    pairs = diff(run(tmp_path, twice), run(tmp_path, other, called))
    assert [(pair.kernel, pair.number, bool(pair.before), bool(pair.after)) for pair in pairs] == [
        ("turn", 0, True, True),
        ("idle", 0, False, True),
        ("turn", 1, True, False),
    ]
    assert [pair.worse(0) for pair in pairs] == [(), (), ()]  # what is in one only cannot be worse


def test_one_launch_of_each_is_a_pair_under_any_name(tmp_path):
    pair = only(diff(run(tmp_path), run(tmp_path, ("turn", "transpose"))))
    assert (pair.kernel, lines(pair)) == ("transpose", [(11, 11), (11, 11), (13, 13), (13, 13)])


def timed(recording, low, median, high):
    time = Timing(median, low, high, low, high, 0.5, 10, 1000, (), False, "2026-01-31T12:00:00+00:00", {})
    launches: tuple[Launch, ...] = tuple(replace(launch, time=time) for launch in recording.launches)
    return replace(recording, launches=launches)


def test_a_time_is_worse_only_beyond_its_noise_and_where_both_have_one(tmp_path):
    recording = run(tmp_path)
    for after, tolerance, worse in [
        ((1.9, 2.0, 2.1), 0.0, ("time",)),
        ((1.9, 2.0, 2.1), 1.0, ()),  # twice the time is 100 % more, not more than that
        ((1.04, 1.2, 1.3), 0.0, ()),  # the intervals overlap
        ((0.8, 0.9, 0.95), 0.0, ()),
    ]:
        pair = only(diff(timed(recording, 0.95, 1.0, 1.05), timed(recording, *after)))
        assert pair.times == (1.0, after[1])
        assert pair.worse(tolerance) == worse
    pair = only(diff(recording, timed(recording, 1.9, 2.0, 2.1)))
    assert (pair.times, pair.worse(0)) == (None, ())


def test_nothing_is_what_any_cost_outgrows():
    assert grew(0, 1, 9.0)
    assert not grew(0, 0, 0.0)
    assert not grew(100, 110, 0.1)
    assert grew(100, 111, 0.1)


def test_launches_of_a_loop_are_one_group_whatever_they_stored_and_others_or_measured_ones_stand_alone():
    launch = a_launch()
    alike = replace(launch, requests=replace(launch.requests, values=np.zeros((96, 32))))
    moved = replace(launch.requests, addresses=launch.requests.addresses + 4)
    time = Timing(1.0, 0.9, 1.1, 0.9, 1.1, 0.5, 10, 1000, (), False, "2026-01-31T12:00:00+00:00", {})
    others = [
        replace(launch, kernel="other"),
        replace(launch, file="other.py"),
        replace(launch, grid=(2, 1, 1)),
        replace(launch, dynamic_shared=64),
        replace(launch, requests=moved),
        replace(launch, totals=totals(launch)),
        *[replace(launch, time=time)] * 2,
    ]
    assert duplicates((launch, *others, alike, launch)) == ((0, 9, 10), *((n,) for n in range(1, 9)))
    assert duplicates(()) == ()
