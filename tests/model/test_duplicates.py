"""Launches that asked for the same."""

from dataclasses import replace

import numpy as np
from helpers.strategies import a_launch, totals

from smemviz.model.counting.diff import duplicates
from smemviz.recordings.data import Timing


def test_launches_of_a_loop_are_one_group_whatever_they_stored() -> None:
    launch = a_launch()
    other = replace(launch, requests=replace(launch.requests, values=np.zeros((96, 32))))
    assert duplicates((launch, other, launch)) == ((0, 1, 2),)


def test_another_kernel_size_address_or_total_is_another_group() -> None:
    launch = a_launch()
    moved = replace(launch.requests, addresses=launch.requests.addresses + 4)
    others = [
        replace(launch, kernel="other"),
        replace(launch, file="other.py"),
        replace(launch, grid=(2, 1, 1)),
        replace(launch, dynamic_shared=64),
        replace(launch, requests=moved),
        replace(launch, totals=totals(launch)),
    ]
    assert duplicates((launch, *others, launch)) == ((0, 7), (1,), (2,), (3,), (4,), (5,), (6,))


def test_a_measured_launch_stands_alone() -> None:
    time = Timing(1.0, 0.9, 1.1, 0.9, 1.1, 0.5, 10, 1000, (), False, "2026-01-31T12:00:00+00:00", {})
    launch, timed = a_launch(), replace(a_launch(), time=time)
    assert duplicates((launch, timed, launch, timed)) == ((0, 2), (1,), (3,))


def test_nothing_is_no_group() -> None:
    assert duplicates(()) == ()
